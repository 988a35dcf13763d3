// Optional history: reclaimed for others, refilled when there is room, backed up in time.
#include "catch.hpp"
#include "engine.hpp"
#include "ledger_rig.hpp"
#include "refusal.hpp"

#include <algorithm>

using namespace dhisparse_test;
using dh::verdict;

namespace {

int n_resident(const dh::ledger& it, dh::slot_id slot) {
    const auto pages = it.page_table(slot);
    return static_cast<int>(std::count_if(pages.begin(), pages.end(), [](auto page) { return page != dh::gpu_page::none; }));
}

int n_unmapped(const dh::step_plan& plan, dh::slot_id slot) {
    return static_cast<int>(std::count_if(plan.edits.begin(), plan.edits.end(), [&](const auto& e) { return e.what == dh::edit::kind::map && e.slot == slot.index && e.value == -1; }));
}

} // namespace

TEST_CASE("AD-01 admission asks for a reclaim before it gives up, and the request then runs", "[ledger]") {
    ledger_rig rig({.pool_pages = 100, .host_pages = 200, .hot_pages = 17});
    const auto a = rig.start(240);
    REQUIRE(rig.it.lease(20));
    REQUIRE(rig.it.pages().optional == 60);
    REQUIRE(rig.it.pages().free == 0);
    CHECK(rig.fits(40) == dh::fit{verdict::after_reclaiming, 20, "GPU pages"});
    CHECK(rig.it.reclaim(20) == 60); // whole requests
    CHECK(rig.fits(40) == dh::fit{verdict::later, 0, "GPU pages"}); // on their way
    REQUIRE(rig.advance().copies.size() == 60); // nothing was durable
    CHECK(n_unmapped(rig.advance(), a) == 60);
    CHECK(rig.fits(40).answer == verdict::later); // the fence has not passed
    rig.advance();
    CHECK(rig.fits(40).answer == verdict::now);
    const auto b = rig.start(40);
    CHECK(rig.it.running(b));
    CHECK(rig.it.running(a));
}

TEST_CASE("pages on their way are not asked for again, and nothing optional takes them", "[ledger]") {
    ledger_rig rig({.pool_pages = 24, .host_pages = 200, .refill_pages_per_step = 8});
    const auto a = rig.start(40), b = rig.start(24); // 10 + 4 and 6 + 4 pages
    REQUIRE(rig.it.pages().free == 0);
    REQUIRE(rig.fits(80) == dh::fit{verdict::after_reclaiming, 4, "GPU pages"});
    CHECK(rig.it.reclaim(4) == 10); // most optional first
    for (int i = 0; i < 8; ++i) {
        rig.advance();
        CHECK(rig.fits(80).answer != verdict::after_reclaiming);
    }
    CHECK(rig.it.pages().free == 4); // six of the ten have gone back to history
    CHECK(n_resident(rig.it, a) == 6);
    CHECK(n_resident(rig.it, b) == 6);
    const auto c = rig.it.try_admit({80, 0});
    REQUIRE(c);
    CHECK(rig.it.import_pages(*c, 0, 20).size() == 3); // its own
    rig.it.finish(*c);
    rig.advance();
    rig.advance();
    rig.advance();
    rig.advance();
    CHECK(n_resident(rig.it, a) == 10);
}

TEST_CASE("reclaim(0) lets the pages go that wait for an admission", "[ledger]") {
    ledger_rig rig({.pool_pages = 24, .host_pages = 200, .refill_pages_per_step = 8});
    const auto a = rig.start(40);
    rig.start(24);
    REQUIRE(rig.it.reclaim(4) == 10);
    for (int i = 0; i < 8; ++i) rig.advance();
    REQUIRE(n_resident(rig.it, a) == 6);
    rig.it.reclaim(0);
    rig.advance();
    rig.advance();
    CHECK(n_resident(rig.it, a) == 10);
    CHECK(refusal([&] { rig.it.reclaim(-1); }) == "reclaim: -1 pages, permitted: 0 and more");
}

