/// What the kernel that plans promotions is given, by value.
#pragma once

#include <dhisparse/resolve/resolve_args.hpp>
#include <dhisparse/round/round.hpp>

#include <cstdint>

namespace dhisparse {

struct plan_params {
    step_ref step;
    round_ref round;
    selection_ref selection;                   // of the resolve that it follows
    const std::int32_t* staged_rows = nullptr; // [n_slots][step.staging.rows_per_slot] the row in each staged place
    std::uint32_t* uses = nullptr;             // [n_requests][2][uses_stride] scratch
    std::int64_t uses_stride = 0;              // most hot entries of a group + rows_per_slot
    std::int32_t group = 0;
};

} // namespace dhisparse
