// view(), row(), location_of() and index tables say where rows and keys lie, in both layouts.
#include <dhisparse/plan/planner.hpp>
#include <dhisparse/preset/models.hpp>

#include "catch.hpp"
#include "engine.hpp"
#include "refusal.hpp"

using namespace dhisparse_test;

namespace {

/// Two groups of different widths, one with runs; layer 5 has no source and reads group 1 through its own announcement.
dh::hierarchy_config two_groups() {
    dh::hierarchy_config config;
    auto& shape = config.shape;
    shape = {.name = "two groups", .layers = 6, .k = 4, .page_positions = 16};
    const std::vector<dh::row_run> runs{{0, 24, 24}, {8 * 24, 8, 8}};
    for (const int layer : {0, 1, 2}) shape.sources.push_back({.layer = layer, .row_bytes = 64, .index_key_bytes = 8});
    for (const int layer : {3, 4}) shape.sources.push_back({.layer = layer, .row_bytes = 32, .positions_per_row = 2, .runs = runs});
    shape.groups = {{0, 1, 2}, {3, 4}};
    shape.announcements = {{0, 0, {0, 1, 2}}, {3, 1, {3, 4}}, {5, 1, {4, 5}}};
    config.pool_pages = 30;
    config.host_pages = 40;
    config.slots = 2;
    config.hot_pages = 1;
    return config;
}

} // namespace

TEST_CASE("views lie in the slab, and a location is the same row for view and row()", "[hierarchy]") {
    const int combination = GENERATE(0, 1);
    CAPTURE(combination);
    engine e(two_groups(), combination);
    const auto* slab = e.it->tiers().slab;
    const auto slab_bytes = e.it->layout().slab_bytes();
    std::set<const std::byte*> seen;
    for (const int layer : {0, 1, 2, 3, 4}) {
        const auto view = e.it->view(layer);
        CHECK(reinterpret_cast<std::uintptr_t>(view.base) % 16 == 0);
        CHECK(view.base + view.n_blocks * view.block_stride_bytes <= slab + slab_bytes);
        for (int page = 0; page < 30; ++page)
            for (int t = 0; t < 16; ++t) {
                const auto at = e.it->location_of(layer, dh::gpu_page{page}, t);
                REQUIRE(at >= 0);
                REQUIRE(at < view.rows);
                const auto* row = e.it->row(layer, at, 0);
                REQUIRE(row >= slab);
                REQUIRE(row + (layer < 3 ? 64 : 24) <= slab + slab_bytes);
                if (layer < 3) REQUIRE(row == view.base + std::int64_t{at} * view.row_bytes); // packed: flat rows
                else REQUIRE(row == view.base + at / view.rows_per_block * view.block_stride_bytes + at % view.rows_per_block * 24);
                if (layer >= 3) REQUIRE(e.it->row(layer, at, 1) == view.base + at / view.rows_per_block * view.block_stride_bytes + 192 + at % view.rows_per_block * 8);
                const int m = layer < 3 ? 1 : 2;
                REQUIRE(seen.insert(row).second == (t % m == 0)); // no two rows share bytes
            }
    }
}

TEST_CASE("PP-01 every layer's rows keep their own bytes", "[hierarchy]") {
    const int combination = GENERATE(0, 1);
    CAPTURE(combination);
    auto config = plain_config({.page_positions = 4, .k = 4, .lanes = 3});
    engine e(config, combination);
    const auto pattern = [](int layer, int page, int row) { return layer * 1000 + page * 10 + row; };
    const auto each = [&](auto body) {
        for (int layer = 0; layer < 3; ++layer)
            for (int page = 0; page < 64; ++page)
                for (int row = 0; row < 4; ++row) body(e.it->view(layer).base + std::int64_t{e.it->location_of(layer, dh::gpu_page{page}, row)} * 128, pattern(layer, page, row));
    };
    each([](std::byte* at, int value) { for (int i = 0; i < 128; i += 4) std::memcpy(at + i, &value, 4); });
    each([](const std::byte* at, int value) {
        for (int i = 0; i < 128; i += 4) {
            int got = 0;
            std::memcpy(&got, at + i, 4);
            REQUIRE(got == value);
        }
    });
}

