// Where a round's new positions go, and what becomes of bad slots, widths and positions.
#include "catch.hpp"
#include "hand_made.hpp"
#include "real_shapes.hpp"
#include "refusal.hpp"

using namespace dhisparse;
using dhisparse_test::refusal;
using dhisparse_test::shape_of;
using list = std::vector<std::int32_t>;
using subject = dhisparse_test::hand_made<>;

namespace {

/// A group of one position a row and one of two, both with index keys; pages of 16 positions.
model_shape two_groups() {
    return shape_of(16, 8,
                    {{{.row_bytes = 128, .index_key_bytes = 16}, 2},
                     {{.row_bytes = 128, .index_key_bytes = 16, .positions_per_row = 2}, 1}});
}

/// Two slots: slot 0 has committed 14 positions and its pages 0, 1 in GPU pages 5, 7; slot 1: 3 in
/// page 2.
struct two_requests : subject {
    explicit two_requests(int k_max = 4) : subject(two_groups(), {.slots = 3, .k_max = k_max}) {
        open(0, 40, 14);
        map(0, 0, 5);
        map(0, 1, 7);
        open(1, 16, 3);
        map(1, 0, 2);
        for (int i = 0; i < 2; ++i)
            for (std::int32_t page = 0; page < 2; ++page)
                tables().index_table(0, i)[page] = 100 * (i + 1) + page;
    }
};

list locations_of(const round_ref& round, int g) {
    return {round.group_locations(g), round.group_locations(g) + round.n_queries};
}
list positions_of(const round_ref& round) {
    return {round.query_positions, round.query_positions + round.n_queries};
}
list slots_of(const round_ref& round) {
    return {round.query_slots, round.query_slots + round.n_queries};
}
list first_queries_of(const round_ref& round) {
    return {round.first_query, round.first_query + round.n_requests + 1};
}

} // namespace

TEST_CASE("new positions go to the rows of their pages, over a page's edge too", "[append]") {
    two_requests s;
    const auto round = s.append({0}, {4});
    const auto& one = s.layout.group(0);
    const auto& two = s.layout.group(1);
    CHECK(positions_of(round) == list{14, 15, 16, 17});
    CHECK(locations_of(round, 0) == list{one.at(gpu_page{5}, 14), one.at(gpu_page{5}, 15),
                                         one.at(gpu_page{7}, 0), one.at(gpu_page{7}, 1)});
    CHECK(locations_of(round, 1) == list{two.at(gpu_page{5}, 7), two.at(gpu_page{5}, 7),
                                         two.at(gpu_page{7}, 0), two.at(gpu_page{7}, 0)});
}

TEST_CASE("new positions' index keys go to the blocks of their pages", "[append]") {
    two_requests s;
    const auto round = s.append({0}, {4});
    CHECK(list(round.source_blocks(0), round.source_blocks(0) + 4) == list{100, 100, 101, 101});
    CHECK(list(round.source_blocks(1), round.source_blocks(1) + 4) == list{200, 200, 201, 201});
}

TEST_CASE("queries are packed request after request, one each without widths", "[append]") {
    two_requests s;
    const auto plain = s.append({1, 0});
    CHECK(plain.n_queries == 2);
    CHECK(positions_of(plain) == list{3, 14});
    CHECK(slots_of(plain) == list{1, 0});
    CHECK(plain.one_query);
    const auto wide = s.append({1, -1, 0}, {2, 3, 0});
    CHECK(first_queries_of(wide) == list{0, 2, 5, 5});
    CHECK_FALSE(wide.one_query);
    CHECK(positions_of(wide) == list{3, 4, -1, -1, -1});
    CHECK(slots_of(wide) == list{1, 1, -1, -1, -1});
    CHECK(list(wide.frontiers, wide.frontiers + 3) == list{3, 0, 14});
}

TEST_CASE("a batch of no request is a round without queries", "[append]") {
    two_requests s;
    const auto round = s.append({});
    CHECK(round.n_requests == 0);
    CHECK(round.n_queries == 0);
    CHECK(round.first_query[0] == 0);
    s.commit(round);
    CHECK(s.tables().records[0].frontier == 14);
}

