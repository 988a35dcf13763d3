// One position to process, and helpers for runs of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace tiny_dsa {

struct token {
    std::int32_t request;
    std::int32_t position;
    std::uint8_t byte;
};

/// Tokens of one request at positions [first, first + bytes.size()).
inline std::vector<token> tokens_at(std::int32_t request, std::int32_t first,
                                    std::span<const std::uint8_t> bytes) {
    std::vector<token> tokens;
    tokens.reserve(bytes.size());
    for (const std::uint8_t byte : bytes) {
        tokens.push_back({request, first++, byte});
    }
    return tokens;
}

/// The byte with the largest logit, the lowest one among equals.  logits: [256].
inline std::uint8_t argmax(std::span<const float> logits) {
    return static_cast<std::uint8_t>(std::max_element(logits.begin(), logits.end()) -
                                     logits.begin());
}

} // namespace tiny_dsa
