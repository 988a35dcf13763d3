// Park and resume, prefixes, leases, growth that needs room.
#include "catch.hpp"
#include "engine.hpp"
#include "ledger_rig.hpp"
#include "refusal.hpp"

#include <dhisparse/policy/growth/reserved.hpp>

using namespace dhisparse_test;
using dh::verdict;

namespace {

plain_shape_options with_keys() { return {.page_positions = 4, .k = 4, .lanes = 2, .row_bytes = 32, .index_key_bytes = 4}; }

/// Every index block that a slot's committed positions use gets bytes of its own.
std::vector<std::byte*> key_blocks(engine& e, dh::slot_id slot) {
    std::vector<std::byte*> out;
    for (int i = 0; i < e.it->layout().index().n_sources; ++i)
        for (int page = 0; page < (e.frontier(slot) + 3) / 4; ++page)
            out.push_back(e.it->index_base() + e.it->tables().index_table(slot.index, i)[page] * e.it->layout().index().pitch_bytes);
    return out;
}
std::byte key_of(std::size_t i) { return static_cast<std::byte>(i * 37 + 11); }

} // namespace

TEST_CASE("BK-09 a parked request comes back whole: rows, partial page, index keys, frontier", "[ledger]") {
    const int combination = GENERATE(range(0, 8));
    CAPTURE(combination);
    auto config = plain_config(with_keys());
    engine e(config, combination);
    const auto slot = e.start(21, 40);
    e.decode(slot, 10);
    const auto blocks = key_blocks(e, slot);
    for (std::size_t i = 0; i < blocks.size(); ++i) *blocks[i] = key_of(i);
    const auto n = e.frontier(slot);
    REQUIRE(n % 4 == 3);
    REQUIRE(e.it->park(slot));
    CHECK_FALSE(e.it->park(slot)); // it is
    for (int i = 0; i < 4; ++i) e.advance(e.completed(), {}), e.it->copier().release_all();
    CHECK(e.ledger().parked(slot));
    CHECK(e.pages().free == 64);
    CHECK_FALSE(e.it->tables().live(slot.index));
    std::memset(e.it->tiers().slab, 0xDD, static_cast<std::size_t>(e.it->layout().slab_bytes())); // what was on the GPU is gone
    REQUIRE(e.it->try_resume(slot));
    CHECK_FALSE(e.ledger().running(slot));
    e.advance({}, {});
    CHECK_FALSE(e.it->tables().live(slot.index)); // until its copies are done
    e.it->copier().release_all();
    e.advance(e.completed(), {});
    CHECK(e.ledger().running(slot));
    CHECK(e.frontier(slot) == n);
    const auto after = key_blocks(e, slot);
    for (std::size_t i = 0; i < after.size(); ++i) REQUIRE(*after[i] == key_of(i));
    e.check_history(slot);
    e.decode(slot, 12);
    e.check_history(slot);
    e.finish(slot);
    for (int i = 0; i < 3; ++i) e.advance();
    CHECK(e.pages().free == 64);
    CHECK(e.ledger().free_host_pages() == 64);
}

TEST_CASE("BK-05 BK-06 pages of a parked request are nobody's until its copies are done; it is not resumed before", "[ledger]") {
    auto config = plain_config();
    config.pool_pages = 16;
    engine e(config);
    const auto a = e.start(34, 20);
    REQUIRE(e.it->park(a));
    e.advance(e.completed(), {});
    const auto held = e.it->copier().n_held();
    REQUIRE(held > 0);
    e.advance(e.completed(), {});
    CHECK(e.pages().leaving + e.pages().reclaiming >= static_cast<int>(held));
    CHECK(e.ledger().fits_resume(a) == dh::fit{verdict::later, 0, "copies"});
    CHECK_FALSE(e.it->try_resume(a));
    const auto b = e.start(9, 20); // advances, and lets the copies happen
    e.decode(b, 8);
    e.check_history(b);
    for (int i = 0; i < 3; ++i) e.advance();
    REQUIRE(e.it->try_resume(a));
    for (int i = 0; i < 3; ++i) e.advance();
    e.check_history(a);
    e.check_history(b);
}