// The model writes rows to the locations of an append: padding must have none.
TEST_CASE(
    "PP-09: padding slots get no location and no index block, so that nothing is written for them",
    "[append]") {
    two_requests s;
    const auto round = s.append({-1, 0, -1, 1, -1});
    const auto at = locations_of(round, 0);
    CHECK(list{at[0], at[2], at[4]} == list{-1, -1, -1});
    CHECK(at[1] >= 0);
    for (const int padding : {0, 2, 4}) {
        CHECK(round.group_locations(1)[padding] == -1);
        CHECK(round.source_blocks(0)[padding] == -1);
        CHECK(round.source_blocks(1)[padding] == -1);
    }
    for (int v = 0; v < n_violations; ++v)
        CHECK(s.counts.violations[v] == 0);
}

TEST_CASE("a slot without a request is treated as padding and counted", "[append]") {
    two_requests s;
    s.close(1);
    const auto round = s.append({1, 2, 3, INT32_MAX, INT32_MIN, -2, 0});
    CHECK(list(round.slots, round.slots + 7) == list{-1, -1, -1, -1, -1, -1, 0});
    CHECK(s.count_of(violation::slot_not_live) == 6);
    CHECK(locations_of(round, 0)[0] == -1);
}

TEST_CASE("a slot named twice in a batch counts once, the second time as padding", "[append]") {
    two_requests s;
    const auto round = s.append({0, 1, 0});
    CHECK(list(round.slots, round.slots + 3) == list{0, 1, -1});
    CHECK(s.count_of(violation::slot_repeated) == 1);
    const auto next = s.append({0}); // the next round may name it again
    CHECK(next.slots[0] == 0);
    CHECK(s.count_of(violation::slot_repeated) == 1);
}

TEST_CASE("a width out of range is taken as the nearest permitted one and counted", "[append]") {
    two_requests s;
    const auto round = s.append({0, 1}, {5, -3});
    CHECK(first_queries_of(round) == list{0, 4, 4});
    CHECK(s.count_of(violation::width_out_of_range) == 2);
    CHECK(s.append({0, 1}, {INT32_MAX, INT32_MIN}).n_queries == 4);
}

TEST_CASE("positions beyond the reserved length get no location and are counted", "[append]") {
    two_requests s;
    s.tables().records[0].positions = 16;
    const auto round = s.append({0}, {4});
    CHECK(locations_of(round, 0)[1] >= 0);
    CHECK(list(round.group_locations(0) + 2, round.group_locations(0) + 4) ==
          list{-1, -1}); // though page 1 is mapped
    CHECK(list(round.source_blocks(1) + 2, round.source_blocks(1) + 4) == list{-1, -1});
    CHECK(s.count_of(violation::position_not_mapped) == 2);
}

TEST_CASE("positions of a page that is not mapped get no location and are counted", "[append]") {
    two_requests s;
    s.map(0, 1, -1);
    const auto round = s.append({0}, {3});
    CHECK(locations_of(round, 0)[2] == -1);
    CHECK(locations_of(round, 1)[2] == -1);
    CHECK(s.count_of(violation::position_not_mapped) == 1);
}

TEST_CASE("a frontier at the end of the longest request touches no memory behind the map",
          "[append]") {
    two_requests s;
    s.tables().records[0].frontier = 1024; // the tables' own length
    s.tables().records[0].positions = 1024;
    CHECK(locations_of(s.append({0}, {2}), 0) == list{-1, -1});
    CHECK(s.count_of(violation::position_not_mapped) == 2);
}

TEST_CASE("an append changes no table", "[append]") {
    two_requests s;
    const std::vector<std::byte> before(s.table_memory().begin(), s.table_memory().end());
    s.append({0, 1, -1}, {4, 2, 1});
    CHECK(std::equal(before.begin(), before.end(), s.table_memory().begin()));
}

TEST_CASE("a batch that is too large is refused by its size", "[append]") {
    two_requests s;
    CHECK(refusal([&] { s.append(list(9, -1)); }) == "requests of a batch is 9, permitted: 0 to 8");
    round_arrays arrays(4, 4, 2, 2, 3);
    CHECK(refusal([&] {
              append(s.step(), arrays, {nullptr, nullptr, -1});
          }) == "requests of a batch is -1, permitted: 0 to 4");
}
