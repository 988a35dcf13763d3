// Rounds whose union is larger than the hot cache: what is staged where, how long it holds, what is promoted.
#include <dhisparse/policy/hot_index/hashed.hpp>
#include <dhisparse/policy/layout/source_planes.hpp>
#include <dhisparse/policy/promotion/anchor_first.hpp>
#include <dhisparse/policy/promotion/keep_staged_none.hpp>
#include <dhisparse/policy/replacement/fifo.hpp>

#include "catch.hpp"
#include "hand_made.hpp"
#include "real_shapes.hpp"

#include <numeric>
#include <set>

using namespace dhisparse;
using dhisparse_test::answer;
using dhisparse_test::hand_made;
using dhisparse_test::hand_made_sizes;
using dhisparse_test::range;
using dhisparse_test::row_list;
using dhisparse_test::shape_of;

namespace {

/// Two requests of 256 positions on the host alone, with one hot page each of `entries` rows; all groups have two lanes
/// of 128-byte rows. Rounds of up to four queries start at position 250.
template <class Promotion = most_selected, class Layout = page_major, class Index = dense, class Replacement = lru>
struct staged : hand_made<Index, Replacement, Layout, Promotion> {
    explicit staged(std::int32_t entries, int k, int k_max = 4, int n_groups = 1, std::int64_t hot_pages = 1)
        : hand_made<Index, Replacement, Layout, Promotion>(
              shape_of(entries, k, std::vector<std::pair<source_shape, int>>(static_cast<std::size_t>(n_groups), {{.row_bytes = 128}, 2})),
              hand_made_sizes{.n_pages = 4, .hot_pages = hot_pages, .host_pages = 512 / entries, .positions = 256, .k_max = k_max, .staging = true}) {
        for (const std::int32_t slot : {0, 1}) {
            this->open_on_host(slot, 256, slot * 256 / entries, slot * 1000);
            this->tables().records[slot].frontier = 250;
            if (hot_pages > 0) this->give_hot_pages(slot, slot);
        }
    }
    answer ask(const round_ref& round, const std::vector<row_list>& selections, int g = 0) { return this->resolve(round, selections, g); }
    /// Entries of all answers that do not hold the row that was asked for.
    int wrong(const std::vector<row_list>& selections, const answer& got, int g = 0) const {
        int n = 0;
        for (std::size_t q = 0; q < selections.size(); ++q)
            for (std::size_t i = 0; i < selections[q].size(); ++i)
                n += !this->holds(g, got.of(static_cast<int>(q))[i], selections[q][i]);
        return n;
    }
    location staged_at(std::int32_t i, std::int32_t slot = 0, int g = 0) const {
        return this->layout.staging()[static_cast<std::size_t>(g)].at(this->layout.group(g).rows_per_page, slot, i);
    }
    /// Every hot entry holds the bytes of the row that the tables name, and the index finds it there.
    bool cache_is_right(std::int32_t slot = 0, int g = 0) {
        const auto rows = this->hot_rows(slot, g);
        for (std::size_t e = 0; e < rows.size(); ++e) {
            if (rows[e] < 0) continue;
            const auto at = this->layout.group(g).at(gpu_page{slot}, static_cast<std::uint32_t>(e));
            if (this->hot_index(slot, g).find(rows[e]) != e || !this->holds(g, at, 1000 * slot + rows[e])) return false;
        }
        return true;
    }
};

using by_default = staged<>;

} // namespace

TEMPLATE_TEST_CASE("ST-02: queries of one round are resolved together, what they share comes once, and what exceeds the cache is staged", "[staging]", by_default,
                   (staged<keep_staged_none, source_planes, hashed, fifo>)) {
    TestType s(8, 8);
    const std::vector<row_list> asked{range(0, 8), range(8, 16), range(0, 8), range(8, 16)};
    const auto got = s.ask(s.append({0}, {4}), asked);
    CHECK(s.wrong(asked, got) == 0); // all four at a time
    CHECK(got.valid == row_list(4, 8));
    CHECK(got.of(0) == got.of(2));
    CHECK(got.of(1) == got.of(3));
    CHECK(s.counts.host_rows == 16);
    CHECK(s.counts.staged_rows == 8);
    CHECK(s.counts.host == 32);
    for (std::int32_t i = 0; i < 8; ++i) {
        CHECK(got.of(0)[static_cast<std::size_t>(i)] == s.layout.group(0).at(gpu_page{0}, static_cast<std::uint32_t>(i)));
        CHECK(got.of(1)[static_cast<std::size_t>(i)] == s.staged_at(i)); // first come first served, then staging in the same order
    }
    CHECK(s.count_of(violation::selection_too_wide) == 0);
}

