// What a replay found.
#pragma once

#include "numbers.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace replay {

/// Pages by class and sessions at one moment.
struct sample {
    double at_s = 0;
    double hot = 0, tail = 0, index = 0, optional = 0, leaving = 0, free = 0; // pages; together the pool
    double running = 0, admitted = 0;                                        // sessions
};

/// Samples over time in bounded memory: where there are too many, every other one goes.
class timeline {
public:
    void add(const sample& now) {
        if (!samples_.empty() && now.at_s < samples_.back().at_s + apart_s_) return;
        samples_.push_back(now);
        if (samples_.size() < most) return;
        for (std::size_t i = 0; 2 * i < samples_.size(); ++i) samples_[i] = samples_[2 * i];
        samples_.resize(most / 2);
        apart_s_ = 2 * std::max(apart_s_, (samples_.back().at_s - samples_.front().at_s) / (most / 2.0) / 2);
    }
    const std::vector<sample>& samples() const { return samples_; }

private:
    static constexpr std::size_t most = 1024;
    std::vector<sample> samples_;
    double apart_s_ = 0;
};

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