TEST_CASE("a step launched before a park reports its frontier, and the request goes on from there", "[ledger]") {
    engine e(plain_config());
    const auto slot = e.start(10, 20);
    e.round(slot); // a step in flight
    REQUIRE(e.it->park(slot));
    e.round(slot); // and one more before the plan
    e.advance({}, {{slot, 11}});
    CHECK(e.append(slot, 1).slots[0] == -1); // from here on a round leaves it out
    e.it->copier().release_all();
    e.advance(e.completed(), {{slot, 12}});
    for (int i = 0; i < 2; ++i) e.advance(e.completed(), {});
    REQUIRE(e.it->try_resume(slot));
    CHECK(refusal([&] { e.advance({}, {{slot, 13}}); }) == "advance: frontier of slot 0 is 13, permitted: 12 to 12");
    for (int i = 0; i < 3; ++i) {
        e.it->copier().release_all();
        e.advance(e.completed(), {});
    }
    CHECK(e.frontier(slot) == 12);
}

TEST_CASE("a request that imports may be parked: what has landed is kept, the rest is asked for again", "[ledger]") {
    auto config = plain_config(with_keys());
    config.reserve_pages = GENERATE(0, 64);
    engine e(config);
    const auto slot = e.admit(21, 8);
    e.advance();
    const auto given = e.it->import_pages(slot, 0, 2);
    REQUIRE(given.size() == 2);
    e.write_page(slot, 0, given[0]);
    e.it->landed(slot, 0, 1);
    const auto last = e.it->import_pages(slot, 5, 1); // the boundary page
    e.write_page(slot, 5, last[0]);
    e.it->landed(slot, 5, 1);
    REQUIRE(e.it->park(slot));
    for (int i = 0; i < 4; ++i) e.advance();
    REQUIRE(e.pages().free == 64);
    REQUIRE(e.it->try_resume(slot));
    for (int i = 0; i < 3; ++i) e.advance();
    REQUIRE(e.ledger().importing(slot));
    for (int page = 1; page < 5; ++page) {
        for (int i = 0; e.it->import_pages(slot, page, 1).empty() && i < 5; ++i) e.advance();
        e.write_page(slot, page, e.it->import_pages(slot, page, 1)[0]);
        e.it->landed(slot, page, 1);
    }
    e.it->finish_import(slot);
    e.advance();
    CHECK(e.frontier(slot) == 21);
    e.check_history(slot);
}

TEST_CASE("park is refused where the host tier has no room for what has no copy, and nothing changes", "[ledger]") {
    SECTION("no host tier") {
        ledger_rig rig({.host_pages = 0});
        const auto slot = rig.start(9, 9);
        const ledger_state before(rig.it);
        CHECK_FALSE(rig.it.park(slot));
        CHECK(ledger_state(rig.it) == before);
    }
    SECTION("no host pages for index keys") {
        ledger_rig rig({.host_pages = 4, .shape = with_keys()});
        const auto slot = rig.start(14, 2);
        REQUIRE(rig.it.free_host_pages() == 0);
        const ledger_state before(rig.it);
        CHECK_FALSE(rig.it.park(slot));
        CHECK(ledger_state(rig.it) == before);
        CHECK(rig.advance() == dh::step_plan{});
    }
}