// The documented capacity: K_max · k - B rows a slot are always there.
TEST_CASE("ST-03 ST-04: a round without overlap fits for every size of the hot cache, none at all included", "[staging]") {
    for (const std::int64_t hot_pages : {0, 1, 3, 8}) {
        CAPTURE(hot_pages);
        hand_made<> s(shape_of(16, 32, {{{.row_bytes = 128}, 1}}),
                      {.n_pages = 16, .hot_pages = hot_pages, .host_pages = 64, .slots = 1, .positions = 512, .k_max = 4, .staging = true});
        s.open_on_host(0, 512, 0);
        s.tables().records[0].frontier = 500;
        s.give_hot_pages(0, 0);
        CHECK(s.layout.staged_rows_per_slot() == std::max<std::int64_t>(0, 128 - 16 * hot_pages));
        for (const std::int32_t first : {0, 100, 300}) {
            const auto got = s.resolve(s.append({0}, {4}), {range(first, first + 32), range(first + 32, first + 64), range(first + 64, first + 96), range(first + 96, first + 128)});
            std::size_t n = 0;
            for (int q = 0; q < 4; ++q)
                for (std::int32_t i = 0; i < 32; ++i) n += s.holds(0, got.of(q)[static_cast<std::size_t>(i)], first + 32 * q + i);
            CHECK(n == 128);
        }
        CHECK(s.count_of(violation::selection_too_wide) == 0);
    }
}

TEMPLATE_TEST_CASE("ST-01: rows of the round itself are found in the tail, beside staged ones, for rows of one run and of two", "[staging]", page_major, source_planes) {
    const auto row = GENERATE(source_shape{.row_bytes = 656}, dhisparse_test::row_with_scales(16, 4, 0));
    const int m = row.positions_per_row;
    CAPTURE(m);
    hand_made<dense, lru, TestType> s(shape_of(16, 16, {{row, 2}}), {.n_pages = 16, .hot_pages = 1, .host_pages = 32, .slots = 1, .positions = 512, .k_max = 4, .staging = true});
    const auto per_page = 16 / m, n = 400;
    s.open_on_host(0, 512, 0);
    s.give_hot_pages(0, 0);
    s.map(0, n / 16, 5);
    s.tables().records[0].frontier = n;
    for (std::int32_t i = 0; i < per_page; ++i) s.write(0, s.layout.group(0).at(gpu_page{5}, static_cast<std::uint32_t>(i)), n / m + i);
    const auto last = (n + 4) / m - 1; // the last row that query 3 sees
    std::vector<row_list> asked(4);
    for (int q = 0; q < 4; ++q) asked[static_cast<std::size_t>(q)] = range(16 * q, 16 * q + 15);
    asked[3].push_back(last);
    const auto got = s.resolve(s.append({0}, {4}), asked);
    CHECK(got.of(3)[15] == s.layout.group(0).at(gpu_page{5}, static_cast<std::uint32_t>(last - n / m)));
    for (int q = 0; q < 4; ++q)
        for (std::size_t i = 0; i < asked[static_cast<std::size_t>(q)].size(); ++i) CHECK(s.holds(0, got.of(q)[i], asked[static_cast<std::size_t>(q)][i]));
    CHECK(s.counts.staged_rows == static_cast<std::uint64_t>(60 - per_page));
}

TEST_CASE("rows that a resolve found in the hot cache keep their entries until the release", "[staging]") {
    by_default s(4, 4);
    s.resolve_one(0, {10, 11, 12, 13});
    const auto round = s.append({0}, {3});
    const std::vector<row_list> asked{{20, 21, 22, 23}, {20, 21, 22, 23}, {10, 11, 12, 13}};
    const auto got = s.ask(round, asked);
    CHECK(s.wrong(asked, got) == 0);
    CHECK(s.counts.staged_rows == 4);
    CHECK(s.hot_rows(0) == row_list{10, 11, 12, 13});
    s.release(round);
    CHECK(s.hot_rows(0) == row_list{20, 21, 22, 23}); // two queries selected them
    CHECK(s.cache_is_right());
    CHECK(s.counts.promoted_rows == 4);
    CHECK(s.resolve_one(0, {20, 21, 22, 23}).valid == row_list{4});
    CHECK(s.counts.host_rows == 8); // no further miss
}

TEMPLATE_TEST_CASE("anchor_first keeps the rows of the earliest queries, keep_staged_none what is there", "[staging]", (staged<anchor_first>), (staged<anchor_first, source_planes, hashed, fifo>),
                   staged<keep_staged_none>) {
    TestType s(4, 4);
    s.resolve_one(0, {10, 11, 12, 13});
    const auto round = s.append({0}, {3});
    s.ask(round, {{20, 11}, {21, 20}, {10, 12, 13, 22}}); // 20 is the anchor's; 22 is as late as 10, 12 and 13
    CHECK(s.counts.staged_rows == 3);
    s.release(round);
    if (s.counts.promoted_rows == 0) {
        CHECK((std::is_same_v<TestType, staged<keep_staged_none>>));
        CHECK(s.hot_rows(0) == row_list{10, 11, 12, 13});
    } else {
        CHECK(s.counts.promoted_rows == 2);
        CHECK(s.hot_rows(0) == row_list{10, 11, 20, 21});
    }
    CHECK(s.cache_is_right());
}