TEST_CASE("a layer without a source reads the first lane of the group that it announces for", "[hierarchy]") {
    engine e(two_groups());
    CHECK(e.it->view(5).base == e.it->view(3).base);
    CHECK(e.it->view(4).base != e.it->view(3).base);
    CHECK_THROWS_AS(e.it->row(5, 0, 0), dh::invalid_argument);
}

TEST_CASE("appended locations and index blocks are those of the mapped pages", "[hierarchy]") {
    auto config = two_groups();
    config.max_positions = 2000;
    dh::hierarchy<> kv(config);
    const auto slot = kv.try_admit({0, 400}).value();
    kv.finish_import(slot);
    kv.advance({}, {}, {});
    std::set<std::int32_t> blocks;
    for (int t = 0; t < 100; ++t) {
        const std::int32_t s = slot.index;
        const auto round = kv.append({}, {&s, nullptr, 1});
        const auto page = kv.ledger().page_table(slot)[static_cast<std::size_t>(t / 16)];
        CHECK(round.group_locations(0)[0] == kv.location_of(0, page, t % 16));
        CHECK(round.group_locations(1)[0] == kv.location_of(3, page, t % 16));
        for (int i = 0; i < 3; ++i) {
            CHECK(round.source_blocks(i)[0] == kv.index_table(slot, i)[t / 16]);
            blocks.insert(round.source_blocks(i)[0]);
        }
        kv.commit({}, round);
        CHECK(kv.frontier(slot) == t + 1);
        const auto done = kv.completed();
        kv.advance({}, std::vector(done.begin(), done.end()), std::vector<dh::frontier_report>{{slot, t + 1}});
    }
    CHECK(blocks.size() == 3 * 7); // a block for each page of positions and source
}

TEST_CASE("a resident hierarchy keeps every row on the GPU", "[hierarchy]") {
    const int combination = GENERATE(range(0, 8));
    CAPTURE(combination);
    auto config = two_groups();
    config.host_pages = config.hot_pages = 0;
    engine e(config, combination);
    CHECK(e.it->tiers().host == nullptr);
    const auto slot = e.start(100, 60);
    const auto other = e.start(33, 30);
    e.decode(slot, 60);
    e.decode(other, 30);
    e.check_history(slot);
    e.check_history(other);
    const auto& counts = e.it->counts();
    CHECK(counts.hot + counts.host + counts.backed_up_rows == 0);
    CHECK(counts.selected == counts.tail + counts.history);
    CHECK(e.pages().optional == 0);
    CHECK(e.it->copier().n_held() == 0);
}

TEST_CASE("both layouts give the same rows from the same tiers", "[hierarchy]") {
    auto config = two_groups();
    config.reserve_pages = config.pool_pages;
    engine paged(config, 0), planes(config, 1);
    for (auto* e : {&paged, &planes}) {
        const auto slot = e->start(70, 50);
        e->decode(slot, 50);
        e->check_history(slot);
        e->check_history(slot);
    }
    const auto &a = paged.it->counts(), &b = planes.it->counts();
    CHECK(a.hot == b.hot);
    CHECK(a.host == b.host);
    CHECK(a.host_bytes == b.host_bytes);
    CHECK(a.host > 0);
}

TEST_CASE("PL-12 a pipeline stage finds its layers by the model's numbers", "[hierarchy]") {
    const int combination = GENERATE(0, 1);
    const auto shape = dh::plan::with_row_bytes(dh::preset::glm_5_3(), 144).slice({30, 30});
    engine e({.shape = shape, .pool_pages = 60, .host_pages = 4, .slots = 1, .hot_pages = 32}, combination);
    for (int layer = 30; layer < 60; ++layer) CHECK(e.it->view(layer).base == e.it->row(layer, 0, 0));
    std::set<const std::byte*> bases;
    for (int layer = 30; layer < 60; ++layer) bases.insert(e.it->view(layer).base);
    CHECK(bases.size() == 30);
    for (const int layer : {10, 29, 60}) CHECK(refusal([&] { (void)e.it->view(layer); }) == dh::text("layer ", layer, " reads no source of this shape"));
}

