// Import: pages in any order, a window where the pool is tight, the boundary page, what is refused.
#include "catch.hpp"
#include "engine.hpp"
#include "ledger_rig.hpp"
#include "refusal.hpp"

using namespace dhisparse_test;

namespace {

std::size_t n_edits(const dh::step_plan& plan, dh::edit::kind what) {
    return static_cast<std::size_t>(std::count_if(plan.edits.begin(), plan.edits.end(), [&](const auto& e) { return e.what == what; }));
}

} // namespace

TEST_CASE("an import takes optional pages while they are spare, above the reserve", "[ledger]") {
    ledger_rig rig({.pool_pages = 10, .reserve_pages = 2});
    const auto slot = rig.it.try_admit({40, 0}).value();
    CHECK(rig.it.import_pages(slot, 0, 10).size() == 4 + 3); // four optional, then the three of its tail
    CHECK(rig.it.pages().optional == 4);
    CHECK(rig.it.pages().free == 2);
}

TEST_CASE("the import window of a tight pool is bounded by the tail pages", "[ledger]") {
    ledger_rig rig({.pool_pages = 4});
    SECTION("of whole pages it takes all of them") {
        const auto slot = rig.it.try_admit({40, 0}).value();
        CHECK(rig.it.import_pages(slot, 0, 10).size() == 3);
        CHECK(rig.it.import_pages(slot, 5, 1).empty());
        CHECK(rig.it.import_pages(slot, 1, 2).size() == 2); // given earlier, given again
    }
    SECTION("it leaves one for the boundary page") {
        const auto slot = rig.it.try_admit({41, 0}).value();
        CHECK(rig.it.import_pages(slot, 0, 10).size() == 2);
        CHECK(rig.it.import_pages(slot, 10, 1).size() == 1);
        CHECK(rig.it.import_pages(slot, 2, 1).empty());
    }
    SECTION("a page comes free once it is backed up, unmapped and fenced") {
        const auto slot = rig.it.try_admit({40, 0}).value();
        const std::vector<dh::gpu_page> first = {rig.it.import_pages(slot, 0, 3)[0]};
        rig.it.landed(slot, 0, 3);
        REQUIRE(rig.it.advance({}, {}).copies.size() == 3);
        CHECK(rig.it.import_pages(slot, 3, 1).empty());
        const auto unmapping = rig.it.advance(std::vector<dh::ticket>{1}, {});
        CHECK(n_edits(unmapping, dh::edit::kind::map) == 1);
        CHECK(rig.it.import_pages(slot, 3, 1).empty());
        REQUIRE(unmapping.fence == 4);
        rig.it.advance(std::vector<dh::ticket>{4}, {});
        const auto next = rig.it.import_pages(slot, 3, 1);
        REQUIRE(next.size() == 1);
        CHECK(next[0] == first[0]);
        CHECK(rig.it.import_pages(slot, 0, 1).empty()); // it is in the host tier for good
    }
}

TEST_CASE("pages land in any order, and a missing one is named", "[ledger]") {
    ledger_rig rig({});
    const auto slot = rig.it.try_admit({18, 0}).value();
    for (const int page : {4, 1, 3, 0}) {
        REQUIRE(rig.it.import_pages(slot, page, 1).size() == 1);
        rig.it.landed(slot, page, 1);
    }
    CHECK(refusal([&] { rig.it.finish_import(slot); }) == "finish_import: page 2 of slot 0 has not landed");
    CHECK(refusal([&] { rig.it.landed(slot, 2, 1); }) == "landed: page 2 of slot 0 was not given by import_pages");
    CHECK(refusal([&] { rig.it.landed(slot, 4, 1); }) == "landed: page 4 of slot 0 has landed already");
    CHECK(refusal([&] { rig.it.landed(slot, 3, 3); }) == "landed: pages [3, 3 + 3), permitted: within [0, 5)");
    CHECK(refusal([&] { (void)rig.it.import_pages(slot, -1, 1); }) == "import_pages: pages [-1, -1 + 1), permitted: within [0, 5)");
    rig.it.import_pages(slot, 2, 1);
    rig.it.landed(slot, 2, 1);
    rig.it.finish_import(slot);
    CHECK(refusal([&] { rig.it.finish_import(slot); }) == "finish_import: the import of slot 0 has finished");
    CHECK(refusal([&] { (void)rig.it.import_pages(slot, 0, 1); }) == "import_pages: the import of slot 0 has finished");
    const auto& plan = rig.advance();
    CHECK(n_edits(plan, dh::edit::kind::map) == 5);
    CHECK(n_edits(plan, dh::edit::kind::frontier) == 1);
}

