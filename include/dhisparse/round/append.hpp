/// Step 1 of a round: locations for the new positions of each request. The model writes its rows there.
#pragma once

#include <dhisparse/round/round.hpp>

#include <algorithm>

namespace dhisparse {
namespace detail {

/// The slot to work on, -1 where there is none; counts misuse.
inline std::int32_t checked_slot(const step_ref& step, round_arrays& arrays, std::int32_t slot) {
    if (slot == -1) return -1;
    if (!step.tables.live(slot)) {
        step.counts->count(violation::slot_not_live);
        return -1;
    }
    if (arrays.first_use(slot)) return slot;
    step.counts->count(violation::slot_repeated);
    return -1;
}

inline std::int32_t checked_width(const step_ref& step, std::int32_t width) {
    const auto taken = std::clamp(width, 0, step.k_max);
    if (taken != width) step.counts->count(violation::width_out_of_range);
    return taken;
}

/// Where position t of a live slot goes, in every group and index table.
inline void place_position(const step_ref& step, const round_ref& round, std::int32_t query, std::int32_t slot, std::int32_t t) {
    const auto& record = step.tables.records[slot];
    const auto page = static_cast<std::int32_t>(step.page_positions.quotient(static_cast<std::uint32_t>(t)));
    const auto gpu = t < record.positions ? step.tables.page_map(slot)[page] : -1;
    if (gpu < 0) step.counts->count(violation::position_not_mapped);
    const auto in_page = static_cast<std::uint32_t>(t) - static_cast<std::uint32_t>(page) * step.page_positions.divisor;
    for (int g = 0; g < step.tiers.n_groups; ++g) {
        const auto& group = step.tiers.groups[g];
        const auto row = in_page / static_cast<std::uint32_t>(group.positions_per_row);
        round.locations[std::int64_t{g} * round.max_queries + query] = gpu < 0 ? no_location : group.at(gpu_page{gpu}, row);
    }
    for (int i = 0; i < step.n_index_sources; ++i)
        round.index_blocks[std::int64_t{i} * round.max_queries + query] = gpu < 0 ? -1 : step.tables.index_table(slot, i)[page];
}

inline void place_nothing(const step_ref& step, const round_ref& round, std::int32_t query) {
    for (int g = 0; g < step.tiers.n_groups; ++g) round.locations[std::int64_t{g} * round.max_queries + query] = no_location;
    for (int i = 0; i < step.n_index_sources; ++i) round.index_blocks[std::int64_t{i} * round.max_queries + query] = -1;
}

} // namespace detail

/// Positions n … n+K_r-1 of each request. Changes no slot's state. Bad slots and widths are counted
/// and treated as -1 or clamped; a position that is not mapped gets location -1. No allocation.
inline round_ref append(const step_ref& step, round_arrays& arrays, const batch_ref& batch) {
    require_in(batch.n_requests, 0, arrays.max_requests(), "requests of a batch");
    auto round = arrays.ref();
    arrays.begin();
    round.n_requests = batch.n_requests;
    round.one_query = batch.widths == nullptr;
    round.of = batch.of;
    for (std::int32_t r = 0; r < batch.n_requests; ++r) {
        const auto slot = detail::checked_slot(step, arrays, batch.slots[r]);
        const auto width = detail::checked_width(step, batch.widths ? batch.widths[r] : 1);
        const auto n = slot < 0 ? 0 : step.tables.frontier(slot, batch.of);
        if (slot >= 0 && step.staging.any()) step.staging.slots[slot] = {};
        round.slots[r] = slot;
        round.records[r] = slot < 0 ? slot_record{} : step.tables.records[slot];
        round.records[r].slot = slot;
        round.frontiers[r] = n;
        round.first_query[r] = round.n_queries;
        for (std::int32_t j = 0; j < width; ++j, ++round.n_queries) {
            round.query_slots[round.n_queries] = slot;
            round.query_positions[round.n_queries] = slot < 0 ? -1 : n + j;
            slot < 0 ? detail::place_nothing(step, round, round.n_queries)
                     : detail::place_position(step, round, round.n_queries, slot, n + j);
        }
    }
    round.first_query[batch.n_requests] = round.n_queries;
    return round;
}

} // namespace dhisparse
