// Rows that come back from the host: which entries they get, each once, bit for bit.
#include <dhisparse/policy/hot_index/hashed.hpp>
#include <dhisparse/policy/layout/source_planes.hpp>
#include <dhisparse/policy/replacement/fifo.hpp>

#include "catch.hpp"
#include "hand_made.hpp"
#include "real_shapes.hpp"

#include <numeric>
#include <random>
#include <set>

using namespace dhisparse;
using dhisparse_test::answer;
using dhisparse_test::hand_made;
using dhisparse_test::hand_made_sizes;
using dhisparse_test::range;
using dhisparse_test::row_list;
using dhisparse_test::shape_of;
using subject = hand_made<>;
using hashed_fifo = hand_made<hashed, fifo, source_planes>;

namespace {

/// Selected rows whose location doesn't hold the row's bytes; tags are first_tag + row.
template <class Subject>
std::size_t wrong_bytes(const Subject& s, const row_list& selection, const answer& got, int g = 0,
                        std::int32_t first_tag = 0) {
    std::size_t n = 0;
    for (std::size_t i = 0; i < selection.size(); ++i)
        n += !s.holds(g, got.at[i], first_tag + selection[i]);
    return n;
}

/// Every hot entry's row is found in it, and no row twice.
template <class Subject>
std::size_t wrong_entries(Subject& s, int g = 0) {
    std::set<std::int32_t> seen;
    std::size_t n = 0;
    const auto all = s.hot_rows(0, g);
    for (std::size_t e = 0; e < all.size(); ++e)
        if (all[e] >= 0) n += s.hot_index(0, g).find(all[e]) != e || !seen.insert(all[e]).second;
    return n;
}

/// One request on the host alone, with hot pages.
struct on_host : subject {
    on_host(const model_shape& shape, std::int32_t positions, const hand_made_sizes& n)
        : subject(shape, n) {
        open_on_host(0, positions, 0);
        let_see(0, positions);
        give_hot_pages(0, 0);
    }
};

/// A hot cache of so many entries over a history of 64 rows.
on_host with_entries(std::int32_t entries, int k = 16, int k_max = 1) {
    return {shape_of(entries, k, {{{.row_bytes = 128}, 2}}),
            64,
            {.n_pages = 4, .hot_pages = 1, .host_pages = 64, .positions = 1024, .k_max = k_max}};
}

} // namespace

TEST_CASE("HC-08: every missed row comes back bit for bit, for any number of misses and a wide "
          "selection stride",
          "[resolve]") {
    const std::int64_t row_bytes = GENERATE(576, 656);
    const auto n_missed = static_cast<std::size_t>(GENERATE(1, 31, 32, 33, 1023, 2048));
    CAPTURE(row_bytes, n_missed);
    on_host s(shape_of(64, 2048, {{{.row_bytes = row_bytes}, 1}}), 4096,
              {.n_pages = 32, .hot_pages = 32, .host_pages = 64, .slots = 1, .positions = 4096});
    s.resolve_one(0, range(0, 2048));
    row_list selection =
        range(static_cast<std::int32_t>(n_missed), static_cast<std::int32_t>(n_missed) + 2048);
    std::mt19937 random(7);
    std::shuffle(selection.begin(), selection.end(), random);
    s.counts = {};
    selection.resize(2112, 0x7F7F7F7F); // behind k: not a part of it
    const auto got = s.resolve(s.append({0}), {selection.data(), 2112, 2048});
    selection.resize(2048);
    CHECK(wrong_bytes(s, selection, got) == 0);
    CHECK(s.counts.host_rows == n_missed);
    CHECK(s.counts.hot == 2048 - n_missed);
    CHECK(s.counts.host_bytes == n_missed * static_cast<std::uint64_t>(row_bytes));
}

TEMPLATE_TEST_CASE("HC-01, HC-02: counts are exact and entries are a permutation, for all hit, all "
                   "missed and half",
                   "[resolve]", subject, hashed_fifo) {
    TestType s(shape_of(64, 2048, {{{.row_bytes = 128}, 1}}),
               {.n_pages = 64, .hot_pages = 64, .host_pages = 128, .slots = 1, .positions = 8192});
    s.open_on_host(0, 8192, 0);
    s.let_see(0, 8192);
    s.give_hot_pages(0, 0);
    std::uint64_t n_host = 0;
    for (const std::int32_t first : {0, 0, 1024, 4000, 4000, 6000}) {
        const auto before = s.counts;
        const auto selection = range(first, first + 2048);
        const auto got = s.resolve_one(0, selection);
        CHECK(wrong_bytes(s, selection, got) == 0);
        CHECK(std::set(got.at.begin(), got.at.end()).size() == 2048);
        CHECK(s.counts.hot - before.hot + s.counts.host - before.host == 2048);
        CHECK(wrong_entries(s) == 0);
        n_host = s.counts.host_rows;
    }
    CHECK(n_host == 2048 + 0 + 1024 + 2048 + 0 + 2000);
}

