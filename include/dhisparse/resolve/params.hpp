/// What the CUDA resolver's kernel is given, by value. The fields of the path without misses come first:
/// a kernel reads its parameters line by line, and a cold line costs as much as a load.
#pragma once

#include <dhisparse/resolve/resolve_args.hpp>
#include <dhisparse/resolve/tuning.hpp>
#include <dhisparse/round/round.hpp>

namespace dhisparse {

struct resolve_params {
    const slot_record* records = nullptr;          // [n_requests] the round's
    const std::int32_t* first_query = nullptr;     // [n_requests + 1]
    const std::int32_t* query_positions = nullptr; // [n_queries]
    selection_ref selection;
    locations_ref out;
    std::byte* region = nullptr;
    const std::int32_t* hot_pages = nullptr; // [n_slots][hot_pages_per_slot]
    stamp* used = nullptr;                  // [n_slots][entries_per_slot] from the group's first entry on
    stamp* clocks = nullptr;                // [n_slots][n_groups] from the group on
    tally* counts = nullptr;                // [tally_shards]
    std::int64_t index_page_offset = 0, index_fixed_offset = 0; // of the group's index in a slot's run
    fast_divisor rows_per_page;
    std::int32_t hot_pages_per_slot = 0, entries_per_slot = 0, n_groups = 0;
    std::int32_t entries = 0, codes = 0;    // B, B + K_max · k
    std::int32_t locations_per_page = 0;
    std::int32_t positions_per_row = 1;     // m
    std::int32_t lead_positions = 1;        // row s is visible if s · m + lead <= positions: m, or 1 where unfinished rows are readable
    resolve_tuning tuning;
    // ---- the path with misses
    stamp* entered = nullptr;               // as used
    std::int32_t* rows = nullptr;           // as used
    fast_divisor k;
    group_placement group;
    tiers_ref tiers;
    std::int64_t row_bytes = 0;             // of one lane
    std::int32_t k_max = 1;
};

inline constexpr std::int32_t tally_shards = 32; // so that blocks don't queue for one counter

} // namespace dhisparse
