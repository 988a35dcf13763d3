// Which tier a row is found in, and what unmapped, reused and stale entries give.
#include "catch.hpp"
#include "hand_made.hpp"
#include "real_shapes.hpp"

using namespace dhisparse;
using dhisparse_test::row_list;
using dhisparse_test::shape_of;
using subject = dhisparse_test::hand_made<>;

namespace {

model_shape pages_of(int page_positions) {
    return shape_of(page_positions, 8, {{{.row_bytes = 128}, 2}});
}

} // namespace

TEST_CASE(
    "RM-01: a position whose page was unmapped has no location, and page 0 is not read for it",
    "[resolve]") {
    subject s(pages_of(1), {.n_pages = 16, .hot_pages = 8});
    s.open(0, 8, 7);
    for (std::int32_t t = 0; t < 8; ++t)
        s.map(0, t, t);
    CHECK(s.resolve_one(0, {3, 0}).of(0, 2) ==
          row_list{s.layout.group(0).at(gpu_page{3}, 0), s.layout.group(0).at(gpu_page{0}, 0)});
    s.map(0, 3, -1);
    CHECK(s.resolve_one(0, {3}).of(0, 1) == row_list{-1});
    CHECK(s.count_of(violation::row_unreachable) == 1);
    CHECK(s.hot_rows(0) == row_list(8, -1));
}

TEST_CASE(
    "RM-02: positions that a slot's new request has not mapped don't resolve to its former pages",
    "[resolve]") {
    subject s(pages_of(16));
    s.open(0, 32, 31);
    s.map(0, 0, 4);
    s.map(0, 1, 5);
    s.close(0);
    s.open(0, 32, 31);
    s.map(0, 0, 5);
    const auto got = s.resolve_one(0, {0, 15, 16, 31}).of(0, 4);
    CHECK(got == row_list{s.layout.group(0).at(gpu_page{5}, 0),
                          s.layout.group(0).at(gpu_page{5}, 15), -1, -1});
    CHECK(s.count_of(violation::row_unreachable) == 2);
}

TEST_CASE("RM-06: a slot's shorter request never sees rows of the longer one before it",
          "[resolve]") {
    subject s(pages_of(64), {.n_pages = 16});
    s.open(0, 500, 499);
    for (std::int32_t page = 0; page < 8; ++page)
        s.map(0, page, page);
    s.close(0);
    s.open(0, 10, 9);
    s.map(0, 0, 9);
    CHECK(s.resolve_one(0, {200, 9}).of(0, 2) ==
          row_list{-1, s.layout.group(0).at(gpu_page{9}, 9)});
    CHECK(s.count_of(violation::row_out_of_range) == 1);
}

// Windows are the draft ring's; here: pages that were unmapped and have no host copy.
TEST_CASE("RM-08: pages that have left a request give -1 though another request has them now",
          "[resolve]") {
    subject s(pages_of(16), {.n_pages = 16});
    s.open(0, 160, 159);
    for (std::int32_t page = 0; page < 10; ++page)
        s.map(0, page, page);
    for (std::int32_t page = 0; page < 6; ++page)
        s.map(0, page, -1); // the window is the last four
    s.open(1, 96, 95);
    for (std::int32_t page = 0; page < 6; ++page)
        s.map(1, page, page);
    CHECK(s.resolve_one(0, {0, 16, 32, 48, 64, 95, 96}).of(0, 7) ==
          row_list{-1, -1, -1, -1, -1, -1, s.layout.group(0).at(gpu_page{6}, 0)});
    CHECK(s.resolve_one(1, {95}).of(0, 1) == row_list{s.layout.group(0).at(gpu_page{5}, 15)});
}