TEST_CASE("a page that several requests hold counts once, and leaves with the last of them", "[ledger]") {
    ledger_rig rig({.pool_pages = 40, .host_pages = 200});
    const auto a = rig.start(32);
    const auto prefix = rig.it.keep(a, 32).value();
    const auto b = rig.it.try_admit({32, 0, prefix, 32}).value();
    rig.it.finish_import(b);
    rig.it.drop(prefix);
    rig.advance();
    CHECK(rig.it.page_table(a) == rig.it.page_table(b));
    const auto c = rig.start(12);
    CHECK(rig.it.pages().optional == 8 + 3);
    SECTION("the order goes on until the last holder is in") {
        CHECK(rig.it.reclaim(12) == 0);
        CHECK(rig.it.reclaim(4) == 8); // a alone gives nothing, a and b eight
        rig.advance();
        const auto& plan = rig.advance();
        CHECK(n_unmapped(plan, a) == 8);
        CHECK(n_unmapped(plan, b) == 8);
        CHECK(n_resident(rig.it, c) == 3);
    }
    SECTION("the end of one holder frees nothing") {
        rig.it.finish(a);
        rig.advance();
        rig.advance();
        CHECK(rig.it.pages().optional == 8 + 3);
        CHECK(n_resident(rig.it, b) == 8);
        rig.it.finish(b);
        rig.advance();
        rig.advance();
        CHECK(rig.it.pages().optional == 3);
    }
}

TEST_CASE("AD-09 a reclaimed request's rows are found in every mode", "[ledger]") {
    const int combination = GENERATE(range(0, 8)), m = GENERATE(1, 4);
    CAPTURE(combination, m);
    auto config = plain_config({.page_positions = 8, .k = 2, .lanes = 2, .m = m, .row_bytes = 64});
    engine e(config, combination);
    const auto slot = e.start(50, 30);
    e.decode(slot, 20);
    const auto optional = e.pages().optional;
    REQUIRE(optional >= 8);
    CHECK(e.it->reclaim(optional) == optional);
    e.check_history(slot); // before, during and after
    e.advance({}, {});
    REQUIRE(e.it->copier().n_held() > 0);
    e.it->copier().release(0);
    e.advance(e.completed(), {});
    e.check_history(slot);
    for (int i = 0; i < 3; ++i) e.advance();
    CHECK(e.pages().optional == 0);
    e.check_history(slot);
    CHECK(e.it->counts().host > 0);
    e.decode(slot, 5);
    e.check_history(slot);
}

TEST_CASE("AD-11 with some of its backups done a request is read rightly, and no page is given that it reads", "[ledger]") {
    engine e(plain_config());
    const auto slot = e.start(24, 4);
    REQUIRE(e.it->reclaim(6) == 6);
    e.advance({}, {});
    REQUIRE(e.it->copier().n_held() == 6);
    for (int i = 0; i < 4; ++i) e.it->copier().release(0);
    const auto& plan = e.advance(e.completed(), {}); // four leave the map; the fence comes behind the steps that read them
    CHECK(plan.fence != 0);
    CHECK(e.pages().leaving == 4);
    CHECK(e.pages().reclaiming == 2);
    e.check_history(slot);
    e.advance({}, {});
    CHECK(e.pages().leaving == 4); // until the fence is reported
    e.it->copier().release_all();
    e.advance(e.completed(), {});
    e.check_history(slot);
}

TEST_CASE("the request goes first whose pages would stay free for longest", "[ledger]") {
    ledger_rig rig({.pool_pages = 80, .host_pages = 400});
    const auto soon = rig.start(48, 4), large = rig.start(40, 80), small = rig.start(8, 80);
    CHECK(rig.it.reclaim(1) == 10); // more pages than `small`, and far more positions to come than `soon`
    for (int i = 0; i < 3; ++i) rig.advance();
    CHECK(n_resident(rig.it, soon) == 12 + 1); // and its tail page
    CHECK(n_resident(rig.it, large) == 1);
    CHECK(n_resident(rig.it, small) == 2 + 1);
    rig.it.reclaim(0);
    CHECK(rig.it.reclaim(1) == 2); // 2 x 80 positions against 12 x 4
}

