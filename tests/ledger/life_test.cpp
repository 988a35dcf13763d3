// A request's end at every state, reused slots and pages, tickets, and what is refused.
#include "catch.hpp"
#include "engine.hpp"
#include "ledger_rig.hpp"
#include "refusal.hpp"

#include <algorithm>

using namespace dhisparse_test;

namespace {

void check_all_is_back(engine& e) {
    for (int i = 0; i < 3; ++i) e.advance();
    CHECK(e.pages().free == e.pages().capacity);
    CHECK(e.pages().required == 0);
    CHECK(e.pages().leaving == 0);
    CHECK(e.ledger().free_host_pages() == 64);
    CHECK(e.ledger().free_slots() == 4);
    for (int s = 0; s < 4; ++s) CHECK_FALSE(e.it->tables().live(s));
    CHECK(e.it->fits({0, 256}).answer == dh::verdict::now);
}

} // namespace

TEST_CASE("a request may end at any state, and everything comes back", "[ledger]") {
    auto config = plain_config();
    config.max_positions = 512;
    const bool tight = GENERATE(false, true); // tight: the import needs its window
    config.reserve_pages = tight ? config.pool_pages : 0;
    engine e(config);
    const auto slot = e.admit(22, 20);
    SECTION("before its first plan") {}
    SECTION("after it, with no page given") { e.advance(); }
    SECTION("with pages given and none landed") { e.it->import_pages(slot, 0, 3); }
    SECTION("with pages landed and no plan since") { e.import_some(slot); }
    SECTION("with copies in flight") {
        e.import_some(slot);
        e.advance({}, {});
        CHECK((e.it->copier().n_held() > 0) == tight);
    }
    SECTION("with pages unmapped and the fence not passed") {
        e.import_some(slot);
        e.advance({}, {});
        e.it->copier().release_all();
        e.advance(e.completed(), {});
    }
    SECTION("with the import finished and no plan since") {
        while (!e.import_some(slot)) e.advance();
        e.it->finish_import(slot);
    }
    SECTION("while it decodes") {
        e.import(slot);
        e.decode(slot, 7);
    }
    SECTION("with steps that were not reported") {
        e.import(slot);
        e.round(slot);
        e.round(slot);
    }
    SECTION("in the middle of a round") {
        e.import(slot);
        e.append(slot, 1);
    }
    SECTION("at its reserved length") {
        e.import(slot);
        e.decode(slot, 20);
        CHECK(e.frontier(slot) == 42);
    }
    SECTION("after it was extended") {
        e.import(slot);
        REQUIRE(e.it->try_extend(slot, 200));
    }
    e.finish(slot);
    check_all_is_back(e);
    CHECK(e.start(9).index == slot.index); // the same slot serves again
}

TEST_CASE("pages that a copy still reads come back after the copy, not with the fence", "[ledger]") {
    auto config = plain_config();
    config.reserve_pages = config.pool_pages;
    engine e(config);
    const auto slot = e.admit(8, 0);
    e.import_some(slot);
    REQUIRE(e.advance({}, {}).copies.size() == 2);
    e.finish(slot);
    e.advance({}, {});
    e.advance(e.completed(), {});
    CHECK(e.pages().leaving == 2);
    CHECK(e.ledger().free_host_pages() == 62);
    e.it->copier().release(1);
    e.advance(e.completed(), {});
    CHECK(e.pages().leaving == 1);
    check_all_is_back(e);
}

TEST_CASE("unknown tickets and tickets given twice are refused, and nothing changes", "[ledger]") {
    ledger_rig rig({.pool_pages = 4});
    const auto slot = rig.it.try_admit({8, 0}).value();
    rig.it.import_pages(slot, 0, 2);
    rig.it.landed(slot, 0, 2);
    rig.note(rig.it.advance({}, {}));
    const ledger_state before(rig.it);
    const auto given = [&](const std::vector<dh::ticket>& tickets) { return refusal([&] { rig.it.advance(tickets, {}); }); };
    CHECK(given({77}) == "advance: ticket 77 is not outstanding");
    CHECK(given({0}) == "advance: ticket 0 is not outstanding");
    CHECK(given({1, 2, 1}) == "advance: ticket 1 is given twice");
    CHECK(given({1, 77}) == "advance: ticket 77 is not outstanding");
    CHECK(ledger_state(rig.it) == before);
    CHECK(given({1}).empty());
    CHECK(given({1}) == "advance: ticket 1 is not outstanding");
}