TEST_CASE("AD-10 a request parked in its last step shows its pages, or that it is parked, when it ends", "[ledger]") {
    engine e(plain_config());
    const auto slot = e.start(10, 4);
    e.decode(slot, 4);
    const auto pages = e.ledger().page_table(slot);
    CHECK(number(pages[3]) >= 0);
    REQUIRE(e.it->park(slot));
    CHECK_FALSE(e.ledger().running(slot));
    const bool at_once = GENERATE(true, false);
    for (int i = 0; !at_once && i < 4; ++i) e.advance();
    CHECK(e.ledger().parked(slot) == !at_once);
    e.finish(slot);
    for (int i = 0; i < 3; ++i) e.advance();
    CHECK(e.pages().free == 64);
    CHECK(e.ledger().free_host_pages() == 64);
}

TEST_CASE("growth takes optional history page by page, then names the youngest to park", "[ledger]") {
    ledger_rig rig({.pool_pages = 16, .host_pages = 200, .slots = 3, .shape = {.row_bytes = 32, .index_key_bytes = 32}}); // an index page a page
    const auto a = rig.start(8, 100), b = rig.start(4, 4); // 1 + 3 + 3 and 1 + 3 + 2 required, some history
    int n = 8;
    REQUIRE(rig.it.pages().optional > 0);
    auto plan = rig.advance();
    while (plan.stalled.empty()) plan = rig.advance({{a, ++n}});
    CHECK(plan.stalled[0] == dh::stall{a, dh::stall::until::pages_come});
    const auto optional = rig.it.pages().optional;
    CHECK(plan.to_park.index == -1);
    while (plan.stalled.empty() || plan.stalled[0].waits == dh::stall::until::pages_come) {
        plan = rig.advance(plan.stalled.empty() ? std::vector<dh::frontier_report>{{a, ++n}} : std::vector<dh::frontier_report>{});
        CHECK(rig.it.pages().optional <= optional);
    }
    CHECK(rig.it.pages().optional == 0);
    CHECK(plan.to_park == b);
    REQUIRE(rig.it.park(b));
    for (int i = 0; i < 3; ++i) plan = rig.advance();
    CHECK(plan.stalled.empty());
    CHECK(rig.advance({{a, ++n}}).stalled.empty());
}

TEST_CASE("AD-04 with growth reserved two requests never wait for each other's pages", "[ledger]") {
    dh::ledger_policies reserved;
    reserved.growth = dh::reserved::positions;
    ledger_rig rig({.pool_pages = 7, .host_pages = 0, .hot_pages = 0, .steps_ahead = 0}, reserved);
    const auto a = rig.start(16, 4); // 4 pages, and 1 to come
    CHECK(rig.it.pages().required == 5);
    CHECK(rig.fits(12, 4) == dh::fit{verdict::later, 0, "GPU pages"});
    CHECK_FALSE(rig.it.try_admit({12, 4}));
    for (int n = 17; n <= 20; ++n) CHECK(rig.advance({{a, n}}).stalled.empty());
    CHECK_FALSE(rig.it.try_extend(a, 100));
    CHECK(rig.it.try_extend(a, 24));
    CHECK(rig.it.pages().required == 6);
    rig.it.finish(a);
    for (int i = 0; i < 2; ++i) rig.advance();
    CHECK(rig.it.try_admit({12, 4}));
}

TEST_CASE("CR-06 with growth reserved host pages cannot run out behind an admission", "[ledger]") {
    dh::ledger_policies reserved;
    reserved.growth = dh::reserved::positions;
    ledger_rig rig({.host_pages = 10}, reserved);
    CHECK(rig.fits(20, 24) == dh::fit{verdict::never, 0, "host pages"});
    const auto a = rig.start(20, 12);
    CHECK(rig.it.free_host_pages() == 2);
    CHECK(rig.fits(4, 8) == dh::fit{verdict::later, 0, "host pages"});
    for (int n = 21; n <= 32; ++n) rig.advance({{a, n}});
    CHECK(rig.it.free_host_pages() == 2);
    CHECK(rig.it.durable_positions(a) == 32);
}

// ---- prefixes and leases

