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

namespace {

/// Where in this memory the bytes lie.
std::vector<std::int64_t> places_of(const std::vector<std::byte>& bytes, const std::byte* memory, std::int64_t size) {
    std::vector<std::int64_t> out;
    for (const auto* at = memory; (at = std::search(at, memory + size, bytes.begin(), bytes.end())) != memory + size; ++at) out.push_back(at - memory);
    return out;
}

/// Rounds of four over a hot cache of one page: unions are staged.
dh::hierarchy_config small_cache() {
    auto config = host_only({.page_positions = 8, .k = 8}, 4);
    config.hot_pages = 1;
    return config;
}

/// All 32 selected rows of a round of four are found; the first three queries select history, the last one the round's rows too; the third what the second does.
std::vector<dh::location> resolve_some(engine& e, const dh::round_ref& round, int n, int shift) {
    std::vector<std::int32_t> rows;
    for (int i = 0; i < 24; ++i) rows.push_back(((i < 16 ? i : i - 8) * 5 + shift) % (n - 8));
    for (int i = 0; i < 8; ++i) rows.push_back(n - 4 + i);
    std::vector<dh::location> at(4 * 64);
    e.it->resolve(round, e.it->layout().shape().announcements[0], {rows.data(), 8, 8}, {at.data(), 64});
    for (int i = 0; i < 32; ++i) CHECK(at[static_cast<std::size_t>(i / 8 * 64 + i % 8)] >= 0);
    return at;
}

} // namespace

TEST_CASE("after a commit the bytes of rejected rows are nowhere but in their own places of the tail", "[ledger]") {
    const int combination = GENERATE(0, 1, 2, 4);
    engine e(small_cache(), combination);
    const auto slot = e.start(60, 100);
    for (int i = 0; i < 12; ++i) {
        const int n = e.frontier(slot), accepted = i % 4;
        const auto round = e.append(slot, 4);
        resolve_some(e, round, n, i);
        std::vector<std::vector<std::byte>> rejected;
        std::vector<dh::location> at;
        for (int t = n + accepted + 1; t < n + 4; ++t) {
            rejected.push_back(e.row_bytes(slot, 0, 0, t));
            at.push_back(round.group_locations(0)[t - n]);
        }
        const std::int32_t a = accepted;
        e.it->commit(round, &a);
        CHECK(e.frontier(slot) == n + accepted + 1);
        e.advance();
        const auto tiers = e.it->tiers();
        for (std::size_t r = 0; r < rejected.size(); ++r) {
            CHECK(places_of(rejected[r], tiers.host, 64 * tiers.host_page_bytes).empty());
            std::vector<std::int64_t> own{tiers.lanes[0].offset_bytes(at[r], 0)};
            if (DHISPARSE_CHECKS) own.clear(); // overwritten there
            CHECK(places_of(rejected[r], tiers.slab, e.it->layout().slab_bytes()) == own);
            CHECK(e.it->find(slot.index, 0, n + accepted + 1 + static_cast<int>(r)) == dh::no_code);
        }
        CHECK(e.ledger().durable_positions(slot) <= n + accepted + 1);
    }
    CHECK(e.it->counts().staged_rows > 60);
    CHECK((combination != 0 || e.it->counts().promoted_rows > 0));
}

TEST_CASE("a request that ends in the middle of a round damages neither itself nor its neighbour", "[ledger]") {
    const int when = GENERATE(0, 1, 2); // after append, after resolve, after commit
    CAPTURE(when);
    engine e(small_cache());
    const auto ends = e.start(60, 40), stays = e.start(50, 60);
    const auto free_host = e.ledger().free_host_pages();
    const auto round = e.append(ends, 4);
    if (when == 0) e.finish(ends);
    resolve_some(e, round, 60, 1);
    if (when == 1) e.finish(ends);
    const std::int32_t a = 2;
    e.it->commit(round, &a);
    if (when == 2) e.finish(ends);
    const auto late = e.it->append({&ends.index, nullptr, 1}); // a step launched before the host knew
    e.it->commit(late, nullptr);
    for (int i = 0; i < 3; ++i) e.advance();
    CHECK(e.ledger().free_host_pages() > free_host);
    e.decode(stays, 20);
    e.check_history(stays);
    const auto next = e.start(60, 40); // in its slot and pages
    CHECK(next.index == ends.index);
    e.decode(next, 20);
    e.check_history(next);
    e.check_history(stays);
}

TEST_CASE("a page stays on the GPU until its positions are settled", "[ledger]") {
    auto config = host_only();
    config.max_unsettled = 3;
    engine e(config);
    const auto slot = e.start(6, 30);
    const auto settle = [&](int width, int unsettled) {
        e.it->commit(e.append(slot, width), nullptr, unsettled);
        e.advance(e.completed(), {{slot, e.it->settled_positions(slot)}});
        e.it->copier().release_all();
    };
    for (int i = 0; i < 6; ++i) settle(1, 3); // frontier 12, settled 9
    CHECK(e.frontier(slot) == 12);
    CHECK(e.it->settled_positions(slot) == 9);
    for (int i = 0; i < 2; ++i) e.advance(e.completed(), {{slot, 9}});
    CHECK(e.page_map(slot, 1) == -1);
    CHECK(e.page_map(slot, 2) >= 0);
    CHECK(e.host_row_is_there(slot, 8));
    CHECK_FALSE(e.host_row_is_there(slot, 9));
    CHECK(e.ledger().durable_positions(slot) <= 9);
    settle(0, 0);
    CHECK(e.it->settled_positions(slot) == 12);
    CHECK(e.page_map(slot, 2) == -1);
    e.check_history(slot);
    const auto refused = [&](int unsettled, dh::pass of) {
        try {
            e.it->commit(e.append(slot, 0), nullptr, unsettled, of);
        } catch (const dh::invalid_argument& why) { return std::string(why.what()); }
        return std::string();
    };
    CHECK(refused(4, dh::pass::target) == "unsettled is 4, permitted: 0 to 3");
    CHECK(refused(-1, dh::pass::target) == "unsettled is -1, permitted: 0 to 3");
    CHECK(refused(0, dh::pass::draft) == "no group belongs to the draft pass");
}
