/// The expected results: golden.json and golden.bin.
#pragma once

#include "session.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <cstdio>
#include <cstring>
#include <map>

namespace tiny_dsa_test {

inline const nlohmann::json& golden() {
    static const auto all = nlohmann::json::parse(read_bytes(data_dir() / "golden.json"));
    return all;
}

inline bytes from_hex(const std::string& hex) {
    bytes out;
    for (std::size_t i = 0; i < hex.size(); i += 2) {
        out.push_back(static_cast<std::uint8_t>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    }
    return out;
}

/// FNV-1a, 64 bits, over the positions as little-endian uint16, as hex.
inline std::string checksum(std::span<const std::int32_t> positions) {
    std::uint64_t h = 0xcbf29ce484222325;
    for (const std::int32_t p : positions) {
        for (const int byte : {p & 0xff, p >> 8}) {
            h = (h ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3;
        }
    }
    std::array<char, 17> text{};
    std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(h));
    return text.data();
}

/// A selection and the scores it was made from.
struct scored_list {
    std::vector<std::int32_t> positions; // [256] in rank order
    std::vector<float> scores;           // [256]
    std::map<std::int32_t, float> by_position() const {
        std::map<std::int32_t, float> out;
        for (std::size_t i = 0; i < positions.size(); ++i) {
            out[positions[i]] = scores[i];
        }
        return out;
    }
};

/// The nth list of golden.bin.
inline scored_list golden_list(std::size_t n) {
    static const bytes all = read_bytes(data_dir() / "golden.bin");
    constexpr std::size_t count = 256, list_bytes = 2 * count + 4 * (count + 1);
    std::array<std::uint16_t, count> positions;
    scored_list list{{}, std::vector<float>(count)};
    std::memcpy(positions.data(), all.data() + n * list_bytes, 2 * count);
    std::memcpy(list.scores.data(), all.data() + n * list_bytes + 2 * count, 4 * count);
    list.positions.assign(positions.begin(), positions.end());
    return list;
}

/// How two lists of the same query differ.
struct list_difference {
    float shared = 0; // largest difference of the scores of a row that both have
    float odd = 0;    // how far a row that only one has lies above that list's last score
    int n_odd = 0;    // rows that only the first list has
};

inline list_difference compare(const scored_list& mine, const scored_list& theirs) {
    list_difference d;
    const auto a = mine.by_position(), b = theirs.by_position();
    for (const auto& [position, score] : a) {
        if (const auto other = b.find(position); other != b.end()) {
            d.shared = std::max(d.shared, std::abs(score - other->second));
        } else {
            d.odd = std::max(d.odd, score - mine.scores.back());
            ++d.n_odd;
        }
    }
    for (const auto& [position, score] : b) {
        if (!a.contains(position)) {
            d.odd = std::max(d.odd, score - theirs.scores.back());
        }
    }
    return d;
}

} // namespace tiny_dsa_test