TEST_CASE("a request that shares a prefix reads its rows and keys, writes none of them, and outlives it", "[ledger]") {
    const int combination = GENERATE(0, 3);
    const auto shared = GENERATE(16, 18, 20);
    CAPTURE(combination, shared);
    auto config = plain_config(with_keys());
    config.host_pages = 200;
    engine e(config, combination);
    const auto a = e.start(21, 40);
    e.decode(a, 3);
    REQUIRE(e.it->reclaim(5) >= 5); // so that all is durable, and some of it away
    for (int i = 0; i < 3; ++i) e.advance();
    e.it->reclaim(0);
    const auto blocks = key_blocks(e, a);
    for (std::size_t i = 0; i < blocks.size(); ++i) *blocks[i] = key_of(i);
    const auto kept = e.it->keep(a, 20).value();
    CHECK(e.ledger().kept_positions(kept) == 20);
    CHECK(e.ledger().fits({30, 9, kept, shared}).limit == std::string("copies of the prefix"));
    CHECK(refusal([&] { (void)e.ledger().fits({30, 9, kept, 21}); }) == "demand of 21 shared positions, permitted: 0 to 20");
    for (int i = 0; i < 2; ++i) e.advance();
    const auto required = e.pages().required;
    const auto b = e.admit_sharing(a, 30, 9, kept, shared);
    CHECK(e.pages().required - required == e.ledger().required_pages({30, 9}));
    CHECK(e.ledger().shared_positions(b) == shared);
    CHECK(e.it->import_pages(b, shared / 4, 1).empty()); // copies of keys are under way
    for (int i = 0; i < 2; ++i) e.advance();
    const auto page = e.it->import_pages(b, shared / 4, 1);
    REQUIRE(page.size() == 1);
    if (shared == 18) { // the boundary page holds what is shared of it
        e.check_row_at(b, page[0], 16);
        e.check_row_at(b, page[0], 17);
    }
    std::vector<std::byte> earlier(static_cast<std::size_t>(shared) * 32); // what a prefill reads, before anything has landed
    for (int lane = 0; lane < 2; ++lane) {
        e.it->gather(lane, b, 0, shared, earlier);
        for (int row = 0; row < shared; ++row) REQUIRE(std::memcmp(earlier.data() + row * 32, e.row_bytes(b, 0, lane, row).data(), 32) == 0);
    }
    e.import(b);
    e.check_history(b);
    const auto own = key_blocks(e, b);
    for (int i = 0; i < 4; ++i) CHECK(*own[static_cast<std::size_t>(i)] == key_of(static_cast<std::size_t>(i)));
    e.finish(a);
    e.it->drop(kept);
    e.decode(b, 5);
    e.check_history(b);
    CHECK(refusal([&] { e.it->drop(kept); }) == "drop: prefix 1 is not kept");
    e.finish(b);
    for (int i = 0; i < 3; ++i) e.advance();
    CHECK(e.pages().free == 64);
    CHECK(e.ledger().free_host_pages() == 200);
}

TEST_CASE("of a prefix's last page whole rows are copied only where the host tier has all of it", "[ledger]") {
    ledger_rig rig({.pool_pages = 40, .host_pages = 100});
    const auto a = rig.start(20);
    const auto kept = rig.it.keep(a, 18).value(); // optional, not durable
    const auto b = rig.it.try_admit({30, 0, kept, 18}).value();
    CHECK(rig.it.shared_positions(b) == 16);
    CHECK(rig.it.import_pages(b, 4, 1).size() == 1);
    REQUIRE(rig.it.reclaim(5) > 0);
    for (int i = 0; i < 3; ++i) rig.advance();
    const auto c = rig.it.try_admit({30, 0, kept, 18}).value();
    CHECK(rig.it.shared_positions(c) == 18);
    CHECK(rig.it.import_pages(c, 4, 1).empty());
    for (int i = 0; i < 2; ++i) rig.advance();
    CHECK(rig.it.import_pages(c, 4, 1).size() == 1);
}

