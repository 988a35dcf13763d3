// The per-slot tables: where their parts lie, how they start, how a run moves.
#include <dhisparse/policy/hot_index/dense.hpp>
#include <dhisparse/policy/hot_index/hashed.hpp>
#include <dhisparse/policy/layout/page_major.hpp>
#include <dhisparse/residency/slot_tables.hpp>

#include "catch.hpp"
#include "real_shapes.hpp"
#include "refusal.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

using namespace dhisparse;
using dhisparse_test::refusal;
using dhisparse_test::shape_of;

namespace {

page_layout make_layout(const model_shape& shape, std::int64_t hot_pages,
                        std::int64_t n_pages = 16) {
    return page_layout::make<page_major>(shape,
                                         {.n_pages = n_pages, .hot_pages = hot_pages, .k_max = 1});
}

/// Two groups with index keys, of one and two positions a row.
model_shape two_groups() {
    const source_shape row{.row_bytes = 576, .index_key_bytes = 64, .positions_per_row = 1};
    auto half = row;
    half.positions_per_row = 2;
    return shape_of(64, 32, {{row, 2}, {half, 1}});
}

/// Tables for three slots, of which each has a run.
template <class Index>
struct some_tables {
    page_layout layout = make_layout(two_groups(), 2);
    slot_table_layout sizes = slot_table_layout::make<Index>(layout, 3, 1 << 20);
    std::vector<std::byte> memory = std::vector<std::byte>(static_cast<std::size_t>(sizes.bytes()));
    slot_tables_ref at = sizes.at(memory.data());

    void open(std::int32_t slot, std::int32_t n_pages, std::int64_t run) {
        at.records[slot] = {};
        at.records[slot].live = 1;
        at.records[slot].n_pages = n_pages;
        at.records[slot].run_bytes = run;
        sizes.clear(at, slot);
    }
    typename Index::ref index(std::int32_t slot, int g) const {
        return Index::at(at.hot_index(slot, sizes.group(g)), sizes.group(g).codes);
    }
};

using extent = std::pair<const void*, std::int64_t>;

/// Every array of a slot as {start, bytes}.
template <class Index>
std::vector<extent> arrays_of(const some_tables<Index>& t, std::int32_t slot) {
    const auto pages = std::int64_t{t.at.records[slot].n_pages};
    std::vector<extent> out{{t.at.page_map(slot), 4 * pages},
                            {t.at.host_map(slot), 4 * pages},
                            {t.at.index_table(slot, 0), 4 * pages},
                            {t.at.index_table(slot, 1), 4 * pages},
                            {t.at.records + slot, 32},
                            {t.at.hot_pages + 2 * slot, 8},
                            {t.at.clocks + 2 * slot, 8}};
    for (int g = 0; g < 2; ++g) {
        const auto& group = t.sizes.group(g);
        const auto rows = pages * t.layout.group(g).rows_per_page.divisor;
        out.push_back({t.at.hot_index(slot, group),
                       rows * Index::bytes_per_row + Index::fixed_bytes(group.codes)});
        for (const void* state : {static_cast<const void*>(t.at.used(slot, group)),
                                  static_cast<const void*>(t.at.entered(slot, group)),
                                  static_cast<const void*>(t.at.rows(slot, group))})
            out.push_back({state, 4 * std::int64_t{group.entries}});
    }
    return out;
}

/// Numbers in every array of a run, so that a move that loses or mixes them is seen.
template <class Index>
void fill_run(const some_tables<Index>& t, std::int32_t slot, std::int32_t n_pages) {
    for (std::int32_t page = 0; page < n_pages; ++page) {
        t.at.page_map(slot)[page] = 100 + page;
        t.at.host_map(slot)[page] = 200 + page;
        for (int i = 0; i < 2; ++i)
            t.at.index_table(slot, i)[page] = 1000 * (i + 1) + page;
    }
    for (int g = 0; g < 2; ++g)
        for (std::int32_t row = g; row < n_pages * 32; row += 5)
            t.index(slot, g).set(row, static_cast<hot_code>(row % 60 + g));
}

template <class Index>
std::size_t differences_from_fill(const some_tables<Index>& t, std::int32_t slot,
                                  std::int32_t n_filled, std::int32_t n_pages) {
    std::size_t n = 0;
    for (std::int32_t page = 0; page < n_pages; ++page) {
        const bool filled = page < n_filled;
        n += t.at.page_map(slot)[page] != (filled ? 100 + page : -1);
        n += t.at.host_map(slot)[page] != (filled ? 200 + page : -1);
        for (int i = 0; i < 2; ++i)
            n += t.at.index_table(slot, i)[page] != (filled ? 1000 * (i + 1) + page : -1);
    }
    for (int g = 0; g < 2; ++g)
        for (std::int32_t row = 0; row < n_pages * 32; ++row) {
            const bool filled = row < n_filled * 32 && row % 5 == g;
            n += t.index(slot, g).find(row) != (filled ? row % 60 + g : no_code);
        }
    return n;
}

} // namespace

