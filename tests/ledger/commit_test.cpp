// What a commit publishes, and when a page is durable.
#include "catch.hpp"
#include "engine.hpp"

using namespace dhisparse_test;

namespace {

/// Nothing stays on the GPU as optional history, so that every later read tests the host tier.
dh::hierarchy_config host_only(const plain_shape_options& shape = {}, int k_max = 1) {
    auto config = plain_config(shape);
    config.k_max = k_max;
    config.hot_pages *= k_max;
    config.pool_pages = config.reserve_pages = 128;
    return config;
}

} // namespace

TEST_CASE("CR-01 a position whose row was never written is not committed, and its page is not complete", "[ledger]") {
    engine e(host_only());
    const auto slot = e.start(3, 1); // four tokens in the end, three rows written
    CHECK(e.frontier(slot) == 3);
    e.advance();
    CHECK(e.it->tables().records[slot.index].tail_page == 0);
    CHECK(e.it->copier().n_held() == 0);
    CHECK_FALSE(e.host_row_is_there(slot, 0));
    e.append(slot, 1); // written but not committed: still not
    e.advance();
    CHECK(e.frontier(slot) == 3);
    CHECK(e.it->copier().n_held() == 0);
    e.round(slot);
    CHECK(e.advance(e.completed(), e.frontiers()).copies.size() == 1);
}

TEST_CASE("CR-02 accepted and rejected rows leave the pools as they were once the request ends", "[ledger]") {
    engine e(host_only({}, 4));
    const auto slot = e.start(6, 20);
    const auto locations = e.append(slot, 4);
    const std::vector<dh::location> at(locations.group_locations(0), locations.group_locations(0) + 4);
    CHECK(std::set(at.begin(), at.end()).size() == 4);
    CHECK(e.round(slot, 4, 2) == 9); // n' = n + A + 1
    const auto next = e.append(slot, 1);
    CHECK(next.group_locations(0)[0] == at[3]); // the rejected row is overwritten
    CHECK(e.look_up(slot, {6, 7, 8, 9})[3] == at[3]);
    e.finish(slot);
    for (int i = 0; i < 3; ++i) e.advance();
    CHECK(e.pages().free == 128);
    CHECK(e.ledger().free_host_pages() == 64);
}

TEST_CASE("CR-03 a request that ends with its last commit keeps its pages until its copies are done", "[ledger]") {
    auto config = host_only({}, 4);
    config.slots = 1;
    config.pool_pages = config.reserve_pages = config.hot_pages + 4;
    config.host_pages = 8;
    engine e(config);
    const auto a = e.start(5, 20);
    e.round(a, 4, 3);                                                      // the boundary page is full
    REQUIRE(e.advance(e.completed(), e.frontiers()).copies.size() == 1);   // a whole copy, held
    e.round(a, 4, 3);
    e.finish(a);
    const auto copied = e.it->copier().held(0);
    for (int i = 0; i < 3; ++i) e.advance(e.completed(), {}); // fences pass, the copy does not happen
    CHECK(e.pages().leaving == 1);
    CHECK(e.ledger().free_host_pages() == 7);
    CHECK(e.it->fits({5, 20}).answer == dh::verdict::later);
    e.it->copier().release_all();
    e.advance(e.completed(), {});
    CHECK(e.pages().leaving == 0);
    CHECK(e.ledger().free_host_pages() == 8);
    const auto b = e.start(21, 8); // takes the same pages of both tiers
    bool reused = false;
    for (int page = 0; page < 6; ++page) reused |= e.host_map(b, page) == number(copied.host);
    CHECK(reused);
    e.decode(b, 7);
    for (int row = 0; row < 20; ++row) CHECK(e.host_row_is_there(b, row));
    e.check_history(b);
}

TEST_CASE("CR-04 the frontier follows what was scheduled and accepted, in the same round", "[ledger]") {
    auto config = host_only({}, 4);
    config.steps_ahead = 0;
    engine e(config);
    const auto slot = e.start(4, 40);
    CHECK(e.round(slot, 4, 3) == 8);
    CHECK(e.it->counts().backed_up_rows == 4);
    e.advance();
    CHECK(e.it->tables().records[slot.index].tail_page == 2); // the page that it completed is durable at once
    CHECK(e.ledger().durable_positions(slot) == 8);
    CHECK(e.round(slot, 2, 1) == 10);
    CHECK(e.round(slot, 4, 0) == 11);
    CHECK(e.round(slot, 0, 0) == 11); // K = 0
}

