// Growth: pages mapped ahead, stalls, host pages that lack, extending.
#include "catch.hpp"
#include "engine.hpp"
#include "ledger_rig.hpp"
#include "refusal.hpp"

using namespace dhisparse_test;

TEST_CASE("positions are mapped ahead for the steps in flight and the next", "[ledger]") {
    const int steps_ahead = GENERATE(0, 1, 2), k_max = GENERATE(1, 3);
    CAPTURE(steps_ahead, k_max);
    auto config = plain_config();
    config.steps_ahead = steps_ahead;
    config.k_max = k_max;
    config.hot_pages = k_max;
    engine e(config);
    const auto slot = e.start(5, 40);
    for (int n = 5; n < 45; ++n) {
        const int last = std::min(n + (steps_ahead + 1) * k_max, 45) - 1;
        for (int t = n; t <= last; ++t) CHECK(e.page_map(slot, t / 4) >= 0);
        e.round(slot);
        CHECK(e.advance().stalled.empty());
    }
}

TEST_CASE("ST-08 the next page is mapped before a round whose rows reach it", "[ledger]") {
    for (int n = 12; n <= 16; ++n) {
        CAPTURE(n);
        auto config = plain_config({.page_positions = 16, .k = 4});
        config.k_max = 4;
        config.steps_ahead = 0;
        engine e(config);
        const auto slot = e.start(n, 40);
        CHECK((e.page_map(slot, 1) >= 0) == (n >= 13));
        const auto round = e.append(slot, 4);
        for (int j = 0; j < 4; ++j) CHECK(round.group_locations(0)[j] >= 0);
        CHECK(e.it->counts().count_of(dh::violation::position_not_mapped) == 0);
    }
}

TEST_CASE("a slot that cannot grow stalls, without an error, and goes on once pages come back", "[ledger]") {
    ledger_rig rig({.pool_pages = 7, .host_pages = 0, .hot_pages = 0, .steps_ahead = 0});
    const auto one = rig.start(12, 8), other = rig.start(11, 20); // four pages and three
    const ledger_state full(rig.it);
    CHECK(full.pages.free == 0);
    const auto& plan = rig.advance({{other, 12}});
    CHECK(stalled(plan) == std::vector{other});
    CHECK_FALSE(plan.edits.empty()); // the full page has become history
    CHECK(number(rig.it.page_table(other)[3]) == -1);
    rig.it.finish(one);
    CHECK(stalled(rig.advance()) == std::vector{other}); // the fence has not passed
    CHECK(rig.advance().stalled.empty());
    CHECK(number(rig.it.page_table(other)[3]) >= 0);
}

TEST_CASE("a page that gets no host space stays required and becomes durable later by a whole copy", "[ledger]") {
    auto config = plain_config();
    config.host_pages = 4;
    config.slots = 2;
    config.reserve_pages = config.pool_pages;
    engine e(config);
    const auto one = e.start(4, 40), other = e.start(4, 0);
    REQUIRE(e.ledger().free_host_pages() == 1);
    e.decode(one, 8); // pages 2 and 3 are mapped; only one of them gets a host page
    CHECK(e.host_map(one, 2) >= 0);
    CHECK(e.host_map(one, 3) == -1);
    const auto required = e.pages().required;
    e.decode(one, 4);
    CHECK(e.page_map(one, 3) >= 0);
    CHECK(e.ledger().durable_positions(one) == 12);
    e.decode(one, 8);
    CHECK(e.pages().required > required); // more such pages than its tail has
    CHECK(e.page_map(one, 3) >= 0);
    e.check_history(one); // they are read from the GPU
    e.finish(other);
    e.advance();
    e.decode(one, 1); // a frontier comes in after the host page has come back
    CHECK(e.host_map(one, 3) >= 0);
    e.decode(one, 1);
    CHECK(e.host_row_is_there(one, 12));
    CHECK(e.page_map(one, 3) == -1);
    CHECK(e.ledger().durable_positions(one) == 16);
    e.check_history(one);
}

