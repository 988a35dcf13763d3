// The selection's order: score descending, then lower position; -0 equals +0.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tiny_dsa {

/// Writes the positions of the best selection.size() scores in rank order, -1 behind the last.
/// scores: [n], scores[s] of position s.  scratch: any content, its memory is reused.
void select_top(std::span<const float> scores, std::span<std::int32_t> selection,
                std::vector<std::uint64_t>& scratch);

} // namespace tiny_dsa