TEMPLATE_TEST_CASE(
    "the arrays of all slots are aligned, apart from each other and inside the tables",
    "[slot_tables]", dense, hashed) {
    some_tables<TestType> t;
    std::int64_t run = 0;
    for (std::int32_t slot = 0; slot < 3; ++slot) {
        const auto n_pages = 8 * (slot + 1);
        t.open(slot, n_pages, run);
        run += t.sizes.run_bytes(n_pages);
    }
    std::vector<extent> all;
    for (std::int32_t slot = 0; slot < 3; ++slot)
        for (const auto& array : arrays_of(t, slot))
            all.push_back(array);
    std::sort(all.begin(), all.end());
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto end = static_cast<const std::byte*>(all[i].first) + all[i].second;
        CHECK(end <= (i + 1 < all.size() ? all[i + 1].first : t.memory.data() + t.memory.size()));
        CHECK((static_cast<const std::byte*>(all[i].first) - t.memory.data()) % 4 == 0);
    }
    CHECK(all.front().first == t.memory.data());
}

TEMPLATE_TEST_CASE("a cleared slot maps nothing and its hot entries are empty", "[slot_tables]",
                   dense, hashed) {
    some_tables<TestType> t;
    std::memset(t.memory.data(), 0x5A, t.memory.size());
    t.open(1, 16, 4096);
    CHECK(differences_from_fill(t, 1, 0, 16) == 0);
    for (int g = 0; g < 2; ++g) {
        const auto& group = t.sizes.group(g);
        CHECK(t.at.clocks[2 + g] == 0);
        CHECK(std::all_of(t.at.used(1, group), t.at.used(1, group) + group.entries,
                          [](stamp s) { return s == 0; }));
        CHECK(std::all_of(t.at.entered(1, group), t.at.entered(1, group) + group.entries,
                          [](stamp s) { return s == 0; }));
        CHECK(std::all_of(t.at.rows(1, group), t.at.rows(1, group) + group.entries,
                          [](std::int32_t r) { return r == -1; }));
    }
}

TEMPLATE_TEST_CASE("clearing a slot leaves the others' bytes alone", "[slot_tables]", dense,
                   hashed) {
    some_tables<TestType> t;
    std::memset(t.memory.data(), 0x5A, t.memory.size());
    const auto run = t.sizes.run_bytes(8);
    t.open(1, 8, run);
    const auto untouched = [&](const void* from, std::int64_t bytes) {
        const auto* first = static_cast<const std::byte*>(from);
        return std::all_of(first, first + bytes, [](std::byte b) { return b == std::byte{0x5A}; });
    };
    CHECK(untouched(t.at.region, run));
    CHECK(untouched(t.at.region + 2 * run, run));
    for (const int slot : {0, 2}) {
        CHECK(untouched(t.at.clocks + 2 * slot, 8));
        CHECK(untouched(t.at.used(slot, t.sizes.group(0)), 4 * t.at.entries_per_slot));
        CHECK(untouched(t.at.rows(slot, t.sizes.group(0)), 4 * t.at.entries_per_slot));
    }
}

TEMPLATE_TEST_CASE("a run that moves keeps every table, and what it gains is empty",
                   "[slot_tables]", dense, hashed) {
    some_tables<TestType> t;
    const auto n_pages = GENERATE(16, 24, 80);
    std::memset(t.memory.data(), 0x5A, t.memory.size());
    t.open(2, 8, 0);
    fill_run(t, 2, 8);
    t.sizes.move_run(t.at, 2, n_pages, t.sizes.run_bytes(8));
    CHECK(t.at.records[2].n_pages == n_pages);
    CHECK(t.at.records[2].run_bytes == t.sizes.run_bytes(8));
    CHECK(differences_from_fill(t, 2, 8, n_pages) == 0);
}

// Hot caches don't grow; a slot's run does, when its reserved length is raised.
TEMPLATE_TEST_CASE("RM-04: an index whose run has moved takes rows of the grown range",
                   "[slot_tables]", dense, hashed) {
    some_tables<TestType> t;
    t.open(0, 8, 0);
    fill_run(t, 0, 8);
    t.sizes.move_run(t.at, 0, 16, t.sizes.run_bytes(8));
    t.index(0, 0).set(16 * 64 - 1, 77);
    CHECK(t.index(0, 0).find(16 * 64 - 1) == 77);
    t.index(0, 0).erase(16 * 64 - 1);
    CHECK(differences_from_fill(t, 0, 8, 16) == 0);
}