TEST_CASE("CR-06 rows accepted without host space stay readable on the GPU", "[ledger]") {
    auto config = plain_config();
    config.host_pages = 2;
    config.slots = 1;
    engine e(config);
    const auto slot = e.start(4, 60);
    for (int i = 0; i < 40; ++i) {
        e.round(slot);
        CHECK(e.advance().stalled.empty());
    }
    CHECK(e.frontier(slot) == 44);
    e.check_history(slot);
    CHECK(e.it->counts().count_of(dh::violation::row_unreachable) == 0);
}

TEST_CASE("try_extend moves a run and keeps the map, the index tables and the hot index", "[ledger]") {
    const int combination = GENERATE(range(0, 8));
    CAPTURE(combination);
    auto config = plain_config({.page_positions = 4, .k = 4, .lanes = 2, .row_bytes = 32, .index_key_bytes = 4});
    config.reserve_pages = config.pool_pages;
    engine e(config, combination);
    const auto slot = e.start(24, 4);
    const auto hot = e.look_up(slot, {3, 9, 14, 20});
    const auto& tables = e.it->tables();
    const auto maps = [&](int n) { return std::vector<std::int32_t>(tables.page_map(slot.index), tables.page_map(slot.index) + n); };
    const auto hosts = [&](int n) { return std::vector<std::int32_t>(tables.host_map(slot.index), tables.host_map(slot.index) + n); };
    const auto blocks = [&](int i, int n) { return std::vector<std::int32_t>(tables.index_table(slot.index, i), tables.index_table(slot.index, i) + n); };
    const auto map = maps(8), host = hosts(8), first = blocks(0, 7), second = blocks(1, 7);
    const auto run = tables.records[slot.index].run_bytes;
    REQUIRE(e.it->try_extend(slot, 100));
    e.advance();
    REQUIRE(tables.records[slot.index].run_bytes != run);
    CHECK(tables.records[slot.index].n_pages == 32);
    CHECK(tables.records[slot.index].positions == 100);
    CHECK(maps(7) == std::vector(map.begin(), map.begin() + 7));
    CHECK(hosts(7) == std::vector(host.begin(), host.begin() + 7));
    CHECK(blocks(0, 7) == first);
    CHECK(blocks(1, 7) == second);
    const auto fetched = e.it->counts().host;
    CHECK(e.look_up(slot, {3, 9, 14, 20}) == hot);
    CHECK(e.it->counts().host == fetched);
    e.decode(slot, 70);
    for (int page = 0; page <= e.frontier(slot) / 4; ++page)
        for (int i = 0; i < 2; ++i) CHECK(blocks(i, 25)[static_cast<std::size_t>(page)] >= 0);
    e.check_history(slot);
}

TEST_CASE("index blocks beyond the entries of a shorter table are there once it is extended", "[ledger]") {
    auto config = plain_config({.page_positions = 4, .k = 4, .row_bytes = 64, .index_key_bytes = 4});
    engine e(config);
    REQUIRE(e.it->layout().index().blocks_per_page >= 16); // one index page serves more than the eight pages of a short run
    const auto slot = e.start(20, 4);
    REQUIRE(e.it->try_extend(slot, 60));
    e.advance();
    e.decode(slot, 38);
    const auto* table = e.it->tables().index_table(slot.index, 0);
    std::set<std::int32_t> blocks(table, table + 15);
    CHECK(blocks.size() == 15);
    CHECK(*blocks.begin() >= 0);
}

TEST_CASE("try_extend to no more than is reserved changes nothing, and without metadata it is refused", "[ledger]") {
    ledger_rig rig({.metadata_runs = 3});
    const auto slot = rig.start(4, 20);
    CHECK(rig.it.try_extend(slot, 10));
    CHECK(rig.it.try_extend(slot, 24));
    CHECK(rig.advance().edits.empty());
    CHECK(rig.it.try_extend(slot, 30)); // the run is long enough
    CHECK_FALSE(rig.it.try_extend(slot, 1000));
    const auto& plan = rig.advance();
    REQUIRE(plan.edits.size() == 1);
    CHECK(plan.edits[0] == dh::edit{dh::edit::kind::positions, slot.index, 0, 30});
    CHECK(rig.it.try_extend(slot, 64)); // two more runs: the old one is given back
    CHECK(rig.fits(0, 32).answer == dh::verdict::now);
    CHECK(refusal([&] { (void)rig.it.try_extend(slot, -1); }) == "try_extend: positions is -1, permitted: 0 to 1073741824");
}
