/// The resolver on the host: for every selected row the place where it lies, misses brought back first.
/// The oracle of the CUDA resolver.
#pragma once

#include <dhisparse/policy/promotion/keep_staged_none.hpp>
#include <dhisparse/resolve/request_resolver.hpp>
#include <dhisparse/round/release.hpp>

namespace dhisparse {

/// Resolves one announcement of group g for all queries of the round: DESIGN's rules (0) to (c). Releases the one
/// before: its locations end, on this group (a Reindex) or another. Every location given holds until the next release.
/// Deterministic; allocates nothing; touches the replacement state only where rows are missing.
template <hot_index_policy Index, replacement_policy Replacement, promotion_policy Promotion = keep_staged_none>
void resolve(const step_ref& step, int g, const round_ref& round, const selection_ref& selection,
             const locations_ref& out, resolve_scratch& scratch) {
    const auto k_padded = padded_width(selection, out);
    release<Index, Replacement>(step, round);
    for (std::int32_t r = 0; r < round.n_requests; ++r) {
        const auto first = round.first_query[r], last = round.first_query[r + 1];
        if (first == last) continue;
        if (round.slots[r] < 0) detail::fill_nothing(out, first, last, k_padded);
        else detail::request_resolver<Index, Replacement, Promotion>(step, g, round.slots[r], scratch).run(round, first, last, selection, out, k_padded);
    }
}

} // namespace dhisparse
