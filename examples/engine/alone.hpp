// What a request's output has to be: the model's own, with all of its history in plain memory and no hierarchy at all.
#pragma once

#include "request.hpp"

#include <tiny_dsa/flat_store.hpp>
#include <tiny_dsa/model.hpp>

#include <vector>

namespace engine {

class alone {
public:
    explicit alone(tiny_dsa::model& target) : target_(target), logits_(tiny_dsa::n_bytes) {}

    /// Greedy, token by token.
    bytes output(const request& asked) {
        constexpr std::size_t chunk = 256;
        const std::span prompt(asked.prompt);
        for (std::size_t at = 0; at < prompt.size(); at += chunk)
            process(static_cast<int>(at), prompt.subspan(at, std::min(chunk, prompt.size() - at)));
        bytes out{tiny_dsa::argmax(logits_)};
        while (static_cast<int>(out.size()) < asked.tokens) {
            process(static_cast<int>(prompt.size() + out.size() - 1), std::span(out).last(1));
            out.push_back(tiny_dsa::argmax(logits_));
        }
        return out;
    }

private:
    void process(int first, std::span<const std::uint8_t> tokens) {
        const auto these = tiny_dsa::tokens_at(0, first, tokens);
        memory_.begin(these);
        target_.forward(these, memory_, {.logits = logits_});
    }

    tiny_dsa::model& target_;
    tiny_dsa::flat_store memory_{tiny_dsa::max_positions};
    std::vector<float> logits_;
};

} // namespace engine