TEST_CASE("HC-09: a slot's next request misses what the one before it had in the hot cache, and "
          "gets its own bytes",
          "[resolve]") {
    subject s(pages_of(16), {.hot_pages = 1});
    s.open_on_host(0, 16, 5, 1'000);
    s.give_hot_pages(0, 2);
    s.resolve_one(0, {3, 4});
    CHECK(s.counts.host_rows == 2);
    s.close(0);
    s.open_on_host(0, 16, 5, 7'000); // the same host page, other bytes
    s.give_hot_pages(0, 2);
    const auto got = s.resolve_one(0, {3, 4}).of(0, 2);
    CHECK(s.counts.host_rows == 4);
    CHECK(s.holds(0, got[0], 7'003));
    CHECK(s.holds(0, got[1], 7'004));
}

TEST_CASE("selected rows are counted by where they were found", "[resolve]") {
    subject s(pages_of(16), {.hot_pages = 1});
    s.open_on_host(0, 64, 0);
    s.give_hot_pages(0, 8);
    s.map(0, 1, 3); // history
    s.map(0, 3, 4); // tail
    s.tables().records[0].tail_page = 3;
    s.let_see(0, 64);
    s.resolve_one(0, {2});
    s.counts = {};
    s.resolve_one(0, {16, 17, 48, 49, 50, 2, 5, 5, -1, 99});
    CHECK(s.counts.history == 2);
    CHECK(s.counts.tail == 3);
    CHECK(s.counts.hot == 1);
    CHECK(s.counts.host == 2); // entries, though it is one row
    CHECK(s.counts.selected == 8);
    CHECK(s.counts.host_rows == 1);
    CHECK(s.counts.host_bytes == 2 * 128); // both lanes
    CHECK(s.count_of(violation::row_out_of_range) == 1);
}

TEST_CASE("host bytes leave out the host tier's padding", "[resolve]") {
    subject s(shape_of(64, 8, {{dhisparse_test::row_with_scales(64, 1, 0), 3}}),
              {.n_pages = 4, .hot_pages = 1, .host_pages = 2});
    s.open_on_host(0, 64, 0);
    s.give_hot_pages(0, 1);
    s.resolve_one(0, {1, 2});
    CHECK(s.counts.host_bytes == 2 * 3 * 584);
}

TEST_CASE("a mapped page comes before a hot entry of the same row", "[resolve]") {
    subject s(pages_of(16), {.hot_pages = 1});
    s.open_on_host(0, 32, 0);
    s.give_hot_pages(0, 8);
    const auto hot = s.resolve_one(0, {5}).of(0, 1);
    CHECK(hot == row_list{s.layout.group(0).at(gpu_page{8}, 15)});
    s.map(0, 0, 3);
    CHECK(s.resolve_one(0, {5}).of(0, 1) == row_list{s.layout.group(0).at(gpu_page{3}, 5)});
    s.map(0, 0, -1);
    CHECK(s.resolve_one(0, {5}).of(0, 1) == hot); // it was not touched
    CHECK(s.counts.hot == 1);
}

TEST_CASE("with rows of several positions a page holds as many rows fewer", "[resolve]") {
    subject s(shape_of(16, 8, {{{.row_bytes = 128, .positions_per_row = 4}, 1}}));
    s.open(0, 64, 30);
    s.map(0, 0, 6);
    s.map(0, 1, 2);
    CHECK(s.resolve_one(0, {0, 3, 4, 6, 7}).of(0, 5) ==
          row_list{s.layout.group(0).at(gpu_page{6}, 0), s.layout.group(0).at(gpu_page{6}, 3),
                   s.layout.group(0).at(gpu_page{2}, 0), s.layout.group(0).at(gpu_page{2}, 2),
                   -1}); // position 31 completes row 7 only with the next query
}

TEST_CASE("pages of 50 rows, which no shift divides, place mapped rows and hot entries",
          "[resolve]") {
    subject s(shape_of(50, 64, {{{.row_bytes = 128}, 2}}),
              {.n_pages = 16, .hot_pages = 3, .positions = 400});
    s.open_on_host(0, 400, 0);
    s.let_see(0, 400);
    s.give_hot_pages(0, 9);
    s.map(0, 2, 4);
    const auto mapped = s.resolve_one(0, {100, 149}).of(0, 2);
    CHECK(mapped ==
          row_list{s.layout.group(0).at(gpu_page{4}, 0), s.layout.group(0).at(gpu_page{4}, 49)});
    for (std::int32_t first = 200; first < 350; first += 50) {
        row_list selection;
        for (std::int32_t row = first; row < first + 50; ++row)
            selection.push_back(row);
        const auto got = s.resolve_one(0, selection);
        for (std::size_t i = 0; i < 50; ++i)
            REQUIRE(s.holds(0, got.at[i], selection[i]));
    }
    const auto again = s.resolve_one(0, {200, 249, 250, 349});
    CHECK(again.valid == row_list{4});
    CHECK(s.counts.host_rows == 150); // three pages of entries hold them all
    for (std::size_t i = 0; i < 4; ++i)
        CHECK(s.holds(0, again.at[i], row_list{200, 249, 250, 349}[i]));
}