TEST_CASE("of pages that nobody reads those go first that nobody has read for longest, and no more than needed", "[ledger]") {
    ledger_rig rig({.pool_pages = 60, .host_pages = 400});
    const auto a = rig.start(16), b = rig.start(24);
    const auto of_a = rig.it.keep(a, 16).value(), of_b = rig.it.keep(b, 24).value();
    const auto pages_a = rig.it.page_table(a), pages_b = rig.it.page_table(b);
    rig.it.finish(b); // before a
    rig.it.finish(a);
    const auto c = rig.start(8);
    CHECK(rig.it.reclaim(7) == 7); // six of b's, one of a's, none of c's
    for (int i = 0; i < 3; ++i) rig.advance();
    CHECK(n_resident(rig.it, c) == 2);
    const auto again = rig.it.try_admit({24, 0, of_a, 16}).value();
    CHECK(n_resident(rig.it, again) == 3);
    rig.it.finish(again);
    const auto other = rig.it.try_admit({24, 0, of_b, 24}).value();
    CHECK(n_resident(rig.it, other) == 0);
    CHECK(rig.it.reclaim(3) == 3); // a's, unread again; b's pages that come back are read
}

TEST_CASE("a page that is wanted back while it is being refilled is never mapped, and leaves when it is there", "[ledger]") {
    ledger_rig rig({.pool_pages = 24, .host_pages = 100, .refill_pages_per_step = 2});
    const auto a = rig.start(40);
    REQUIRE(rig.it.reclaim(10) == 10);
    for (int i = 0; i < 3; ++i) rig.advance();
    rig.it.reclaim(0);
    REQUIRE(rig.advance().copies.size() == 2);
    REQUIRE(rig.it.pages().optional == 2);
    const auto free = rig.it.pages().free;
    CHECK(rig.it.reclaim(2) == 2);
    CHECK(rig.it.pages().reclaiming == 2);
    const auto& plan = rig.advance(); // the copies are complete
    for (const auto& e : plan.edits) CHECK((e.what != dh::edit::kind::map || e.value == -1));
    CHECK(n_resident(rig.it, a) == 0);
    CHECK(rig.it.pages().optional == 0);
    CHECK(rig.it.pages().leaving == 2);
    rig.advance();
    CHECK(rig.it.pages().free == free + 2);
    CHECK(rig.it.counts().refilled_pages == 0);
}

TEST_CASE("AD-14 refill goes on at its bound, step by step, and an end between two steps leaks nothing", "[ledger]") {
    auto config = plain_config();
    config.refill_pages_per_step = 4;
    engine e(config);
    const auto slot = e.start(40, 4);
    REQUIRE(e.it->reclaim(10) == 10);
    for (int i = 0; i < 2; ++i) e.advance();
    e.it->reclaim(0);
    const auto n_copies = [&] { return e.advance().copies.size(); };
    CHECK(n_copies() == 4);
    const bool ends = GENERATE(false, true);
    if (ends) {
        e.finish(slot);
        e.advance({}, {}); // the copies are still under way
        CHECK(e.pages().leaving >= 4);
        for (int i = 0; i < 3; ++i) e.advance();
        CHECK(e.pages().free == 64);
        CHECK(e.ledger().free_host_pages() == 64);
        return;
    }
    CHECK(n_copies() == 4);
    CHECK(n_copies() == 2);
    CHECK(n_copies() == 0);
    CHECK(e.ledger().counts().refilled_pages == 10);
    e.check_history(slot);
    CHECK(e.it->counts().host == 0);
}

