/// What a request asks for, and what the ledger answers.
#pragma once

#include <dhisparse/core/types.hpp>

#include <cstdint>

namespace dhisparse {

/// positions: history that the request brings (its prompt). growth: positions that it may still add;
/// together they are the reserved length. shared: of its positions, the first so many are a kept prefix's.
struct demand {
    std::int64_t positions = 0;
    std::int64_t growth = 0;
    prefix_id prefix = prefix_id::none;
    std::int64_t shared = 0;
};

enum class verdict : std::uint8_t {
    now,              // try_admit would succeed
    after_reclaiming, // once reclaim(pages) has given its pages back
    later,            // pages are on their way, or only a finish or a park can help
    never,            // larger than what there is at all
};

struct fit {
    verdict answer = verdict::never;
    std::int64_t pages = 0; // Δ, for after_reclaiming: pages beyond those that are free or on their way
    const char* limit = ""; // what stands in the way, where it isn't `now`
    friend bool operator==(const fit&, const fit&) = default;
};

/// Pages by class: required + optional + leaving + free = capacity. `promised` of the required ones belong
/// to slots that have not taken them yet; leaving: of ended requests or unmapped history, until the fence;
/// reclaiming: of the optional (and, of requests being parked, required) ones, those that leave once copied, or depart.
struct page_counts {
    std::int32_t capacity = 0, required = 0, optional = 0, leaving = 0, free = 0, promised = 0, reclaiming = 0;
};

/// A slot's frontier as the host knows it, from a step that has completed.
struct frontier_report {
    slot_id slot;
    std::int32_t frontier = 0;
};

} // namespace dhisparse
