// Greedy acceptance: which proposals of a round the target confirms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tiny_dsa {

/// The largest m such that proposed[i] == target[i] for all i < m.
/// proposed: [K - 1], for the positions after the anchor; target: [K], the target's argmax at the
/// anchor and at each proposal.  The round emits target[0] .. target[m]; the last of them is the
/// next anchor, m + 1 further on.
inline int n_accepted(std::span<const std::uint8_t> proposed,
                      std::span<const std::uint8_t> target) {
    std::size_t m = 0;
    while (m < proposed.size() && m < target.size() && proposed[m] == target[m]) {
        ++m;
    }
    return static_cast<int>(m);
}

} // namespace tiny_dsa