TEST_CASE("refill stops within a step of a reclaim, and pages still being copied come back", "[ledger]") {
    auto config = plain_config();
    config.refill_pages_per_step = 2;
    engine e(config);
    const auto slot = e.start(40, 4);
    REQUIRE(e.it->reclaim(10) == 10);
    for (int i = 0; i < 2; ++i) e.advance();
    e.it->reclaim(0);
    e.advance();
    REQUIRE(e.it->copier().n_held() == 2);
    e.check_history(slot); // none of the two is read yet
    CHECK(e.it->reclaim(2) == 2);
    CHECK(e.advance({}, {}).copies.empty());
    CHECK(e.pages().reclaiming == 2);
    for (int i = 0; i < 2; ++i) e.advance();
    CHECK(e.page_map(slot, 9) == -1);
    CHECK(e.pages().optional == 0);
    e.check_history(slot);
}

TEST_CASE("selected rows of departing pages go to the hot cache from the GPU", "[ledger]") {
    const int combination = GENERATE(0, 1, 2, 3, 4);
    auto config = plain_config();
    config.departing_plans = GENERATE(1, 3);
    config.k_max = GENERATE(1, 2);
    engine e(config, combination);
    const auto slot = e.start(40, 20);
    REQUIRE(e.pages().optional == 10);
    REQUIRE(e.it->reclaim(10) == 10);
    e.advance(); // copies to the host begin
    const int gpu = e.page_map(slot, 3);
    e.advance(); // they are complete
    CHECK(e.page_map(slot, 3) == dh::departing(dh::gpu_page{gpu}));
    CHECK(e.pages().optional == 10);
    CHECK(e.pages().reclaiming == 10);
    std::memset(e.it->tiers().host, 0xEE, static_cast<std::size_t>(64 * e.it->layout().host_page_bytes()));
    const std::vector<std::int32_t> rows{12, 15, 3, 12};
    const auto at = e.look_up(slot, rows);
    CHECK(at[0] == at[3]);
    for (const auto one : at) CHECK(one >= 0);
    CHECK(at[0] != e.it->layout().group(0).at(dh::gpu_page{gpu}, 0));
    for (int i = 0; i < config.departing_plans; ++i) {
        CHECK(e.page_map(slot, 3) == dh::departing(dh::gpu_page{gpu}));
        e.advance();
    }
    CHECK(e.page_map(slot, 3) == -1);
    CHECK(e.pages().optional == 0);
    CHECK(e.pages().leaving == 10);
    CHECK(e.look_up(slot, rows) == at);
    CHECK(e.it->counts().host == 4);
    CHECK(e.it->counts().hot == 4);
    CHECK(e.it->counts().host_rows == 0);
    e.advance();
    CHECK(e.pages().leaving == 0);
}

TEST_CASE("pages depart only where a request reads them", "[ledger]") {
    ledger_rig rig({.pool_pages = 24, .host_pages = 64, .slots = 4, .backup_pages_per_step = 8, .departing_plans = 2});
    const auto slot = rig.start(40, 20);
    for (int i = 0; i < 3; ++i) rig.advance();
    const bool by_finish = GENERATE(false, true);
    REQUIRE(rig.it.keep(slot, 40));
    rig.advance();
    rig.advance();
    if (by_finish) rig.it.finish(slot);
    REQUIRE(rig.it.reclaim(10) == 10);
    const auto plan = rig.advance();
    const auto n_departing = std::count_if(plan.edits.begin(), plan.edits.end(), [](const auto& e) { return e.what == dh::edit::kind::map && dh::is_departing(static_cast<std::int32_t>(e.value)); });
    CHECK(n_departing == (by_finish ? 0 : 10));
    CHECK(rig.it.pages().reclaiming == (by_finish ? 0 : 10));
    if (by_finish) return;
    const bool ends = GENERATE(false, true);
    if (ends) rig.it.finish(slot); // the prefix alone holds them now
    CHECK(n_unmapped(rig.advance(), slot) == 0);
    CHECK(n_unmapped(rig.advance(), slot) == (ends ? 0 : 10));
    CHECK(rig.it.pages().optional == 0);
    rig.advance();
    rig.it.reset();
    for (int i = 0; i < 3; ++i) rig.advance();
    CHECK(rig.it.pages().free == 24);
}