TEST_CASE("a landed range is taken whole or not at all", "[ledger]") {
    ledger_rig rig({.pool_pages = 4});
    const auto slot = rig.it.try_admit({40, 0}).value();
    rig.it.import_pages(slot, 0, 2);
    CHECK_THROWS_AS(rig.it.landed(slot, 0, 3), dh::invalid_argument);
    rig.it.landed(slot, 0, 2); // neither had landed
    CHECK(rig.advance().copies.size() == 2);
}

TEST_CASE("a window of one tail page imports a prompt page by page", "[ledger]") {
    ledger_rig rig({.pool_pages = 2, .steps_ahead = 0, .tail_pages = 1});
    const auto slot = rig.start(18);
    CHECK(number(rig.it.page_table(slot)[4]) >= 0);
}

TEST_CASE("a window of one tail page does not give it to the boundary page while others wait", "[ledger]") {
    ledger_rig rig({.pool_pages = 2, .steps_ahead = 0, .tail_pages = 1});
    const auto slot = rig.it.try_admit({18, 0}).value();
    for (int i = 0; i < 40; ++i) {
        for (const int page : {4, 3, 2, 1, 0})
            if (!rig.it.import_pages(slot, page, 1).empty()) {
                try {
                    rig.it.landed(slot, page, 1);
                } catch (const dh::invalid_argument&) { // already
                }
            }
        rig.advance();
    }
    rig.it.finish_import(slot);
}

TEST_CASE("the boundary page is tail, and becomes durable by a copy of the whole page", "[ledger]") {
    auto config = plain_config();
    config.reserve_pages = config.pool_pages;
    engine e(config);
    const auto slot = e.start(10, 20);
    CHECK(e.it->tables().records[slot.index].tail_page == 2);
    CHECK(e.page_map(slot, 2) >= 0);
    e.round(slot); // row 10: its copy is made by the commit
    CHECK(e.host_row_is_there(slot, 10));
    CHECK_FALSE(e.host_row_is_there(slot, 8)); // imported, and not backed up
    e.round(slot); // row 11: the page is full
    const auto copying = e.advance(e.completed(), e.frontiers());
    REQUIRE(copying.copies.size() == 1);
    CHECK(number(copying.copies[0].gpu) == e.page_map(slot, 2));
    CHECK(number(copying.copies[0].host) == e.host_map(slot, 2));
    CHECK(e.it->tables().records[slot.index].tail_page == 2); // until it is durable
    e.advance();
    CHECK(e.it->tables().records[slot.index].tail_page == 3);
    CHECK(e.page_map(slot, 2) == -1); // nothing is optional here
    CHECK(e.host_row_is_there(slot, 8));
    e.check_history(slot);
}

TEST_CASE("imported history that stays optional is not backed up", "[ledger]") {
    engine e(plain_config());
    const auto slot = e.start(40, 4);
    CHECK(e.pages().optional == 10);
    CHECK(e.it->copier().n_held() == 0);
    CHECK_FALSE(e.host_row_is_there(slot, 0));
    e.check_history(slot);
    CHECK(e.it->counts().history == 40);
    CHECK(e.it->counts().host == 0);
}

TEST_CASE("CR-09 an import that ends inside a page leaves the frontier there", "[ledger]") {
    engine e(plain_config());
    const auto slot = e.start(10, 20);
    CHECK(e.frontier(slot) == 10);
    const auto at = e.look_up(slot, {9, 10, 11, 12});
    CHECK(at[0] >= 0);
    CHECK(at[1] >= 0); // the query's own position
    CHECK(at[2] == -1);
    CHECK(at[3] == -1);
    CHECK(e.it->counts().count_of(dh::violation::row_out_of_range) == 2);
    CHECK(e.round(slot) == 11);
    CHECK(e.look_up(slot, {11})[0] >= 0);
}

TEST_CASE("an empty prompt needs no page and starts at once", "[ledger]") {
    engine e(plain_config());
    const auto slot = e.start(0, 10);
    CHECK(e.frontier(slot) == 0);
    CHECK(e.look_up(slot, {-1, -1}) == std::vector<dh::location>{-1, -1});
    e.decode(slot, 10);
    e.check_history(slot);
}