TEST_CASE("CR-05 a page that fills with the last step is durable without another step", "[ledger]") {
    engine e(host_only());
    const auto slot = e.start(0, 8);
    e.decode(slot, 8);
    CHECK(e.ledger().durable_positions(slot) == 8);
    for (int row = 0; row < 8; ++row) CHECK(e.host_row_is_there(slot, row));
}

TEST_CASE("CR-07 a commit completes the rows between the two frontiers", "[ledger]") {
    for (int n = 0; n < 4; ++n)
        for (int accepted = 0; accepted < 5; ++accepted) {
            CAPTURE(n, accepted);
            engine e(host_only({.page_positions = 8, .k = 2, .m = 4}, 5));
            const auto slot = e.start(n + 8, 40);
            const int next = e.round(slot, 5, accepted);
            CHECK(next == n + 8 + accepted + 1);
            CHECK(e.it->counts().backed_up_rows == static_cast<std::uint64_t>(next / 4 - (n + 8) / 4));
            for (int row = (n + 8) / 4; row < next / 4; ++row) CHECK(e.host_row_is_there(slot, row));
        }
}

TEST_CASE("CR-08 every page becomes durable soon after it is complete, with no holes", "[ledger]") {
    engine e(host_only({}, 6));
    random_source random(dhisparse_test::seed());
    CAPTURE(dhisparse_test::seed());
    const auto slot = e.start(2, 128);
    std::vector<int> full; // frontier of each round
    for (int i = 0; i < 100 && e.frontier(slot) <= 120; ++i) {
        const int a = random.between(0, 5);
        full.push_back(e.round(slot, 6, a) / 4 * 4);
        e.advance();
        if (i < 2) continue;
        CHECK(e.ledger().durable_positions(slot) >= full[full.size() - 3]);
        for (int row = 0; row < full[full.size() - 3]; ++row) REQUIRE(e.host_row_is_there(slot, row));
        CHECK(e.it->tables().records[slot.index].tail_page >= full[full.size() - 3] / 4);
    }
    e.check_history(slot);
}

TEST_CASE("ST-09 ten thousand rounds with any number accepted leave no page behind", "[ledger]") {
    auto config = host_only({.page_positions = 64, .k = 4}, 4);
    config.host_pages = 640;
    config.pool_pages = config.reserve_pages = 8;
    engine e(config);
    random_source random(dhisparse_test::seed());
    CAPTURE(dhisparse_test::seed());
    const auto slot = e.start(10, 40'000);
    for (int i = 0; i < 10'000; ++i) {
        e.round(slot, 4, random.between(0, 3));
        e.advance();
    }
    CHECK(e.frontier(slot) > 20'000);
    e.finish(slot);
    for (int i = 0; i < 3; ++i) e.advance();
    CHECK(e.pages().free == 8);
    CHECK(e.ledger().free_host_pages() == 640);
}

TEST_CASE("the durable watermark follows the commits, page by page where the host tier lacked room", "[ledger]") {
    SECTION("row by row") {
        engine e(host_only());
        const auto slot = e.start(6, 20);
        CHECK(e.ledger().durable_positions(slot) == 6);
        e.round(slot);
        CHECK(e.ledger().durable_positions(slot) == 6); // as far as the host knows
        e.advance();
        CHECK(e.ledger().durable_positions(slot) == 7);
    }
    SECTION("a page without host space holds it back") {
        auto config = host_only();
        config.host_pages = 2;
        engine e(config);
        const auto slot = e.start(6, 20);
        e.decode(slot, 2);
        CHECK(e.ledger().durable_positions(slot) == 8);
        e.decode(slot, 3);
        CHECK(e.ledger().durable_positions(slot) == 8);
    }
    SECTION("without a host tier it stays at the prompt") {
        auto config = host_only();
        config.host_pages = 0;
        engine e(config);
        const auto slot = e.start(6, 20);
        e.decode(slot, 9);
        CHECK(e.ledger().durable_positions(slot) == 6);
    }
    SECTION("an importing request has none") {
        engine e(host_only());
        CHECK(e.ledger().durable_positions(e.admit(6, 20)) == 0);
    }
}