TEST_CASE("a second release does nothing, nor does one of a round that stages nothing", "[staging]") {
    by_default s(8, 8);
    const auto round = s.append({0}, {2});
    s.ask(round, {range(0, 8), range(0, 8)});
    s.release(round);
    CHECK(s.counts.promoted_rows == 0);
    s.ask(round, {{8, 9, 0, 1}, {8, 9, 2, 3, 4, 5, 6, 7}});
    s.release(round);
    const auto rows = s.hot_rows(0);
    const std::vector<std::byte> slab(s.slab().begin(), s.slab().end());
    s.release(round);
    CHECK(s.hot_rows(0) == rows);
    CHECK(std::equal(slab.begin(), slab.end(), s.slab().begin()));
    CHECK(s.counts.promoted_rows == 2);
}

TEST_CASE("a Reindex releases the group's earlier announcement: the rows it used stay as recent entries", "[staging]") {
    by_default s(8, 8);
    const auto round = s.append({0}, {2});
    s.ask(round, {range(0, 8), range(4, 12)}); // 8 … 11 staged, selected once; as are 0 … 3
    CHECK(s.counts.staged_rows == 4);
    const std::vector<row_list> again{range(0, 8), range(100, 104)};
    const auto got = s.ask(round, again);
    CHECK(s.wrong(again, got) == 0);
    CHECK(s.counts.hot == 8);
    CHECK(s.counts.host_rows == 16);
    CHECK(s.hot_rows(0) == range(0, 8));
}

TEST_CASE("the arena passes from group to group, each time at the group's own locations", "[staging]") {
    staged<keep_staged_none> s(8, 8, 2, 3);
    const auto& first = s.layout.lanes()[0];
    const auto round = s.append({0, 1}, {2, 2});
    for (int g = 0; g < 3; ++g) {
        const std::vector<row_list> asked{range(0, 8), range(8, 16), range(0, 8), range(8, 16)};
        const auto got = s.ask(round, asked, g);
        for (int q = 0; q < 4; ++q)
            for (std::int32_t i = 0; i < 8; ++i) {
                const auto at = got.of(q)[static_cast<std::size_t>(i)];
                CHECK(s.holds(g, at, asked[static_cast<std::size_t>(q)][static_cast<std::size_t>(i)] + (q < 2 ? 0 : 1000)));
                if (q % 2 == 0) continue;
                CHECK(at == s.staged_at(i, q / 2, g));
                const auto& lane = s.layout.lanes()[static_cast<std::size_t>(s.layout.group(g).first_lane)];
                CHECK(lane.offset_bytes(at, 0) == first.offset_bytes(s.staged_at(i, q / 2, 0), 0)); // the same bytes
            }
    }
    CHECK(s.counts.staged_rows == 48);
    CHECK(s.layout.staging_bytes() == 2 * 2 * 8 * 128); // slots, lanes, rows
}

TEST_CASE("requests stage their own rows, however many the other ones stage", "[staging]") {
    by_default s(4, 8, 2);
    const std::vector<row_list> asked{{0, 1, 2, 3, 4}, {3, 4, 5}, range(40, 48), range(44, 52)};
    const auto got = s.ask(s.append({0, 1}, {2, 2}), asked);
    for (int q = 0; q < 4; ++q)
        for (std::size_t i = 0; i < asked[static_cast<std::size_t>(q)].size(); ++i)
            CHECK(s.holds(0, got.of(q)[i], asked[static_cast<std::size_t>(q)][i] + (q < 2 ? 0 : 1000)));
    CHECK(s.counts.staged_rows == 2 + 8);
    CHECK(got.of(0)[4] == s.staged_at(0, 0));
    CHECK(got.of(2)[4] == s.staged_at(0, 1));
}

TEST_CASE("a round that is dropped promotes nothing, whoever has its slot next", "[staging]") {
    by_default s(4, 4);
    s.resolve_one(0, {10, 11, 12, 13});
    s.ask(s.append({0}, {3}), {{20, 21}, {20, 21}, {10, 11, 12, 13}});
    s.close(0);
    s.open_on_host(0, 256, 256 / 4, 1000); // another request's rows, in other hot pages
    s.tables().records[0].frontier = 250;
    s.give_hot_pages(0, 2);
    const std::vector<std::byte> slab(s.slab().begin(), s.slab().end());
    const auto round = s.append({0});
    s.release(round);
    CHECK(std::equal(slab.begin(), slab.end(), s.slab().begin()));
    CHECK(s.hot_rows(0) == row_list(4, -1));
    s.commit(round);
    CHECK(s.counts.promoted_rows == 0);
}

