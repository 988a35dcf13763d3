/// What a request asks for, and what the ledger answers.
#pragma once

#include <dhisparse/core/types.hpp>

#include <cstdint>

namespace dhisparse {

/// positions: history that the request brings (its prompt). growth: positions that it may still add;
/// together they are the reserved length.
struct demand {
    std::int64_t positions = 0;
    std::int64_t growth = 0;
};

enum class verdict : std::uint8_t {
    now,              // try_admit would succeed
    after_reclaiming, // once `pages` optional pages are given back
    later,            // only a finish can help
    never,            // larger than what there is at all
};

struct fit {
    verdict answer = verdict::never;
    std::int64_t pages = 0; // Δ, for after_reclaiming
    const char* limit = ""; // what stands in the way, for later and never
    friend bool operator==(const fit&, const fit&) = default;
};

/// A slot's frontier as the host knows it, from a step that has completed.
struct frontier_report {
    slot_id slot;
    std::int32_t frontier = 0;
};

} // namespace dhisparse