TEST_CASE("RS-13: a missed row that is selected three times comes once and takes one entry",
          "[resolve]") {
    auto s = with_entries(4);
    const auto got = s.resolve_one(0, {5, 5, 7, 5});
    CHECK(got.at[0] == got.at[1]);
    CHECK(got.at[0] == got.at[3]);
    CHECK(got.at[0] != got.at[2]);
    CHECK(s.counts.host_rows == 2);
    CHECK(s.counts.host == 4); // every entry of the selection counts
    CHECK(s.hot_rows(0) == row_list{-1, -1, 5, 7});
}

TEST_CASE("HC-04: rows in use keep their entries and bytes, what finds no entry is -1 and counted",
          "[resolve]") {
    auto s = with_entries(8);
    s.resolve_one(0, range(0, 8));
    const auto before = s.hot_rows(0);
    auto selection = range(0, 8);
    for (const std::int32_t row : {40, 41, 42, 43})
        selection.push_back(row);
    const auto got = s.resolve_one(0, selection);
    CHECK(s.hot_rows(0) == before);
    CHECK(wrong_bytes(s, range(0, 8), got) == 0);
    CHECK(row_list(got.at.begin() + 8, got.at.begin() + 12) == row_list(4, -1));
    CHECK(got.valid == row_list{8});
    CHECK(s.count_of(violation::selection_too_wide) == 4);
    CHECK(s.resolve_one(0, {40}).valid == row_list{1}); // nothing was left behind
}

TEST_CASE("HC-06: the least recent row that is not in use gives way, its bytes with it",
          "[resolve]") {
    auto s = with_entries(4);
    for (const std::int32_t row : {10, 11, 12, 13})
        s.resolve_one(0, {row});
    const auto got = s.resolve_one(0, {10, 20});
    CHECK(wrong_bytes(s, {10, 20}, got) == 0);
    const auto rows = s.hot_rows(0);
    CHECK(std::set(rows.begin(), rows.end()) == std::set<std::int32_t>{10, 12, 13, 20});
}

TEST_CASE("RM-04: rows in the last of 65 hot pages are found there", "[resolve]") {
    on_host s(shape_of(64, 2048, {{{.row_bytes = 128}, 1}}), 8192,
              {.n_pages = 65, .hot_pages = 65, .host_pages = 128, .slots = 1, .positions = 8192});
    for (std::int32_t first = 0; first < 4160; first += 2048)
        s.resolve_one(0, range(first, std::min(first + 2048, 4160)));
    const auto rows = s.hot_rows(0);
    CHECK(rows.size() == 4160);
    CHECK(std::set(rows.begin(), rows.end()).size() == 4160);
    const row_list last_page(rows.begin() + 4096, rows.end());
    const auto got = s.resolve_one(0, last_page);
    CHECK(wrong_bytes(s, last_page, got) == 0);
    CHECK(got.at[63] == s.layout.group(0).at(gpu_page{64}, 63));
    CHECK(s.counts.host_rows == 4160);
}

// Lanes of a group move together; groups are what has tables of its own.
TEST_CASE("HC-07: two groups keep their own entries and bytes over 50 steps", "[resolve]") {
    CAPTURE(dhisparse_test::seed());
    std::mt19937_64 random(dhisparse_test::seed());
    const source_shape row{.row_bytes = 128};
    on_host s(shape_of(16, 8, {{row, 2}, {row, 1}}), 256,
              {.n_pages = 16, .hot_pages = 2, .slots = 1, .positions = 256});
    for (int step = 0; step < 50; ++step)
        for (int g = 0; g < 2; ++g) {
            row_list selection(8);
            for (auto& r : selection)
                r = static_cast<std::int32_t>(
                    (static_cast<std::uint64_t>(100 * g + step) + random() % 40) % 256);
            REQUIRE(wrong_bytes(s, selection, s.resolve_one(0, selection, g), g) == 0);
            REQUIRE(wrong_entries(s, g) == 0);
        }
    CHECK(s.hot_rows(0, 0) != s.hot_rows(0, 1));
}