TEST_CASE("rows that are invisible, unreachable or in mapped pages take no place in staging", "[staging]") {
    by_default s(4, 8, 2);
    s.map_host(0, 20, -1); // rows 80 to 83
    s.map(0, 10, 2);       // rows 40 to 43
    for (std::int32_t i = 0; i < 4; ++i) s.write(0, s.layout.group(0).at(gpu_page{2}, static_cast<std::uint32_t>(i)), 40 + i);
    const std::vector<row_list> asked{{0, 40, 1, 80, 2, 41, 3, 255}, {80, 4, -1, 5, 42, 4, 1, 254}};
    const auto got = s.ask(s.append({0}, {2}), asked);
    CHECK(got.valid == row_list{6, 5});
    CHECK(s.counts.staged_rows == 2);
    CHECK(got.of(1)[1] == s.staged_at(0));
    CHECK(got.of(1)[3] == s.staged_at(1));
    CHECK(got.of(1)[5] == s.staged_at(0));
    CHECK(s.count_of(violation::row_unreachable) == 2);
    CHECK(s.count_of(violation::row_out_of_range) == 2);
}

TEST_CASE("rows that are in mapped pages again give way before anything is staged", "[staging]") {
    by_default s(4, 4, 3);
    s.resolve_one(0, {40, 41, 42, 43}); // hot, then mapped as well
    s.map(0, 10, 2);
    for (std::int32_t i = 0; i < 4; ++i) s.write(0, s.layout.group(0).at(gpu_page{2}, static_cast<std::uint32_t>(i)), 40 + i);
    const auto round = s.append({0}, {3});
    s.ask(round, {{40, 41, 0, 1}, {40, 41, 2, 3}, {40, 41, 4, 4}}); // 0 to 3 take the entries, 4 is staged
    CHECK(s.counts.staged_rows == 1);
    s.release(round);
    CHECK(s.cache_is_right());
    CHECK(s.hot_rows(0) == row_list{0, 1, 2, 4}); // two entries of the selection named 4
}

TEST_CASE("a selection that its query may not see adds nothing to a row's worth", "[staging]") {
    by_default s(4, 4, 3);
    s.resolve_one(0, {10, 11, 12, 13});
    const auto round = s.append({0}, {3});
    const auto got = s.ask(round, {{252, 10, 11}, {252, 12, 13}, {252}}); // at positions 250, 251 and 252
    CHECK(got.valid == row_list{2, 2, 1});
    CHECK(got.of(2)[0] == s.staged_at(0));
    s.release(round);
    CHECK(s.hot_rows(0) == row_list{10, 11, 12, 13});
}

TEST_CASE("a staged row that was not promoted is missed again, and brought back again", "[staging]") {
    staged<keep_staged_none> s(4, 8, 2);
    for (const std::int32_t n_hosts : {8, 12}) {
        const std::vector<row_list> asked{range(0, 4), {4, 5, 6, 7, 4}};
        const auto got = s.ask(s.append({0}, {2}), asked);
        CHECK(s.wrong(asked, got) == 0);
        CHECK(s.counts.host_rows == static_cast<std::uint64_t>(n_hosts));
        for (const std::int32_t row : {4, 5, 6, 7}) CHECK(s.hot_index(0).find(row) == no_code);
    }
    CHECK(s.wrong({{6, 4}}, s.resolve_one(0, {6, 4})) == 0); // they find entries now
    CHECK(s.counts.host_rows == 14);
}

TEST_CASE("staging holds what the hot cache can't: max(0, K_max k - B) rows a slot and group", "[staging]") {
    const auto layout = [](int k_max, std::int64_t slots) {
        return page_layout::make<page_major>(dhisparse_test::glm_5_3(576), {.n_pages = 100, .hot_pages = 64, .k_max = k_max, .slots = slots});
    };
    CHECK(layout(8, 0).staging_bytes() == 0);
    CHECK(layout(2, 35).staging_bytes() == 0); // 4096 entries hold two queries
    const auto of_35 = layout(8, 35);
    CHECK(of_35.staged_rows_per_slot() == 8 * 2048 - 4096);
    CHECK(of_35.staging_bytes() == std::int64_t{35} * (8 * 2048 - 4096) * 4 * 576); // one arena, four lanes wide
    const auto planes = page_layout::make<source_planes>(dhisparse_test::glm_5_3(576), {.n_pages = 100, .hot_pages = 64, .k_max = 8, .slots = 35});
    CHECK(planes.staging_bytes() == std::int64_t{35} * (8 * 2048 - 4096) * 78 * 576); // each plane its own
}