TEST_CASE("a kept prefix's pages are optional, and the first to be reclaimed", "[ledger]") {
    ledger_rig rig({.pool_pages = 40, .host_pages = 100});
    const auto a = rig.start(16);
    const auto kept = rig.it.keep(a, 16).value();
    rig.it.finish(a);
    const auto b = rig.start(40);
    CHECK(rig.it.pages().optional == 4 + 10);
    CHECK(rig.it.reclaim(3) == 3); // no more than needed
    for (int i = 0; i < 3; ++i) rig.advance();
    CHECK(rig.it.pages().optional == 11);
    const auto c = rig.it.try_admit({20, 0, kept, 16});
    REQUIRE(c); // its rows are read from the host tier
    rig.it.drop(kept);
    rig.it.finish(*c);
    rig.it.finish(b);
    for (int i = 0; i < 3; ++i) rig.advance();
    CHECK(rig.it.pages().free == 40);
    CHECK(rig.it.free_host_pages() == 100);
}

TEST_CASE("without a host tier a shared page is required once", "[ledger]") {
    ledger_rig rig({.pool_pages = 20, .host_pages = 0, .hot_pages = 0});
    const auto a = rig.start(16, 4);
    const auto kept = rig.it.keep(a, 16).value();
    CHECK(rig.it.pages().required == 5);
    const auto b = rig.it.try_admit({18, 2, kept, 16}).value();
    CHECK(rig.it.pages().required == 6);
    rig.it.finish(a);
    CHECK(rig.it.pages().required == 5);
    rig.it.drop(kept);
    CHECK(rig.it.pages().required == 5);
    rig.it.finish(b);
    for (int i = 0; i < 2; ++i) rig.advance();
    CHECK(rig.it.pages().free == 20);
}

TEST_CASE("leased pages are required until the fence behind their return", "[ledger]") {
    ledger_rig rig({.pool_pages = 16});
    const auto pages = rig.it.lease(5).value();
    CHECK(rig.it.pages().required == 5);
    CHECK(rig.it.pages_of_class(dh::page_class::leased) == 5);
    CHECK_FALSE(rig.it.lease(12));
    rig.it.give_back(std::span(pages).first(2));
    CHECK(rig.it.pages().leaving == 2);
    CHECK(refusal([&] { rig.it.give_back(std::span(pages).first(1)); }) == dh::text("give_back: page ", number(pages[0]), " is not leased"));
    rig.advance();
    rig.advance();
    CHECK(rig.it.pages().free == 13);
    rig.it.reset();
    rig.advance();
    rig.advance();
    CHECK(rig.it.pages().free == 16);
}

TEST_CASE("gather brings a source's rows together from both tiers", "[ledger]") {
    engine e(plain_config(with_keys()));
    const auto slot = e.start(24, 8);
    e.it->reclaim(2);
    for (int i = 0; i < 3; ++i) e.advance();
    e.it->reclaim(0);
    e.advance();
    e.advance(); // some pages are back
    std::vector<std::byte> out(20 * 32);
    for (int lane = 0; lane < 2; ++lane) {
        e.it->gather(lane, slot, 3, 23, out);
        for (int row = 3; row < 23; ++row) REQUIRE(std::memcmp(out.data() + (row - 3) * 32, e.row_bytes(slot, 0, lane, row).data(), 32) == 0);
    }
    CHECK(refusal([&] { e.it->gather(0, slot, 3, 24, out); }) == "gather: room for 640 bytes, needed: 672");
    CHECK(refusal([&] { e.it->gather(0, slot, 3, 99, out); }).find("gather: rows [3, 99), permitted: within [0, 32)") == 0);
    std::vector<std::int32_t> table(8);
    e.ledger().page_table(std::vector{slot}, 8, table);
    for (int page = 0; page < 6; ++page) CHECK(table[static_cast<std::size_t>(page)] == e.page_map(slot, page));
    CHECK(table[7] == -1);
}
