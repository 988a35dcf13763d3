/// The width policy: how many queries K each request has in the next round, its anchor among them.
#pragma once

#include <dhisparse/core/error.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace dhisparse {

/// What a round takes, as the engine has measured it on its machine; all >= 0.
struct round_costs {
    double round_us = 0;    // of any round, however small: its weights are read
    double query_us = 0;    // of each query, where all of them together take longer than round_us
    double session_us = 0;  // of each session beside that
    double more_us = 0;     // of each of a session's queries beyond the first beside that
    double draft_us = 0;    // of a draft pass; rounds of K = 1 have none
    double row_us = 0;      // of a missed group row: its bytes / the link's bandwidth
    double union_share = 0; // rows of a round's union beyond those of one query, for each query beyond the first
    double exposed = 0;     // share of the misses' time that no request's compute hides, 0 to 1

    constexpr double compute_us(double sessions, int k) const {
        return std::max(round_us, query_us * sessions * k) + sessions * (session_us + more_us * (k - 1)) + (k > 1 ? draft_us : 0);
    }
    /// missed_rows: group rows that one session misses in a round of one query.
    constexpr double misses_us(double sessions, int k, double missed_rows) const { return sessions * missed_rows * union_of(k) * row_us; }
    constexpr double union_of(int k) const { return 1 + union_share * (k - 1); }
    /// max(compute, misses / bandwidth) where rows come while other requests compute; their sum where none does.
    constexpr double total_us(double sessions, int k, double missed_rows) const {
        const auto misses = misses_us(sessions, k, missed_rows);
        return std::max(compute_us(sessions, k) + exposed * misses, misses);
    }
};

struct width_config {
    int k_max = 1; // the widest round, [1, 64]; what was made for it (ring, staging) limits it
    round_costs costs = {};
    /// [k_max] sessions that the memory holds at each width, in (13)'s sense; empty: a width costs no session.
    std::vector<double> fits = {};
};

/// The round to come.
struct width_load {
    std::int64_t sessions = 0; // that take part
    std::int64_t waiting = 0;  // requests that would take part if there were room
    std::int64_t places = 0;   // sessions, and those that fit pages which are free or on their way to the next; 0: as many as sessions
};

/// A round that is over.
struct width_outcome {
    int k = 1;
    std::span<const std::int32_t> accepted = {}; // [sessions] of each one's k - 1 proposals; who had fewer is left out
    double missed_rows = 0;                      // group rows, of all sessions and announcements
    double link_share = 0;                       // of the round's time in which page copies had the link too
};

/// next: once before each round, K in [1, k_max]. note: once after it. The same calls give the same widths, so that ranks
/// which note the same rounds agree. Whatever it answers, verification alone decides which tokens there are.
template <class Width>
concept width_policy = std::copyable<Width> && std::constructible_from<Width, const width_config&> && requires(Width width, width_load load, const width_outcome& round) {
    { Width::name } -> std::convertible_to<const char*>;
    { width.next(load) } -> std::same_as<int>;
    { width.note(round) };
};

/// Throws invalid_argument where a width, a cost or a number of sessions is out of range. Returns it.
inline width_config checked(width_config config) {
    require_in(config.k_max, 1, 64, "width: k_max");
    const auto& c = config.costs;
    for (const auto& [name, value] : {std::pair{"round_us", c.round_us}, {"query_us", c.query_us}, {"session_us", c.session_us}, {"more_us", c.more_us},
                                      {"draft_us", c.draft_us}, {"row_us", c.row_us}, {"union_share", c.union_share}})
        require(value >= 0 && value < 1e15, "width: ", name, " is ", value, ", permitted: 0 to 1e15");
    require(c.exposed >= 0 && c.exposed <= 1, "width: exposed is ", c.exposed, ", permitted: 0 to 1");
    require(config.fits.empty() || config.fits.size() == static_cast<std::size_t>(config.k_max), "width: fits has ", config.fits.size(),
            " numbers, permitted: one for each width up to k_max ", config.k_max, ", or none");
    for (const auto sessions : config.fits) require(sessions > 0 && sessions < 1e15, "width: fits has ", sessions, " sessions, permitted: above 0, up to 1e15");
    return config;
}

} // namespace dhisparse
