/// How many tail pages a slot needs so that its next positions are always mapped.
#pragma once

#include <dhisparse/core/arithmetic.hpp>

#include <cstdint>

namespace dhisparse {

/// Positions that must be mapped beyond the frontier the host knows: the steps in flight and the next.
constexpr std::int64_t positions_ahead(std::int64_t k_max, std::int64_t steps_ahead) {
    return (steps_ahead + 1) * k_max;
}

/// Pages that so many positions can touch, and one that is on its way out.
constexpr std::int64_t required_tail_pages(std::int64_t page_positions, std::int64_t k_max, std::int64_t steps_ahead) {
    return ceil_div(positions_ahead(k_max, steps_ahead) + page_positions - 1, page_positions) + 1;
}

} // namespace dhisparse
