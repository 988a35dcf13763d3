// What a replay found.
#pragma once

#include "numbers.hpp"

#include <traces/timeline.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace replay {

using traces::sample;
using traces::timeline;

struct outcome {
    std::string mode;
    std::int64_t requests = 0, finished = 0, refused = 0; // refused: larger than what there is at all
    std::int64_t lost_rows = 0;
    std::int64_t max_concurrent = 0;    // sessions that a step had
    double session_s = 0;               // sessions · seconds
    double first_s = 0, last_s = 0;     // first arrival, last finish
    std::int64_t tokens = 0, steps = 0;
    std::int64_t rounds = 0, queries = 0; // of all sessions
    double step_s = 0, missed_rows = 0; // of all steps
    quantiles waits_s, tpot_ms;         // until admission; of finished requests
    std::int64_t reclaims = 0, reclaimed_pages = 0, refilled_pages = 0, backed_up_pages = 0, parks = 0, restarts = 0;
    std::int64_t prefix_positions = 0;  // that admissions took from kept prefixes
    std::int64_t budget_violations = 0;
    timeline over_time;

    double span_s() const { return last_s - first_s; }
    double mean_concurrent() const { return span_s() > 0 ? session_s / span_s() : 0; }
    double mean_width() const { return rounds > 0 ? static_cast<double>(queries) / static_cast<double>(rounds) : 0; }
    double tokens_per_s() const { return span_s() > 0 ? static_cast<double>(tokens) / span_s() : 0; }
};

} // namespace replay