TEST_CASE("a row that is on neither tier gives -1, is counted, and takes no entry", "[resolve]") {
    auto s = with_entries(4);
    s.map_host(0, 2, -1); // rows 8 to 11
    const auto got = s.resolve_one(0, {8, 3, 9, 8, 4});
    for (const std::size_t i : {0, 2, 3})
        CHECK(got.at[i] == -1);
    CHECK(got.valid == row_list{2});
    CHECK(wrong_bytes(s, {3}, answer{{got.at[1]}, {}, 1}) == 0);
    CHECK(s.count_of(violation::row_unreachable) == 3); // entries of the selection
    CHECK(s.hot_index(0).find(8) == no_code);
    s.map_host(0, 2, 2);
    CHECK(wrong_bytes(s, {8}, s.resolve_one(0, {8})) == 0);
}

TEST_CASE("unreachable rows leave their entries to others", "[resolve]") {
    auto s = with_entries(4);
    s.map_host(0, 0, -1); // rows 0 to 3
    CHECK(s.resolve_one(0, {0, 10, 1, 11, 2, 12, 3, 13}).valid == row_list{4});
    CHECK(s.count_of(violation::selection_too_wide) == 0);
}

TEST_CASE("a row that several queries of a round miss is copied once and given to all of them",
          "[resolve]") {
    auto s = with_entries(16, 16, 4);
    s.tables().records[0].frontier = 60;
    const auto got = s.resolve(s.append({0}, {4}), {{1, 2, 3}, {3, 4, -1}, {2, 2, 5}, {5, 1, 4}});
    CHECK(s.counts.host_rows == 5);
    CHECK(s.counts.host == 11);
    CHECK(got.valid == row_list{3, 2, 3, 3});
    CHECK(got.of(0)[2] == got.of(1)[0]);
    CHECK(got.of(1)[1] == got.of(3)[2]);
    CHECK(got.of(2)[2] == got.of(3)[0]);
    CHECK(wrong_bytes(s, {5, 1, 4}, {got.of(3), {}, 64}) == 0);
}

TEST_CASE("a row that a later query of the round selects is in use for the first one too",
          "[resolve]") {
    auto s = with_entries(4, 4, 2);
    s.tables().records[0].frontier = 60;
    s.resolve_one(0, {10, 11, 12, 13});
    const auto got = s.resolve(s.append({0}, {2}), {{20, 21}, {10, 11}});
    CHECK(wrong_bytes(s, {20, 21}, {got.of(0), {}, 64}) == 0);
    CHECK(wrong_bytes(s, {10, 11}, {got.of(1), {}, 64}) == 0);
}

TEST_CASE("without hot pages every missed row is refused one by one", "[resolve]") {
    subject s(shape_of(16, 8, {{{.row_bytes = 128}, 1}}), {.hot_pages = 0});
    s.open_on_host(0, 64, 0);
    s.let_see(0, 64);
    CHECK(s.resolve_one(0, {1, 2, 1}).valid == row_list{0});
    CHECK(s.count_of(violation::selection_too_wide) == 2);
}

TEST_CASE("584-byte rows of three lanes come back with their scales", "[resolve]") {
    on_host s(shape_of(64, 16, {{dhisparse_test::row_with_scales(64, 1, 576), 3}}), 256,
              {.n_pages = 2, .hot_pages = 1, .host_pages = 4, .slots = 1, .positions = 512});
    for (std::int32_t first = 0; first < 240; first += 16) {
        const auto selection = range(first, first + 16);
        REQUIRE(wrong_bytes(s, selection, s.resolve_one(0, selection)) == 0);
    }
}

TEST_CASE("a resolve without misses leaves entries, rows and order alone but for the stamps",
          "[resolve]") {
    auto s = with_entries(8);
    s.resolve_one(0, range(0, 8));
    const auto rows = s.hot_rows(0);
    const auto* entered = s.tables().entered(0, s.groups[0]);
    const std::vector<stamp> before(entered, entered + 8);
    s.resolve_one(0, {3, 1});
    CHECK(s.hot_rows(0) == rows);
    CHECK(std::equal(before.begin(), before.end(), entered));
    CHECK(s.tables().used(0, s.groups[0])[3] == 2);
    CHECK(s.tables().used(0, s.groups[0])[0] == 1);
}
