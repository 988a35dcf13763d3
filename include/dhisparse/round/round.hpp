/// A round's own arrays: which query belongs to which slot, what it sees, where its rows go.
#pragma once

#include <dhisparse/core/arithmetic.hpp>
#include <dhisparse/core/types.hpp>
#include <dhisparse/copy/tiers.hpp>
#include <dhisparse/metrics/tally.hpp>
#include <dhisparse/residency/slot_tables.hpp>
#include <dhisparse/staging/staging.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace dhisparse {

/// What the engine runs in a round.
struct batch_ref {
    const std::int32_t* slots = nullptr;  // [n_requests] slot, -1 = padding
    const std::int32_t* widths = nullptr; // [n_requests] K_r in [0, K_max]; null: all 1
    std::int32_t n_requests = 0;
    pass of = pass::target;               // whose frontiers the new positions start at
};

/// A round in progress. Query rows are packed request after request, K_r each, padding requests included. On the
/// device n_queries is what K_max permits: the queries behind first_query[n_requests] have slot, position and places -1.
struct round_ref {
    slot_record* records = nullptr;      // [n_requests] each slot's record before the round, its number in `slot`; -1: nothing to do
    std::int32_t* slots = nullptr;       // [n_requests] slot, -1: nothing to do
    std::int32_t* frontiers = nullptr;   // [n_requests] n before the round
    std::int32_t* first_query = nullptr; // [n_requests + 1]
    std::int32_t* query_slots = nullptr; // [n_queries] slot, -1: none
    std::int32_t* query_positions = nullptr; // [n_queries] t = n + j
    location* locations = nullptr;       // [n_groups][max_queries] of the row that holds t, in each group; -1: none
    std::int32_t* index_blocks = nullptr; // [n_index_sources][max_queries] index block that holds t's key; -1: none
    std::int32_t n_requests = 0, n_queries = 0, max_queries = 0;
    bool one_query = false; // every request has one query: query r is request r's
    pass of = pass::target;

    DHISPARSE_HD const location* group_locations(int g) const { return locations + std::int64_t{g} * max_queries; }
    DHISPARSE_HD const std::int32_t* source_blocks(int i) const { return index_blocks + std::int64_t{i} * max_queries; }
};

/// Everything that the step path works on.
struct step_ref {
    tiers_ref tiers;
    slot_tables_ref tables;
    const group_tables* groups = nullptr; // [n_groups]
    tally* counts = nullptr;
    std::int32_t n_index_sources = 0;
    std::int32_t k_max = 1;
    fast_divisor page_positions; // p
    staging_ref staging = {};    // nothing: every union fits into the hot cache
};

/// The first of positions [from, to) that has no place in the slot's mapped pages, or `to`: what a commit may retain.
DHISPARSE_HD inline std::int32_t placed_until(const step_ref& step, std::int32_t slot, std::int32_t from, std::int32_t to) {
    const auto end = to < step.tables.records[slot].positions ? to : step.tables.records[slot].positions;
    for (auto t = from; t < end; ++t)
        if (step.tables.page_map(slot)[step.page_positions.quotient(static_cast<std::uint32_t>(t))] < 0) return t;
    return end > from ? end : from;
}

/// How a round's arrays lie in one run of numbers.
struct round_layout {
    std::int32_t max_requests = 0, max_queries = 0, n_groups = 0, n_index_sources = 0;

    /// Numbers that the arrays take, the records left out.
    std::int64_t size() const { return 3 * std::int64_t{max_requests} + 1 + (2 + n_groups + n_index_sources) * std::int64_t{max_queries}; }
    round_ref at(slot_record* records, std::int32_t* numbers) const {
        round_ref out;
        const auto take = [&](std::int64_t n) { return std::exchange(numbers, numbers + n); };
        out.records = records;
        out.slots = take(max_requests);
        out.frontiers = take(max_requests);
        out.first_query = take(max_requests + 1);
        out.query_slots = take(max_queries);
        out.query_positions = take(max_queries);
        out.locations = take(std::int64_t{n_groups} * max_queries);
        out.index_blocks = numbers;
        out.max_queries = max_queries;
        return out;
    }
};

/// Owns one round's arrays on the host.
class round_arrays {
public:
    round_arrays(std::int32_t max_requests, std::int32_t k_max, std::int32_t n_groups, std::int32_t n_index_sources, std::int32_t n_slots)
        : layout_{max_requests, max_requests * k_max, n_groups, n_index_sources}, records_(size(max_requests)), numbers_(static_cast<std::size_t>(layout_.size())), seen_(size(n_slots), 0) {}

    std::int32_t max_requests() const { return layout_.max_requests; }
    round_ref ref() { return layout_.at(records_.data(), numbers_.data()); }
    /// True the first time that a slot is named since begin().
    bool first_use(std::int32_t slot) { return std::exchange(seen_[size(slot)], rounds_) != rounds_; }
    void begin() { ++rounds_; }

private:
    static std::size_t size(std::int32_t n) { return static_cast<std::size_t>(n); }
    round_layout layout_;
    std::vector<slot_record> records_;
    std::vector<std::int32_t> numbers_;
    std::vector<std::uint64_t> seen_; // [n_slots] the round that used the slot last
    std::uint64_t rounds_ = 0;
};

} // namespace dhisparse