TEST_CASE("pages of a request that is in no round don't depart", "[ledger]") {
    ledger_rig rig({.pool_pages = 24, .host_pages = 64, .slots = 4, .backup_pages_per_step = 8, .departing_plans = 2});
    const auto slot = rig.it.try_admit({24, 20}).value();
    REQUIRE(rig.it.import_pages(slot, 0, 6).size() == 6);
    rig.it.landed(slot, 0, 6);
    for (int i = 0; i < 3; ++i) rig.advance();
    REQUIRE(rig.it.reclaim(6) == 6);
    CHECK(n_unmapped(rig.advance(), slot) == 6);
    CHECK(rig.it.pages().reclaiming == 0);
}

TEST_CASE("a slot that can't grow takes optional pages that don't depart", "[ledger]") {
    ledger_rig rig({.pool_pages = 40, .host_pages = 64, .slots = 4, .backup_pages_per_step = 16, .departing_plans = 3, .shape = {.index_key_bytes = 32}});
    const auto slot = rig.start(40, 80);
    for (int i = 0; i < 3; ++i) rig.advance();
    REQUIRE(rig.it.lease(rig.it.pages().free));
    dh::step_plan plan;
    for (int frontier = 40; plan.stalled.empty(); ++frontier) {
        REQUIRE(frontier < 120);
        plan = rig.advance({{slot, frontier}});
    }
    CHECK(n_unmapped(plan, slot) == 1);
    CHECK(rig.it.counts().reclaims == 1);
    CHECK(rig.it.counts().reclaimed_pages == 1);
    CHECK(rig.it.pages().reclaiming == 0);
}

TEST_CASE("a slot that can't grow waits for departing pages no longer than for others", "[ledger]") {
    const int departing_plans = GENERATE(0, 32), backup_pages = GENERATE(0, 16);
    CAPTURE(departing_plans, backup_pages);
    ledger_rig rig({.pool_pages = 40, .host_pages = 64, .slots = 4, .backup_pages_per_step = backup_pages, .departing_plans = departing_plans, .shape = {.index_key_bytes = 32}});
    const auto slot = rig.start(40, 80);
    for (int i = 0; i < 3; ++i) rig.advance();
    REQUIRE(rig.it.lease(rig.it.pages().free));
    const auto optional = rig.it.pages().optional;
    REQUIRE(rig.it.reclaim(optional) == optional);
    int n_stalled = 0, in_a_row = 0;
    for (int frontier = 40; frontier < 64; frontier += in_a_row == 0) {
        in_a_row = rig.advance({{slot, frontier}}).stalled.empty() ? 0 : in_a_row + 1;
        n_stalled += in_a_row;
        REQUIRE(in_a_row <= 1); // its page is there with the next fence
    }
    CHECK(n_stalled == (departing_plans == 0 ? 0 : 2)); // pages that don't depart came before it lacked them
    CHECK(rig.it.counts().reclaims == 1);
}

TEST_CASE("AD-08 a host tier smaller than the pool serves any number of requests", "[ledger]") {
    ledger_rig rig({.pool_pages = 100, .host_pages = 60, .slots = 4, .refill_pages_per_step = 4, .backup_pages_per_step = 2});
    std::vector<dh::slot_id> slots;
    for (int i = 0; i < 1000; ++i) {
        while (!slots.empty() && rig.fits(60, 12).answer != verdict::now) {
            rig.it.finish(slots.front());
            slots.erase(slots.begin());
            rig.advance();
            rig.advance();
        }
        slots.push_back(rig.start(60, 12));
    }
    CHECK(rig.it.counts().admitted == 1000);
    rig.it.reset();
    rig.advance();
    rig.advance();
    CHECK(rig.it.free_host_pages() == 60);
}

