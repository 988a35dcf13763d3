// What a run with --speculate counts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace decode {

/// Distinct rows that the queries of one request and round select together: |U| of (6).
class union_counts {
public:
    /// selections: all queries of one request, rows in [0, positions of the context), -1: none.
    void add(std::span<const std::int32_t> selections) {
        ++n_;
        std::int64_t distinct = 0;
        for (const auto row : selections) {
            if (row < 0) continue;
            if (static_cast<std::size_t>(row) >= seen_.size())
                seen_.resize(static_cast<std::size_t>(row) + 1, 0);
            distinct += std::exchange(seen_[static_cast<std::size_t>(row)], n_) != n_;
        }
        sum_ += distinct;
        max_ = std::max(max_, distinct);
    }
    double mean() const { return n_ > 0 ? static_cast<double>(sum_) / static_cast<double>(n_) : 0; }
    std::int64_t max() const { return max_; }

private:
    std::vector<std::int64_t> seen_; // [rows] the union that named it last
    std::int64_t n_ = 0, sum_ = 0, max_ = 0;
};

/// Over all requests; a round is one request's.
struct speculation {
    std::int64_t rounds = 0;
    std::int64_t proposed = 0; // proposals that the target verified
    std::int64_t accepted = 0; // and those that it confirmed
    union_counts unions;       // of each round and indexer
    std::int64_t staged = 0, promoted = 0; // rows
    std::int64_t ring_rows = 0, ring_bytes = 0, staging_bytes = 0;
    double mean_accepted() const {
        return rounds > 0 ? static_cast<double>(accepted) / static_cast<double>(rounds) : 0;
    }
};

} // namespace decode
