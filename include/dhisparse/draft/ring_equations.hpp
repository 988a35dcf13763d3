/// Equations (9) and (10): how many rows a drafter's ring has, and which of them a position takes.
#pragma once

#include <dhisparse/core/arithmetic.hpp>

#include <cstdint>

namespace dhisparse {

/// (9) Rows of a slot's draft ring, R_d: whole pages that hold the window and a round wherever it begins.
DHISPARSE_HD constexpr std::int64_t ring_rows(std::int64_t page_positions, std::int64_t window, std::int64_t k_max) {
    return page_positions * ceil_div(window + k_max + page_positions - 1, page_positions);
}

/// (10) Ring row of a slot's position t.
DHISPARSE_HD constexpr std::int64_t ring_row(std::int64_t slot, std::int64_t t, std::int64_t rows) { return slot * rows + t % rows; }

static_assert(ring_rows(64, 2048, 4) == 2176 && ring_rows(64, 2048, 6) == 2176 && ring_rows(64, 2048, 8) == 2176);

} // namespace dhisparse
