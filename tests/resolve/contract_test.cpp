// What goes in and what comes out of a resolve: order, -1, visibility, padding, valid counts.
#include "catch.hpp"
#include "hand_made.hpp"
#include "real_shapes.hpp"
#include "refusal.hpp"

#include <numeric>
#include <random>

using namespace dhisparse;
using dhisparse_test::answer;
using dhisparse_test::refusal;
using dhisparse_test::range;
using dhisparse_test::row_list;
using dhisparse_test::shape_of;
using subject = dhisparse_test::hand_made<>;

namespace {

/// One request whose pages are all mapped, page i in GPU page i, so that row r's location is r.
struct resident : subject {
    explicit resident(std::int32_t positions, int k = 16, int k_max = 1, int page_positions = 64)
        : subject(shape_of(page_positions, k, {{{.row_bytes = 128}, 1}}),
                  {.n_pages = ceil_div(positions, page_positions),
                   .slots = 8,
                   .positions = positions,
                   .max_requests = 8,
                   .k_max = k_max}) {
        open(0, positions, positions - 1);
        for (std::int32_t page = 0; page < ceil_div(positions, page_positions); ++page)
            map(0, page, page);
    }
};

} // namespace

TEST_CASE("RS-01: a short history fills what is selected and leaves -1 in the rest", "[resolve]") {
    resident s(5, 8);
    const auto got = s.resolve_one(0, {0, 1, 2, 3, 4, -1, -1, -1});
    CHECK(got.of(0, 8) == row_list{0, 1, 2, 3, 4, -1, -1, -1});
    CHECK(std::count(got.at.begin() + 5, got.at.end(), -1) == 64 - 5);
    CHECK(got.valid == row_list{5});
}

TEST_CASE("RS-02: rows that pad a batch are all -1, and nothing is counted for them", "[resolve]") {
    resident s(64, 16);
    const auto round = s.append({0, -1, -1, -1, -1, -1, -1, -1});
    const auto got = s.resolve(round, std::vector<row_list>(8, row_list{3, 1, 2}));
    CHECK(got.of(0, 4) == row_list{3, 1, 2, -1});
    for (int query = 1; query < 8; ++query)
        CHECK(got.of(query) == row_list(64, -1));
    CHECK(got.valid == row_list{3, 0, 0, 0, 0, 0, 0, 0});
    CHECK(s.counts.selected == 3);
    CHECK(s.counts.host == 0);
}

TEST_CASE("RS-03: rows of an earlier, longer request are -1 and counted", "[resolve]") {
    resident s(100);
    const auto got = s.resolve_one(0, {99, 900, 901, 902, 903, 0});
    CHECK(got.of(0, 6) == row_list{99, -1, -1, -1, -1, 0});
    CHECK(s.count_of(violation::row_out_of_range) == 4);
}

TEST_CASE("RS-04: -1 scattered among 2,048 entries stays in place, and the others are counted",
          "[resolve]") {
    CAPTURE(dhisparse_test::seed());
    std::mt19937_64 random(dhisparse_test::seed());
    resident s(8320, 2048);
    row_list selection = range(5000, 5000 + 2048);
    for (std::size_t i = 0, n = 0; n < 924; i = (i + 1 + random() % 7) % 2048)
        if (selection[i] >= 0) selection[i] = -1, ++n;
    const auto got = s.resolve_one(0, selection);
    CHECK(got.of(0, 2048) == selection);
    CHECK(got.valid == row_list{1124});
    CHECK(s.counts.selected == 1124);
    CHECK(s.counts.host_rows == 0);
    CHECK(s.count_of(violation::row_out_of_range) == 0);
}

TEST_CASE("RS-05: rows beyond the history are -1 and counted, however large", "[resolve]") {
    resident s(100);
    CHECK(s.resolve_one(0, {0, 99, 100, 101, INT32_MAX}).of(0, 5) == row_list{0, 99, -1, -1, -1});
    CHECK(s.count_of(violation::row_out_of_range) == 3);
}