TEST_CASE("every call with an ended slot's id is refused", "[ledger]") {
    ledger_rig rig({});
    const auto old = rig.start(5, 20);
    rig.it.finish(old);
    rig.advance();
    const auto now = rig.start(5, 20);
    REQUIRE(now.index == old.index);
    REQUIRE(now.generation == old.generation + 1);
    const ledger_state before(rig.it);
    const auto refused = [&](const char* call, auto body) { CHECK(refusal(body) == dh::text(call, ": slot 0 of generation 0 has ended")); };
    refused("finish", [&] { rig.it.finish(old); });
    refused("try_extend", [&] { (void)rig.it.try_extend(old, 100); });
    refused("import_pages", [&] { (void)rig.it.import_pages(old, 0, 1); });
    refused("landed", [&] { rig.it.landed(old, 0, 1); });
    refused("finish_import", [&] { rig.it.finish_import(old); });
    refused("durable_positions", [&] { (void)rig.it.durable_positions(old); });
    refused("page_table", [&] { (void)rig.it.page_table(old); });
    CHECK(refusal([&] { rig.it.finish({4, 0}); }) == "slot is 4, permitted: 0 to 3");
    CHECK(refusal([&] { rig.it.finish({-1, 0}); }) == "slot is -1, permitted: 0 to 3");
    rig.advance({{old, 9}}); // a step that was launched before it ended is no error
    CHECK(ledger_state(rig.it) == before);
}

TEST_CASE("a frontier that a slot cannot have is refused", "[ledger]") {
    ledger_rig rig({});
    const auto slot = rig.start(5, 20);
    const auto importing = rig.it.try_admit({5, 0}).value();
    const auto given = [&](dh::slot_id s, int n) { return refusal([&] { rig.it.advance({}, std::vector<dh::frontier_report>{{s, n}}); }); };
    CHECK(given(slot, 4) == "advance: frontier of slot 0 is 4, permitted: 5 to 8");
    CHECK(given(slot, 9) == "advance: frontier of slot 0 is 9, permitted: 5 to 8");
    CHECK(given(importing, 5) == "advance: slot 1 is still importing");
    CHECK(given({9, 0}, 5) == "advance: slot is 9, permitted: 0 to 3");
    CHECK(given(slot, 8).empty());
}

TEST_CASE("plans depend on what is reported complete, not on when the copies happened", "[ledger]") {
    auto config = plain_config();
    config.reserve_pages = config.pool_pages = 20;
    engine early(config), late(config);
    early.it->copier().move_bytes_at_once(true);
    std::vector<dh::slot_id> slots;
    for (auto* e : {&early, &late}) slots = {e->admit(30, 30), e->admit(17, 30)};
    for (int i = 0; i < 40; ++i) {
        std::vector<dh::step_plan> plans;
        for (auto* e : {&early, &late}) {
            if (i % 3 == 0) e->it->copier().release_all();
            const auto tickets = e->completed();
            if (i < 30)
                for (const auto slot : slots) e->import_some(slot);
            if (i == 30)
                for (const auto slot : slots) e->it->finish_import(slot);
            if (i > 30)
                for (const auto slot : slots) e->round(slot);
            std::vector<dh::frontier_report> reports;
            if (i > 30)
                for (const auto slot : slots) reports.push_back({slot, e->frontier(slot)});
            plans.push_back(e->advance(tickets, reports));
        }
        REQUIRE(plans[0] == plans[1]);
    }
    for (const auto slot : slots) {
        CHECK(early.look_up(slot, {0, 5, 11, 29}) == late.look_up(slot, {0, 5, 11, 29}));
        early.check_history(slot);
        late.check_history(slot);
    }
}

