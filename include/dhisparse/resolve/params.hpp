/// What the CUDA resolver's kernel is given, by value. The fields of the path without misses come first:
/// a kernel reads its parameters line by line, and a cold line costs as much as a load.
#pragma once

#include <dhisparse/resolve/resolve_args.hpp>
#include <dhisparse/resolve/tuning.hpp>
#include <dhisparse/round/round.hpp>

namespace dhisparse {

/// What each block of a request leaves for the others, in global memory.
struct block_news {
    std::int32_t missing = 0;  // entries
    std::int32_t repeated = 0; // 1: some of them met another's claim
};

struct resolve_params {
    const slot_record* records = nullptr; // [n_requests] the round's
    selection_ref selection;
    locations_ref out;
    std::byte* region = nullptr;
    const std::int32_t* hot_pages = nullptr; // [n_slots][hot_pages_per_slot]
    stamp* used = nullptr;                  // [n_slots][entries_per_slot] from the group's first entry on
    stamp* clocks = nullptr;                // [n_slots][n_groups] from the group on, device_clock_step a resolve
    tally* counts = nullptr;                // [tally_shards]
    std::int64_t index_page_offset = 0, index_fixed_offset = 0; // of the group's index in a slot's run
    fast_divisor rows_per_page, positions_per_row;
    std::int32_t unfinished = 0;            // positions of a row that may be missing where it may be read all the same: m - 1 or 0
    std::int32_t hot_pages_per_slot = 0, entries_per_slot = 0, n_groups = 0;
    std::int32_t entries = 0, codes = 0;    // B, B + K_max · k
    std::int32_t locations_per_page = 0;
    std::int32_t by_four = 0;               // 1: rows and locations can be read and written four at a time
    resolve_tuning tuning;
    block_news* news = nullptr;             // [n_requests][max_cluster]
    const std::int32_t* first_query = nullptr;     // [n_requests + 1]
    const std::int32_t* query_positions = nullptr; // [n_queries]
    fast_divisor k;
    // ---- the path with misses
    std::int32_t* leaders = nullptr;        // [n_requests][max_cluster] distinct rows that first appear in each block
    stamp* entered = nullptr;               // as used
    std::int32_t* rows = nullptr;           // as used
    group_placement group;
    tiers_ref tiers;
    std::int64_t row_bytes = 0;             // of one lane
    std::int32_t k_max = 1;
    // ---- where the hot cache may be too small for a round's union
    staging_placement staging;              // of the group; rows_per_slot 0: it stages nothing
    staged_slot* staged = nullptr;          // [n_slots]
    std::int32_t* staged_rows = nullptr;    // [n_slots][staged_stride] the row in each staged place
    std::int32_t staged_stride = 0, group_number = 0;
};

inline constexpr std::int32_t tally_shards = 32; // so that blocks don't queue for one counter

/// On the device a clock counts the blocks of a resolve as they come: each adds max_cluster / cluster, and
/// what it was before tells the resolve's stamp to all of them, whichever is first.
inline constexpr stamp device_clock_step = max_cluster;

} // namespace dhisparse