TEST_CASE("negative rows other than -1 are -1 and counted", "[resolve]") {
    resident s(100);
    CHECK(s.resolve_one(0, {-2, -1, INT32_MIN, 7}).of(0, 4) == row_list{-1, -1, -1, 7});
    CHECK(s.count_of(violation::row_out_of_range) == 2);
}

TEST_CASE("RS-07: with no history and no selected row everything is -1", "[resolve]") {
    resident s(64, 16);
    s.open(0, 64, 0);
    const auto got = s.resolve_one(0, row_list(16, -1));
    CHECK(got.of(0) == row_list(64, -1));
    CHECK(got.valid == row_list{0});
    CHECK(s.counts.selected == 0);
    CHECK(s.counts.host_rows == 0);
}

TEST_CASE("RS-12: any k works, whatever widths other models have", "[resolve]") {
    resident s(600, 512);
    for (const std::int32_t k : {1, 2, 63, 64, 65, 192, 500, 512}) {
        CAPTURE(k);
        const auto selection = range(40, 40 + k);
        const auto got = s.resolve(s.append({0}), std::vector<row_list>{selection});
        CHECK(got.stride == round_up(k, 64));
        CHECK(got.of(0, k) == selection);
        CHECK(std::count(got.at.begin(), got.at.end(), -1) == got.stride - k);
        CHECK(got.valid == row_list{k});
    }
}

TEST_CASE(
    "RS-14: the first and last row of a partly filled page have locations, the next one has none",
    "[resolve]") {
    const auto history = GENERATE(255, 256, 257, 300, 513);
    CAPTURE(history);
    resident s(history);
    const auto first = (history - 1) / 64 * 64;
    CHECK(s.resolve_one(0, {first, history - 1, history}).of(0, 3) ==
          row_list{first, history - 1, -1});
}

TEST_CASE("RS-15: the rows that a partial last block doesn't have are -1", "[resolve]") {
    resident s(300, 128, 1, 128);
    const auto got = s.resolve_one(0, range(256, 384)); // block 2 of 128 rows
    CHECK(got.of(0, 44) == range(256, 300));
    CHECK(got.of(0).size() == 128);
    CHECK(std::count(got.at.begin(), got.at.end(), -1) == 84);
    CHECK(got.valid == row_list{44});
}

TEST_CASE("RS-15: an unfinished block may be selected where it is readable, and only there",
          "[resolve]") {
    for (const bool readable : {false, true}) {
        subject s(shape_of(
            128, 8,
            {{{.row_bytes = 128, .positions_per_row = 128, .partial_readable = readable}, 1}}));
        s.open(0, 1024, 299); // sees 300 positions: two blocks and 44 of the third
        for (std::int32_t page = 0; page < 8; ++page)
            s.map(0, page, page);
        CHECK(s.resolve_one(0, {1, 2, 3}).of(0, 3) == row_list{1, readable ? 2 : -1, -1});
    }
}

// A slot's position is never pending: until its edits are applied the slot is not live.
TEST_CASE("RS-17: a slot without a request, or with no position yet, gives -1 and touches nothing",
          "[resolve]") {
    resident s(64);
    const std::vector<std::byte> before(s.table_memory().begin(), s.table_memory().end());
    const auto round = s.append({3}); // admitted, but its edits are not applied yet
    CHECK(s.resolve(round, std::vector<row_list>{{0, 1, 5}}).of(0, 3) == row_list{-1, -1, -1});
    CHECK(s.count_of(violation::slot_not_live) == 1);
    CHECK(std::equal(before.begin(), before.end(), s.table_memory().begin()));
    s.open(3, 0, 0);
    CHECK(s.resolve_one(3, {0, 1}).of(0, 2) == row_list{-1, -1});
}