TEST_CASE("a slot gets whole multiples of eight page-map entries", "[slot_tables]") {
    const auto sizes = slot_table_layout::make<dense>(make_layout(two_groups(), 2), 3, 0);
    CHECK(sizes.pages_for(0) == 8);
    CHECK(sizes.pages_for(1) == 8);
    CHECK(sizes.pages_for(512) == 8);
    CHECK(sizes.pages_for(513) == 16);
    CHECK(sizes.pages_for(100'032) == 1'568);
    CHECK(sizes.run_bytes(8) % 16 == 0);
}

TEST_CASE("tables for too many slots or positions are refused", "[slot_tables]") {
    const auto layout = make_layout(two_groups(), 2);
    CHECK(refusal([&] { slot_table_layout::make<dense>(layout, 0, 0); }) ==
          "slots is 0, permitted: 1 to 1048576");
    const auto sizes = slot_table_layout::make<dense>(layout, 1, 0);
    CHECK_FALSE(refusal([&] { (void)sizes.pages_for(std::int64_t{1} << 40); }).empty());
}

TEST_CASE("entries and codes are those of the hot pages and of one round's selections",
          "[slot_tables]") {
    const auto sizes = slot_table_layout::make<dense>(make_layout(two_groups(), 2), 3, 0);
    CHECK(sizes.group(0).entries == 128);
    CHECK(sizes.group(0).codes == 128 + 32);
    CHECK(sizes.group(1).entries == 64);
    CHECK(sizes.group(1).first_entry == 128);
}

TEST_CASE("each group's entries start at a multiple of four, so that four stamps are one load",
          "[slot_tables]") {
    const source_shape row{.row_bytes = 128};
    const auto layout =
        make_layout(shape_of(3, 4, {{row, 1}, {row, 1}, {row, 1}}), 3); // nine entries a group
    const auto sizes = slot_table_layout::make<hashed>(layout, 2, 0);
    for (int g = 0; g < 3; ++g)
        CHECK(sizes.group(g).first_entry == 12 * g);
    std::vector<std::byte> memory(static_cast<std::size_t>(sizes.bytes()));
    CHECK(sizes.at(memory.data()).entries_per_slot == 36);
}

TEMPLATE_TEST_CASE("the parts of a run tile it, before and after it moves", "[slot_tables]", dense,
                   hashed) {
    const some_tables<TestType> t;
    const auto shape = t.sizes.shape(t.sizes.groups().data());
    CHECK(shape.n_parts() == 2 + 2 + 2); // maps, index tables, hot indexes
    for (const std::int32_t to_pages : {8, 24}) {
        std::int64_t from = 0, to = 0;
        for (std::int32_t i = 0; i < shape.n_parts(); ++i) {
            const auto part = shape.part_of(i, 8, to_pages),
                       whole = shape.part_of(i, to_pages, to_pages);
            CHECK(part.from == from);
            CHECK(part.to == to);
            CHECK(part.bytes <= whole.bytes);
            from += part.bytes;
            to += whole.bytes;
        }
        CHECK(from == t.sizes.run_bytes(8));
        CHECK(to == t.sizes.run_bytes(to_pages));
        CHECK(shape.bytes(to_pages) == to);
    }
}

TEST_CASE("only a slot in range that has a request is live", "[slot_tables]") {
    some_tables<dense> t;
    t.open(1, 8, 0);
    CHECK(t.at.live(1));
    for (const std::int32_t slot : {-2, -1, 0, 2, 3, INT32_MAX, INT32_MIN})
        CHECK_FALSE(t.at.live(slot));
}

TEST_CASE("metadata takes at most 1.6 % of what a session of GLM-5.3 requires", "[slot_tables]") {
    constexpr std::int64_t positions = 100'032;
    const auto layout = make_layout(dhisparse_test::glm_5_3(576), 64, 100'000);
    const auto sizes = slot_table_layout::make<dense>(layout, 1, 0);
    const auto metadata = sizes.bytes() + sizes.run_bytes(sizes.pages_for(positions));
    const auto index_pages = ceil_div(ceil_div<std::int64_t>(positions, 64) * 21,
                                      std::int64_t{layout.index().blocks_per_page});
    const auto required =
        (64 + index_pages + 1) * layout.page_bytes(); // hot, index keys, one tail page
    CHECK(1000 * metadata <= 16 * required);
    const auto hash = slot_table_layout::make<hashed>(layout, 1, 0);
    CHECK(hash.run_bytes(hash.pages_for(positions)) < sizes.run_bytes(sizes.pages_for(positions)));
}
