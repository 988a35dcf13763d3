// Rounds of four queries recorded from a real model, through the real resolver and hot caches smaller than
// their unions: which promotion policy leaves the fewest misses to the next rounds. The default is chosen by it.
#include "hand_made.hpp"
#include "real_shapes.hpp"
#include "selection_trace.hpp"

#include <dhisparse/hierarchy.hpp>
#include <dhisparse/policy/promotion/anchor_first.hpp>
#include <dhisparse/policy/promotion/keep_staged_none.hpp>

#include "catch.hpp"

#include <algorithm>

using namespace dhisparse;
using dhisparse_test::hand_made;
using dhisparse_test::selection_trace;

namespace {

/// A line of the table in policy/promotion/most_selected.hpp: rows missed a round, of all producers together.
struct missed_line {
    std::int64_t entries;
    double missed[3]; // keep_staged_none, most_selected, anchor_first
};
constexpr missed_line missed_lines[]{{256, {604.5, 595.0, 648.1}}, {384, {357.1, 355.8, 371.7}}, {512, {250.4, 250.3, 252.2}}, {768, {155.4, 155.4, 155.4}}};

constexpr std::int32_t tail = 12; // first GPU page of the tail

/// Distinct rows that all rounds but each request's first brought back, of all producers.
template <class Promotion>
std::int64_t rows_missed(const selection_trace& trace, std::int64_t entries) {
    const source_shape row{.row_bytes = 16};
    hand_made<dense, lru, page_major, Promotion> s(
        dhisparse_test::shape_of(64, trace.k(), {4, {row, 1}}),
        {.n_pages = 15, .hot_pages = entries / 64, .host_pages = 128, .slots = 1,
         .positions = 8192, .k_max = 4, .staging = true});
    std::int64_t missed = 0;
    for (std::size_t request = 0; request < trace.n_requests(); ++request) {
        s.open(0, 8192, 0);
        for (std::int32_t page = 0; page < 128; ++page) s.map_host(0, page, page);
        s.give_hot_pages(0, 0);
        for (std::size_t i = 0; i < trace.n_rounds(request); ++i) {
            const auto round = trace.round(request, i);
            const auto first = round.anchor / 64;
            s.tables().records[0].frontier = round.anchor;
            for (std::int32_t page = std::max(0, first - 2); page < first + 2; ++page)
                s.map(0, page, page < first ? -1 : tail + page % 3);
            const auto before = s.counts.host_rows;
            const auto appended = s.append({0}, {4});
            for (int g = 0; g < 4; ++g) (void)s.resolve(appended, round.rows[static_cast<std::size_t>(g)], g);
            s.commit(appended);
            if (i > 0) missed += static_cast<std::int64_t>(s.counts.host_rows - before);
        }
    }
    REQUIRE(s.count_of(violation::selection_too_wide) + s.count_of(violation::row_unreachable) + s.count_of(violation::row_out_of_range) == 0);
    return missed;
}

} // namespace

TEST_CASE("the default promotion policy misses fewest rows of the rounds of four", "[trace]") {
    const auto trace = selection_trace::load();
    const auto rounds = static_cast<double>(3 * (trace.n_rounds(0) - 1));
    for (const auto& expected : missed_lines) {
        CAPTURE(expected.entries);
        const std::int64_t missed[]{rows_missed<keep_staged_none>(trace, expected.entries), rows_missed<most_selected>(trace, expected.entries),
                                    rows_missed<anchor_first>(trace, expected.entries)};
        const auto by_default = rows_missed<default_policies::promotion>(trace, expected.entries);
        for (std::size_t policy = 0; policy < 3; ++policy) {
            CAPTURE(policy);
            CHECK(static_cast<double>(missed[policy]) / rounds == Approx(expected.missed[policy]).margin(0.06));
            CHECK(by_default <= missed[policy]);
        }
        if (expected.entries <= 384) CHECK(by_default < std::min(missed[0], missed[2]));
    }
}