TEST_CASE("RM-03: a verification round resolves history as a plain step does", "[resolve]") {
    resident s(72, 16, 4);
    s.tables().records[0].frontier = 64;
    const row_list selection{63, 0, 17, 31, 32, 5, 62, -1, 1};
    const auto plain = s.resolve(s.append({0}, {1}), std::vector<row_list>{selection});
    const auto round = s.resolve(s.append({0}, {4}), std::vector<row_list>(4, selection));
    for (int query = 0; query < 4; ++query)
        CHECK(round.of(query) == plain.of(0));
}

TEST_CASE("each query of a round sees its own position and those before it", "[resolve]") {
    resident s(72, 16, 4);
    s.tables().records[0].frontier = 64;
    const auto got = s.resolve(s.append({0}, {4}), std::vector<row_list>(4, range(63, 69)));
    CHECK(got.of(0, 6) == row_list{63, 64, -1, -1, -1, -1});
    CHECK(got.of(1, 6) == row_list{63, 64, 65, -1, -1, -1});
    CHECK(got.of(3, 6) == row_list{63, 64, 65, 66, 67, -1});
    CHECK(got.valid == row_list{2, 3, 4, 5});
}

TEST_CASE("repeated rows get the same location each time", "[resolve]") {
    resident s(100);
    CHECK(s.resolve_one(0, {7, 7, 99, 7}).of(0, 4) == row_list{7, 7, 99, 7});
    CHECK(s.counts.selected == 4);
}

TEST_CASE("the reserved length bounds what is visible", "[resolve]") {
    resident s(128);
    s.open(0, 50, 60);
    s.map(0, 0, 0);
    CHECK(s.resolve_one(0, {49, 50, 60}).of(0, 3) == row_list{49, -1, -1});
}

TEST_CASE("selections and locations have the strides that the caller states", "[resolve]") {
    resident s(128, 8, 2);
    s.tables().records[0].frontier = 100;
    const row_list selection{1, 2, 3, 77, 77, 4, 5, 6, 77, 77};
    row_list at(2 * 20, 123456), valid(2);
    s.resolve(s.append({0}, {2}), {selection.data(), 5, 3}, {at.data(), 20, 8, valid.data()});
    CHECK(row_list(at.begin(), at.begin() + 8) == row_list{1, 2, 3, -1, -1, -1, -1, -1});
    CHECK(row_list(at.begin() + 20, at.begin() + 28) == row_list{4, 5, 6, -1, -1, -1, -1, -1});
    CHECK(std::count(at.begin(), at.end(), 123456) == 24); // what lies between is the caller's
    CHECK(valid == row_list{3, 3});
}

TEST_CASE("valid counts are optional", "[resolve]") {
    resident s(64);
    const row_list selection{1, 2};
    row_list at(64, 123456);
    s.resolve(s.append({0}), {selection.data(), 2, 2}, {at.data(), 64, 0, nullptr});
    CHECK(at[1] == 2);
}

TEST_CASE("strides that are too short are refused by their numbers, before anything changes",
          "[resolve]") {
    resident s(64);
    row_list selection(64, 0), at(64, 123456);
    const auto round = s.append({0});
    const auto refused = [&](const selection_ref& in, const locations_ref& out) {
        return refusal([&] { s.resolve(round, in, out); });
    };
    CHECK(refused({selection.data(), 4, 8}, {at.data(), 64, 0, nullptr}) ==
          "selection stride is 4, permitted: at least k = 8");
    CHECK(refused({selection.data(), 8, 8}, {at.data(), 63, 0, nullptr}) ==
          "location stride is 63, permitted: at least k_padded = 64");
    CHECK(refused({selection.data(), 8, 8}, {at.data(), 64, 7, nullptr}) ==
          "k_padded is 7, permitted: at least k = 8");
    CHECK(std::count(at.begin(), at.end(), 123456) == 64);
    CHECK(s.tables().clocks[0] == 0);
}

TEST_CASE("a request without queries in this round is left alone", "[resolve]") {
    resident s(64, 8, 2);
    const auto round = s.append({0}, {0});
    CHECK(s.resolve(round, std::vector<row_list>{}).at.empty());
    CHECK(s.tables().clocks[0] == 0);
}
