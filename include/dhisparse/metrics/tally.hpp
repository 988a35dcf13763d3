/// Counters that the step path writes and the host reads without waiting: what was found where, and
/// which preconditions were broken.
#pragma once

#include <cstdint>

namespace dhisparse {

/// A precondition of the step path that a caller broke. The call's result is defined all the same.
enum class violation : std::uint8_t {
    row_out_of_range,   // selected row negative (other than -1) or not visible to its query: location -1
    row_unreachable,    // selected entry whose row is neither on the GPU nor on the host: location -1
    selection_too_wide, // distinct row beyond what the hot cache and staging can hold at once: location -1
    slot_not_live,      // a slot other than -1 without a request: treated as -1
    slot_repeated,      // a slot twice in one batch: the second is treated as -1
    width_out_of_range, // K_r outside [0, K_max]: taken as the nearest permitted width
    position_not_mapped, // an appended position beyond the reserved length or the mapped tail: location -1
    accepted_out_of_range, // A outside [0, K_r - 1]: taken as the nearest permitted
    count
};

inline constexpr int n_violations = static_cast<int>(violation::count);

/// A violation's name, as it is in the enumeration.
constexpr const char* name_of(violation what) {
    switch (what) {
    case violation::row_out_of_range: return "row_out_of_range";
    case violation::row_unreachable: return "row_unreachable";
    case violation::selection_too_wide: return "selection_too_wide";
    case violation::slot_not_live: return "slot_not_live";
    case violation::slot_repeated: return "slot_repeated";
    case violation::width_out_of_range: return "width_out_of_range";
    case violation::position_not_mapped: return "position_not_mapped";
    case violation::accepted_out_of_range: return "accepted_out_of_range";
    default: return "unnamed";
    }
}

/// Selection entries are counted per announcement, -1 left out: selected = tail + history + hot + host.
struct tally {
    std::uint64_t selected = 0;  // entries with a location
    std::uint64_t tail = 0;      // found in tail pages
    std::uint64_t history = 0;   // found in mapped history pages
    std::uint64_t hot = 0;       // found in the hot cache
    std::uint64_t host = 0;      // brought to the hot cache, from the host tier or from a departing page
    std::uint64_t host_rows = 0; // distinct group rows copied for them
    std::uint64_t host_bytes = 0; // of those, all lanes, host padding left out
    std::uint64_t staged_rows = 0;    // of host_rows those that no hot entry could take
    std::uint64_t promoted_rows = 0;  // of those that took one when they were released
    std::uint64_t backed_up_rows = 0; // group rows copied to the host tier by commits
    std::uint64_t violations[n_violations] = {};

    void count(violation what, std::uint64_t n = 1) { violations[static_cast<int>(what)] += n; }
    std::uint64_t count_of(violation what) const { return violations[static_cast<int>(what)]; }
};

} // namespace dhisparse
