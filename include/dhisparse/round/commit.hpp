/// The last step of a round: the accepted prefix becomes history, and its completed rows go to host.
#pragma once

#include <dhisparse/round/round.hpp>

#include <algorithm>

namespace dhisparse {
namespace detail {

/// A of a request with K >= 1 queries, clamped to [0, K-1]; misuse is counted.
inline std::int32_t checked_accepted(const step_ref& step, std::int32_t accepted, std::int32_t width) {
    const auto taken = std::clamp(accepted, 0, width - 1);
    if (taken != accepted) step.counts->count(violation::accepted_out_of_range);
    return taken;
}

/// Copies to host the pass's rows that became complete between two frontiers: equation (8). A row whose page
/// has no host page stays on the GPU alone; the ledger keeps that page until it has one.
inline void back_up_completed(const step_ref& step, std::int32_t slot, pass of, std::int32_t from, std::int32_t to) {
    const auto* map = step.tables.page_map(slot);
    const auto* host = step.tables.host_map(slot);
    for (int g = 0; g < step.tiers.n_groups; ++g) {
        const auto& group = step.tiers.groups[g];
        if (group.of != of) continue;
        for (auto row = from / group.positions_per_row; row < to / group.positions_per_row; ++row) {
            const auto page = group.rows_per_page.quotient(static_cast<std::uint32_t>(row));
            if (map[page] < 0 || host[page] < 0) continue;
            const auto in_page = static_cast<std::uint32_t>(row) - page * group.rows_per_page.divisor;
            copy_group_row(step.tiers, g, group.at(gpu_page{map[page]}, in_page), host_page{host[page]}, in_page, direction::to_host);
            ++step.counts->backed_up_rows;
        }
    }
}

/// With DHISPARSE_CHECKS: overwrites the rows that hold no position below `from` and one below `to`: rejected ones. A
/// reader of such a row is wrong, since no query sees it before it is written again.
inline void poison_rejected(const step_ref& step, std::int32_t slot, pass of, std::int32_t from, std::int32_t to) {
    const auto* map = step.tables.page_map(slot);
    for (int g = 0; g < step.tiers.n_groups; ++g) {
        const auto& group = step.tiers.groups[g];
        if (group.of != of) continue;
        const auto end = ceil_div(std::min(to, step.tables.records[slot].positions), group.positions_per_row);
        for (auto row = ceil_div(from, group.positions_per_row); row < end; ++row) {
            const auto page = group.rows_per_page.quotient(static_cast<std::uint32_t>(row));
            if (map[page] >= 0) poison_group_row(step.tiers, g, group.at(gpu_page{map[page]}, group.rows_per_page.remainder(static_cast<std::uint32_t>(row), page)));
        }
    }
}

} // namespace detail

/// New frontier of each request in a pass, by equation (7). accepted: [n_requests] A, null: K_r - 1 of each (all
/// are accepted); a request with K_r = 0 keeps its frontier. It stops at the first position that append could not place.
/// The pass's last `unsettled` positions may still be rewritten: their rows go to host with the first commit that settles
/// them, as they are then. A round of one pass may be committed in the other too: its groups' rows at the same
/// positions become history. The round's last resolve has been released. No allocation.
inline void commit(const step_ref& step, const round_ref& round, const std::int32_t* accepted, std::int32_t unsettled = 0, pass of = pass::target) {
    for (std::int32_t r = 0; r < round.n_requests; ++r) {
        const auto slot = round.slots[r];
        if (slot < 0) continue;
        const auto width = round.first_query[r + 1] - round.first_query[r];
        auto& frontier = step.tables.frontier(slot, of);
        auto& open = step.tables.passes[slot].unsettled[static_cast<int>(of)];
        const auto n = width == 0 ? frontier : round.frontiers[r];
        const auto a = width == 0 ? -1 : accepted ? detail::checked_accepted(step, accepted[r], width) : width - 1;
        const auto next = width == 0 ? n : placed_until(step, slot, n, n + a + 1);
        const auto settled = std::min(n, frontier) - open;
        open = std::clamp(unsettled, 0, next - settled);
        detail::back_up_completed(step, slot, of, settled, next - open);
        if constexpr (DHISPARSE_CHECKS) detail::poison_rejected(step, slot, of, next, n + width);
        frontier = next;
    }
}

} // namespace dhisparse