TEST_CASE("a step resolves once an announcement and fetches each lane once", "[hierarchy]") {
    const auto [name, row_bytes, calls, followers] =
        GENERATE(table<std::string, int, int, int>({{"deepseek-v4.1-flash", 288, 8, 0}, {"glm-5.3", 16, 21, 57}}));
    CAPTURE(name);
    const auto shape = dh::plan::with_row_bytes(dh::preset::named(name), row_bytes);
    CHECK(dh::resolver_calls(shape) == calls);
    CHECK(dh::follower_lanes(shape) == followers);
    dh::hierarchy_config config{.shape = shape, .pool_pages = 80, .host_pages = 16, .slots = 1, .hot_pages = 32};
    config.reserve_pages = config.pool_pages; // nothing stays on the GPU but the tail
    engine e(config);
    const auto slot = e.start(130, 20);
    const auto round = e.append(slot, 1);
    std::vector<dh::location> at(64);
    int n = 0;
    for (const auto& said : shape.announcements) { // each chooses a row that none has chosen
        const std::int32_t row = n++;
        e.it->resolve(round, said, {&row, 1, 1}, {at.data(), 64, 64});
        CHECK(at[0] >= 0);
        CHECK(at[1] == -1);
    }
    dh::stamp resolves = 0; // as the groups' clocks count them
    for (int g = 0; g < e.it->layout().n_groups(); ++g) resolves += e.it->tables().clocks[slot.index * e.it->layout().n_groups() + g];
    CHECK(resolves == static_cast<dh::stamp>(calls));
    CHECK(e.it->counts().host_rows == static_cast<std::uint64_t>(calls));
    CHECK(e.it->counts().host_bytes == static_cast<std::uint64_t>(row_bytes * (calls + followers)));
}

TEST_CASE("a Reindex passes on what the announcement before it staged, and a Reuse reads at its locations", "[hierarchy]") {
    dh::hierarchy_config config{.shape = dh::preset::deepseek_v4_1_flash(), .pool_pages = 40, .host_pages = 40, .slots = 1, .hot_pages = 4};
    config.reserve_pages = config.pool_pages;
    engine e(config);
    const auto slot = e.start(2048, 20);
    const auto round = e.append(slot, 1);
    constexpr int selected = 300, entries = 4 * 64;
    REQUIRE(e.it->group_tables(3).entries == entries);
    std::vector<std::int32_t> rows(selected), at(512);
    int n = 0;
    for (const auto& said : e.it->layout().shape().announcements) {
        if (said.group != 3) continue;
        std::iota(rows.begin(), rows.end(), selected * n++);
        e.it->resolve(round, said, {rows.data(), selected, selected}, {at.data(), 512, 512});
        CHECK(e.it->counts().staged_rows == static_cast<std::uint64_t>(n * (selected - entries))); // else an earlier announcement's rows would still be in the way
        for (const int layer : said.consumers) {
            CHECK(e.it->view(layer).base == e.it->view(20).base);
            for (int i = 0; i < selected; ++i) {
                const auto wanted = e.row_bytes(slot, 3, 0, rows[static_cast<std::size_t>(i)]);
                const auto* got = e.it->view(layer).base + std::int64_t{at[static_cast<std::size_t>(i)]} * 288;
                REQUIRE(std::equal(wanted.begin(), wanted.end(), got));
            }
        }
    }
    CHECK(n == 5);
    CHECK(e.it->tables().clocks[slot.index * 4 + 3] == 5); // 20 layers read, five resolves
}