TEST_CASE("BK-01 rows written by decode steps are in the host tier when their pages are reclaimed", "[ledger]") {
    auto config = plain_config();
    engine e(config);
    std::memset(e.it->tiers().host, 0xEE, static_cast<std::size_t>(64 * e.it->layout().host_page_bytes()));
    const auto slot = e.start(6, 40);
    e.decode(slot, 20);
    REQUIRE(e.pages().optional == 6);
    CHECK(e.it->reclaim(6) == 6);
    for (int i = 0; i < 3; ++i) e.advance();
    for (int row = 0; row < 24; ++row) CHECK(e.host_row_is_there(slot, row));
    e.check_history(slot);
}

TEST_CASE("BK-03 BK-04 a copy that failed ends its request, and others go on", "[ledger]") {
    auto config = plain_config();
    config.refill_pages_per_step = 4;
    engine e(config);
    const auto slot = e.start(16, 20), other = e.start(17, 20);
    const bool refill = GENERATE(false, true);
    REQUIRE(e.it->reclaim(8) == 8);
    e.advance({}, {});
    if (refill) {
        e.advance();
        e.advance();
        e.it->reclaim(0);
        e.advance();
    }
    const auto of_slot = [&] {
        for (std::size_t i = 0;; ++i)
            if (number(e.it->copier().held(i).host) == e.host_map(slot, 2)) return i;
    };
    e.it->copier().fail(of_slot());
    e.it->copier().release_all();
    const auto plan = e.advance(e.completed(), {});
    REQUIRE(plan.failed.size() == 1);
    CHECK(plan.failed[0] == dh::failure{slot, dh::prefix_id::none, 2, refill ? dh::direction::to_gpu : dh::direction::to_host});
    CHECK(plan.failed[0].message() == (refill ? "copy of page 2 to the GPU failed: the request of slot 0 has ended" : "copy of page 2 to the host failed: the request of slot 0 has ended"));
    CHECK(refusal([&] { e.it->finish(slot); }) == "finish: slot 0 of generation 0 has ended");
    CHECK_FALSE(e.it->tables().live(slot.index));
    e.check_history(other);
    for (int i = 0; i < 3; ++i) e.advance({}, {});
    e.advance();
    e.finish(other);
    for (int i = 0; i < 3; ++i) e.advance();
    CHECK(e.pages().free == 64);
    CHECK(e.ledger().free_host_pages() == 64);
    CHECK(e.ledger().counts().failed == 1);
}

TEST_CASE("a fence cannot fail, and a failed ticket that is unknown is refused", "[ledger]") {
    ledger_rig rig({});
    const auto slot = rig.start(5);
    rig.it.finish(slot);
    const auto fence = rig.it.advance({}, {}).fence;
    CHECK(refusal([&] { rig.it.advance(std::vector{dh::failure_of(fence)}, {}); }) == dh::text("advance: ticket ", fence, " is a fence, which cannot fail"));
    CHECK(refusal([&] { rig.it.advance(std::vector<dh::ticket>{-99}, {}); }) == "advance: ticket -99 is not outstanding");
    CHECK(refusal([&] { rig.it.advance(std::vector{fence, dh::failure_of(fence)}, {}); }).find("advance: ticket") == 0);
}

TEST_CASE("BK-08 BK-14 eager backup goes through its backlog by itself, at its bound, and a reclaim then copies nothing", "[ledger]") {
    ledger_rig rig({.pool_pages = 240, .host_pages = 300, .backup_pages_per_step = 8});
    const auto slot = rig.start(217 * 4, 40); // its last plan has begun
    int n = 8;
    for (int i = 0; i < 20; ++i) {
        const auto copies = static_cast<int>(rig.advance({{slot, 217 * 4 + std::min(i, 3)}}).copies.size());
        CHECK(copies == 8);
        n += copies;
    }
    while (n < 217) n += static_cast<int>(rig.advance().copies.size());
    rig.advance();
    CHECK(rig.it.settled(slot));
    CHECK(rig.it.counts().backed_up_pages == 217);
    CHECK(rig.it.reclaim(217) == 217);
    const auto plan = rig.advance();
    CHECK(plan.copies.empty());
    CHECK(n_unmapped(plan, slot) == 217);
}