TEST_CASE("completed tickets are a set: the order in which they are named changes nothing", "[ledger]") {
    ledger_rig up({.pool_pages = 5}), down({.pool_pages = 5});
    for (auto* rig : {&up, &down}) {
        const auto slot = rig->it.try_admit({40, 0}).value();
        for (int page = 0; page < 10; ++page) {
            for (int i = 0; rig->it.import_pages(slot, page, 1).empty() && i < 5; ++i) {
                if (rig == &down) std::reverse(rig->outstanding.begin(), rig->outstanding.end());
                rig->advance();
            }
            rig->it.landed(slot, page, 1);
        }
    }
    const dh::slot_id slot{0, 0};
    CHECK(up.it.page_table(slot) == down.it.page_table(slot));
    CHECK(up.advance() == down.advance());
    for (auto* rig : {&up, &down}) rig->it.finish(slot);
    CHECK(up.advance() == down.advance());
    CHECK(up.advance() == down.advance());
    CHECK(up.it.pages().free == 5);
}

TEST_CASE("frontiers of several steps may come with one plan, and the furthest counts", "[ledger]") {
    ledger_rig rig({.k_max = 2});
    const auto slot = rig.start(5, 40);
    rig.advance({{slot, 9}, {slot, 7}});
    CHECK(rig.it.durable_positions(slot) == 9);
    CHECK(refusal([&] { rig.it.advance({}, std::vector<dh::frontier_report>{{slot, 8}}); }) == "advance: frontier of slot 0 is 8, permitted: 9 to 16");
}

TEST_CASE("RM-02 pages reused by another request show it none of their former rows", "[ledger]") {
    auto config = plain_config();
    config.pool_pages = 6;
    config.slots = 2;
    engine e(config);
    const auto a = e.start(8, 0);
    const std::set<int> pages_of_a{e.page_map(a, 0), e.page_map(a, 1)};
    e.finish(a);
    e.advance();
    e.advance();
    const auto b = e.start(4, 8);
    CHECK(pages_of_a.contains(e.page_map(b, 0)));
    const auto at = e.look_up(b, {3, 5, 6, 7});
    CHECK(at[0] >= 0);
    CHECK(at == std::vector<dh::location>{at[0], -1, -1, -1});
}

TEST_CASE("RM-06 a reused slot does not see its former owner's rows", "[ledger]") {
    const int combination = GENERATE(range(0, 8));
    CAPTURE(combination);
    auto config = plain_config();
    config.pool_pages = config.host_pages = 160;
    config.reserve_pages = config.pool_pages;
    engine e(config, combination);
    const auto a = e.start(500);
    e.look_up(a, {200, 201, 3, 4});
    e.finish(a);
    e.advance();
    const auto b = e.start(10, 600);
    REQUIRE(b.index == a.index);
    CHECK(e.look_up(b, {200, 3, 11, 499}) == std::vector<dh::location>{-1, e.look_up(b, {3})[0], -1, -1});
    CHECK(e.it->counts().count_of(dh::violation::row_out_of_range) == 3);
    e.decode(b, 300);
    const auto host = e.it->counts().host;
    CHECK(e.look_up(b, {200, 201, 4, 5})[0] >= 0); // its own row, brought from the host tier
    CHECK(e.it->counts().host == host + 4);
}

TEST_CASE("HC-09 hot rows of a reused host page are its new owner's", "[ledger]") {
    const int combination = GENERATE(range(0, 8));
    CAPTURE(combination);
    auto config = plain_config();
    config.host_pages = 5;
    config.slots = 1;
    config.reserve_pages = config.pool_pages;
    engine e(config, combination);
    const auto a = e.start(20);
    e.look_up(a, {1, 2, 3, 17});
    REQUIRE(e.it->counts().host == 4);
    e.look_up(a, {1, 2, 3, 17});
    REQUIRE(e.it->counts().hot == 4);
    std::set<int> hosts;
    for (int page = 0; page < 5; ++page) hosts.insert(e.host_map(a, page));
    e.finish(a);
    e.advance();
    e.advance();
    const auto b = e.start(20);
    for (int page = 0; page < 5; ++page) CHECK(hosts.contains(e.host_map(b, page)));
    for (const auto at : e.look_up(b, {1, 2, 3, 17})) CHECK(at >= 0); // with b's bytes
    CHECK(e.it->counts().host == 8);
    CHECK(e.it->counts().hot == 4);
}

