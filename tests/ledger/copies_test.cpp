// Copies between the tiers against what is written and read meanwhile, and how much of a step they are.
#include "engine.hpp"
#include "ledger_rig.hpp"
#include "refusal.hpp"

using namespace dhisparse_test;

TEST_CASE("BK-02 rows committed without a host page are never taken for backed up, however many rounds run", "[ledger]") {
    auto config = plain_config();
    config.host_pages = 2; // the prompt's page and the next one
    config.slots = 1;
    engine e(config);
    const auto slot = e.start(4, 40);
    for (int i = 0; i < 20; ++i) {
        e.round(slot);
        e.advance();
        CHECK(e.it->counts().backed_up_rows == static_cast<std::uint64_t>(std::min(i + 1, 4))); // what had a place
        CHECK(e.ledger().durable_positions(slot) == std::min(5 + i, 8));
    }
    for (int page = 2; page < 6; ++page) {
        CHECK(e.host_map(slot, page) == -1);
        CHECK(e.page_map(slot, page) >= 0); // its one copy
    }
    e.check_history(slot);
}

TEST_CASE("BK-07 a page that a backup still reads is given to nobody, and the host gets what was written", "[ledger]") {
    auto config = plain_config();
    config.pool_pages = 6; // a hot page, a window of a few
    config.host_pages = 300;
    config.reserve_pages = config.pool_pages;
    engine e(config);
    constexpr int n_pages = 256;
    const auto slot = e.admit(n_pages * 4, 4);
    random_source random(seed());
    std::set<int> read; // gpu pages of copies that have not happened
    int n_waits = 0;
    for (int page = 0; page < n_pages; ++page) {
        auto given = e.it->import_pages(slot, page, 1);
        for (; given.empty(); ++n_waits) {
            auto& copier = e.it->copier();
            if (copier.n_held() > 0) copier.release(static_cast<std::size_t>(random.between(0, static_cast<int>(copier.n_held()) - 1))); // late, and in any order
            e.advance(e.completed(), {});
            read.clear();
            for (std::size_t i = 0; i < copier.n_held(); ++i) read.insert(number(copier.held(i).gpu));
            given = e.it->import_pages(slot, page, 1);
        }
        REQUIRE_FALSE(read.contains(number(given[0])));
        e.write_page(slot, page, given[0]);
        e.it->landed(slot, page, 1);
    }
    CHECK(n_waits > n_pages / 2); // each behind copies that were late
    for (int i = 0; i < 3; ++i) e.advance();
    int n_wrong = 0;
    for (int row = 0; row < n_pages * 4; ++row) n_wrong += !e.host_row_is_there(slot, row);
    CHECK(n_wrong == 0);
}

TEST_CASE("BK-10 a prefix has all of its index keys in the host tier, or isn't there", "[ledger]") {
    ledger_rig rig({.pool_pages = 40, .host_pages = 40, .shape = {.row_bytes = 32, .index_key_bytes = 8}});
    const auto a = rig.start(20);
    REQUIRE(rig.it.reclaim(5) > 0); // its five pages of rows go to the host tier
    for (int i = 0; i < 3; ++i) rig.advance();
    rig.it.reclaim(0);
    SECTION("without room for the keys it is not kept") {
        const auto filler = rig.it.try_admit({4 * rig.it.free_host_pages(), 0});
        REQUIRE(filler);
        REQUIRE(rig.it.free_host_pages() == 0);
        CHECK_FALSE(rig.it.keep(a, 20));
    }
    SECTION("until the keys have arrived nobody gets it, and where they don't it ends") {
        const auto kept = rig.it.keep(a, 20).value();
        CHECK(rig.it.fits({24, 0, kept, 20}).limit == std::string("copies of the prefix"));
        const auto plan = rig.it.advance({}, {});
        REQUIRE_FALSE(plan.copies.empty());
        const bool fails = GENERATE(false, true);
        rig.note(plan);
        if (fails) rig.outstanding[0] = dh::failure_of(rig.outstanding[0]);
        rig.advance();
        if (fails) CHECK(refusal([&] { (void)rig.it.kept_positions(kept); }) == "kept_positions: prefix 1 is not kept");
        else CHECK(rig.it.fits({24, 0, kept, 20}).answer == dh::verdict::now);
    }
}

TEST_CASE("AD-16 what a step edits and copies doesn't grow with the history that is held", "[ledger]") {
    const auto step_of = [](int pages) {
        ledger_rig rig({.pool_pages = 4 * pages, .host_pages = 4 * pages, .slots = 2});
        const auto a = rig.start(4 * pages, 40);
        REQUIRE(rig.it.reclaim(pages) == pages); // all durable
        for (int i = 0; i < 3; ++i) rig.advance();
        std::vector<std::size_t> out;
        for (int i = 1; i <= 12; ++i) {
            const auto& plan = rig.advance({{a, 4 * pages + i}});
            out.push_back(plan.edits.size());
            out.push_back(plan.copies.size());
        }
        return out;
    };
    CHECK(step_of(8) == step_of(512));
}