TEST_CASE("BK-11 BK-12 a refill takes no page before its readers are done, and holds its host page until it is copied", "[ledger]") {
    ledger_rig rig({.pool_pages = 12, .host_pages = 16, .slots = 2, .refill_pages_per_step = 8});
    const auto a = rig.start(16), b = rig.start(0, 4); // 4 optional, 4 + 4 required
    REQUIRE(rig.it.reclaim(4) == 4);
    for (int i = 0; i < 3; ++i) rig.advance();
    REQUIRE(rig.it.lease(4)); // nothing is free
    rig.it.finish(b);
    const auto end_of_b = rig.it.advance({}, {});
    auto copies = end_of_b.copies;
    REQUIRE(copies.size() == 2); // into pages that were promised to b, and never its own
    CHECK(rig.it.advance({}, {}).copies.empty()); // b's pages may still be read
    for (const auto& copy : rig.it.advance(std::vector{end_of_b.fence}, {}).copies) copies.push_back(copy);
    REQUIRE(copies.size() == 4);
    const auto free_host = rig.it.free_host_pages();
    rig.it.finish(a);
    const auto end = rig.it.advance({}, {}).fence;
    rig.it.advance(std::vector{end}, {});
    CHECK(rig.it.free_host_pages() == free_host); // the four copies still read theirs
    CHECK(rig.it.pages().leaving == 4);
    std::vector<dh::ticket> done;
    for (const auto& copy : copies) done.push_back(copy.id);
    rig.it.advance(done, {});
    CHECK(rig.it.free_host_pages() == 16);
    CHECK(rig.it.pages().leaving == 0);
}

TEST_CASE("BK-13 pages of a refill that ends half way come back once each", "[ledger]") {
    ledger_rig rig({.pool_pages = 16, .host_pages = 16, .refill_pages_per_step = 5});
    const auto a = rig.start(20);
    REQUIRE(rig.it.reclaim(5) == 5);
    for (int i = 0; i < 2; ++i) rig.advance();
    rig.it.reclaim(0);
    const auto copies = rig.advance().copies;
    REQUIRE(copies.size() == 5);
    rig.it.advance(std::vector{copies[0].id, copies[1].id, copies[2].id}, {});
    rig.it.finish(a);
    rig.outstanding = {copies[3].id, copies[4].id};
    for (int i = 0; i < 3; ++i) rig.advance();
    CHECK(rig.it.pages().free == 16);
    CHECK(rig.it.free_host_pages() == 16);
    const auto one = rig.it.lease(8).value(), two = rig.it.lease(8).value();
    std::set<int> ids;
    for (const auto page : one) ids.insert(number(page));
    for (const auto page : two) ids.insert(number(page));
    CHECK(ids.size() == 16);
}

TEST_CASE("a plan with nothing to do is empty, whatever is held", "[ledger]") {
    ledger_rig rig({.pool_pages = 400, .host_pages = 600, .slots = 4, .refill_pages_per_step = 8, .backup_pages_per_step = 8});
    for (int i = 0; i < 3; ++i) rig.start(400, 4);
    for (int i = 0; i < 60; ++i) rig.advance();
    CHECK(rig.advance() == dh::step_plan{});
}

TEST_CASE("two ledgers that are fed the same completions make the same plans", "[ledger]") {
    ledger_rig one({.pool_pages = 24, .host_pages = 100, .refill_pages_per_step = 2}), two({.pool_pages = 24, .host_pages = 100, .refill_pages_per_step = 2});
    for (auto* rig : {&one, &two}) {
        rig->start(40, 8);
        rig->start(20, 8);
        rig->it.reclaim(6);
        rig->advance();
        rig->it.park({1, 0});
        for (int i = 0; i < 4; ++i) rig->advance();
        rig->it.try_resume({1, 0});
        rig->it.reclaim(0);
    }
    for (int i = 0; i < 10; ++i) REQUIRE(one.advance() == two.advance());
    CHECK(one.it.running({1, 0}));
}