TEST_CASE("slots that run together never share a page", "[ledger]") {
    auto config = plain_config();
    config.reserve_pages = 20;
    engine e(config);
    std::vector<dh::slot_id> slots;
    for (const int n : {3, 12, 25}) slots.push_back(e.start(n, 30));
    for (int i = 0; i < 30; ++i) {
        std::set<int> seen;
        std::size_t n = 0;
        for (const auto slot : slots) {
            e.round(slot);
            for (const auto page : e.ledger().page_table(slot))
                if (number(page) >= 0) { seen.insert(number(page)); ++n; }
            for (int h = 0; h < e.it->tables().hot_pages_per_slot; ++h, ++n) seen.insert(e.it->tables().hot_pages[slot.index * e.it->tables().hot_pages_per_slot + h]);
        }
        CHECK(seen.size() == n);
        e.advance();
    }
    for (const auto slot : slots) e.check_history(slot);
}

TEST_CASE("PP-02 copies of pages with equal numbers in the two tiers are told apart", "[ledger]") {
    ledger_rig rig({.pool_pages = 4, .host_pages = 8, .hot_pages = 1, .reserve_pages = 4});
    const auto slot = rig.it.try_admit({8, 4}).value(); // two whole pages of 4 positions, through the tail's window
    const auto given = rig.it.import_pages(slot, 0, 2);
    REQUIRE(given.size() == 2);
    rig.it.landed(slot, 0, 2);
    const auto copies = rig.it.advance({}, {}).copies;
    REQUIRE(copies.size() == 2);
    const auto host_before = rig.it.free_host_pages();
    const std::vector<dh::ticket> first{copies[0].id}, second{copies[1].id};
    const auto& plan = rig.it.advance(first, {}); // one is done: it alone leaves the GPU
    const auto unmapped = std::count_if(plan.edits.begin(), plan.edits.end(), [](const dh::edit& e) { return e.what == dh::edit::kind::map && e.value == -1; });
    CHECK(unmapped == 1);
    CHECK(rig.it.page_table(slot)[0] == dh::gpu_page::none);
    CHECK(rig.it.page_table(slot)[1] == copies[1].gpu);
    CHECK_THROWS_AS(rig.it.advance(first, {}), dh::invalid_argument);
    rig.it.advance(second, {});
    CHECK(rig.it.page_table(slot)[1] == dh::gpu_page::none);
    CHECK(rig.it.free_host_pages() == host_before);
}

TEST_CASE("PP-03 a host page that a copy still writes is given to nobody", "[ledger]") {
    ledger_rig rig({.pool_pages = 4, .host_pages = 3, .hot_pages = 1, .reserve_pages = 4});
    const auto slot = rig.it.try_admit({8, 4}).value();
    rig.it.import_pages(slot, 0, 2);
    rig.it.landed(slot, 0, 2);
    const auto copies = rig.it.advance({}, {}).copies;
    REQUIRE(copies.size() == 2);
    rig.it.finish(slot);
    const auto fence = rig.it.advance({}, {}).fence;
    const std::vector<dh::ticket> fences{fence}, done{copies[0].id, copies[1].id};
    rig.it.advance(fences, {}); // all readers are gone, the copies are not done
    CHECK(rig.it.free_host_pages() == 1);
    CHECK(rig.it.fits({8, 4}).answer == dh::verdict::later);
    rig.it.advance(done, {});
    CHECK(rig.it.free_host_pages() == 3);
    CHECK(rig.it.fits({8, 4}).answer == dh::verdict::now);
}
