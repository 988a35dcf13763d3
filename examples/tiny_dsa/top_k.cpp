#include "top_k.hpp"

#include <algorithm>
#include <bit>

namespace tiny_dsa {

namespace {

/// Smaller for what ranks higher: the score turned into an integer of the opposite order, then the
/// position.
std::uint64_t rank_key(float score, std::uint32_t position) {
    const auto bits = std::bit_cast<std::uint32_t>(score + 0.0f); // -0 becomes +0
    const std::uint32_t ascending = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    return std::uint64_t{~ascending} << 32 | position;
}

} // namespace

void select_top(std::span<const float> scores, std::span<std::int32_t> selection,
                std::vector<std::uint64_t>& scratch) {
    scratch.resize(scores.size());
    for (std::uint32_t s = 0; s < scores.size(); ++s) {
        scratch[s] = rank_key(scores[s], s);
    }
    const std::size_t n = std::min(scores.size(), selection.size());
    const auto end = scratch.begin() + static_cast<std::ptrdiff_t>(n);
    if (n < scores.size()) {
        std::nth_element(scratch.begin(), end, scratch.end());
    }
    std::sort(scratch.begin(), end);
    std::transform(scratch.begin(), end, selection.begin(),
                   [](std::uint64_t key) { return static_cast<std::int32_t>(key & 0xffffffffu); });
    std::fill(selection.begin() + static_cast<std::ptrdiff_t>(n), selection.end(), -1);
}

} // namespace tiny_dsa
