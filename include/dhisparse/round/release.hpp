/// The end of a resolve's locations: staged rows that are worth more than hot ones take their entries, and the
/// arena passes on to the next announcement.
#pragma once

#include <dhisparse/round/slot_cache.hpp>

namespace dhisparse {
namespace detail {

/// Copies a slot's promoted rows to their entries and gives them those. The rows that were there are forgotten;
/// they have host copies.
template <hot_index_policy Index, replacement_policy Replacement>
void promote(const step_ref& step, std::int32_t slot, const staged_slot& staged) {
    const auto g = staged.group;
    const auto& group = step.tiers.groups[g];
    const auto cache = hot_cache_of<Index, Replacement>(step, g, slot);
    const auto* hot_pages = step.tables.hot_pages + std::int64_t{slot} * step.tables.hot_pages_per_slot;
    for (std::int32_t i = 0; i < staged.n_promotions; ++i) {
        const auto& one = step.staging.of(slot)[i];
        const auto page = group.rows_per_page.quotient(static_cast<std::uint32_t>(one.entry));
        const auto to = group.at(gpu_page{hot_pages[page]}, static_cast<std::uint32_t>(one.entry) - page * group.rows_per_page.divisor);
        move_group_row(step.tiers, g, step.staging.groups[g].at(group.rows_per_page, slot, one.staged), to);
        cache.place(one.entry, one.row, *cache.clock);
    }
    step.counts->promoted_rows += static_cast<std::uint64_t>(staged.n_promotions);
}

/// With DHISPARSE_CHECKS: whoever still reads a staged row finds no row's bytes.
inline void poison_staged(const step_ref& step, std::int32_t slot, const staged_slot& staged) {
    for (std::int32_t i = 0; i < staged.n_rows; ++i)
        poison_group_row(step.tiers, staged.group, step.staging.groups[staged.group].at(step.tiers.groups[staged.group].rows_per_page, slot, i));
}

} // namespace detail

/// Ends the locations of the round's last resolve: the staged ones, and those of the hot entries that promoted rows
/// take. Readers precede it in the stream. The next resolve and commit release by themselves; a second release does
/// nothing, nor does one of a hierarchy whose hot caches hold every union. No allocation.
template <hot_index_policy Index, replacement_policy Replacement>
void release(const step_ref& step, const round_ref& round) {
    if (!step.staging.any()) return;
    for (std::int32_t r = 0; r < round.n_requests; ++r) {
        const auto slot = round.slots[r];
        if (slot < 0) continue;
        auto& staged = step.staging.slots[slot];
        if (staged.n_promotions > 0) detail::promote<Index, Replacement>(step, slot, staged);
        if constexpr (DHISPARSE_CHECKS) detail::poison_staged(step, slot, staged);
        staged = {};
    }
}

} // namespace dhisparse
