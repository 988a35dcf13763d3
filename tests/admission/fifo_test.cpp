// The queue: arrival order, nobody starves, and every interleaving of a few requests comes to its end.
#include "catch.hpp"
#include "ledger_rig.hpp"
#include "random.hpp"

#include <dhisparse/admission/fifo.hpp>
#include <dhisparse/policy/growth/reserved.hpp>

using namespace dhisparse_test;
using queue = dh::admission::fifo<dh::ledger>;
using kind = queue::event::kind;

namespace {

struct one_request {
    enum class state { new_, waiting, importing, running, parked, done } at = state::new_, before = state::new_;
    int prompt = 0, growth = 0, frontier = 0;
    queue::number number = 0;
    dh::slot_id slot = {};
    bool stalled = false;
};

/// A few requests, a ledger and its queue; copied at every branch.
struct world {
    ledger_rig rig;
    queue q;
    std::vector<one_request> requests;
    bool late = false; // work completes only when nothing else can be done
    int n_parks = 0, n_restarts = 0;
    std::vector<queue::number> admitted;

    world(const rig_sizes& sizes, const dh::ledger_policies& policies) : rig(sizes, policies), q(rig.it) {}
    world(const world& other) : rig(other.rig), q(other.q, rig.it), requests(other.requests), late(other.late), n_parks(other.n_parks), n_restarts(other.n_restarts), admitted(other.admitted) {}

    bool may_act(const one_request& r) const {
        using enum one_request::state;
        return r.at == new_ || (r.at == running && !r.stalled && rig.it.running(r.slot));
    }
    bool done() const {
        return std::all_of(requests.begin(), requests.end(), [](const auto& r) { return r.at == one_request::state::done; });
    }
    /// Arrives; or takes steps until it stalls, or all of its growth; or ends.
    void act(one_request& r) {
        using enum one_request::state;
        if (r.at == new_) {
            r.number = q.submit({r.prompt, r.growth}).value();
            r.at = waiting;
            return plan({});
        }
        if (r.frontier == r.prompt + r.growth) {
            q.finish(r.slot);
            r.at = done;
            return plan({});
        }
        for (int i = 0; i < 8 && r.at == running && !r.stalled && r.frontier < r.prompt + r.growth; ++i) plan({{r.slot, ++r.frontier}});
    }
    void complete() {
        plan({}, true);
    }
    void plan(const std::vector<dh::frontier_report>& reports, bool all = false) {
        const auto& made = late && !all ? rig.it.advance({}, reports) : rig.advance(reports);
        if (late && !all) rig.note(made);
        for (auto& r : requests)
            r.stalled = std::any_of(made.stalled.begin(), made.stalled.end(), [&](const auto& s) { return s.slot == r.slot && (r.at == one_request::state::running); });
        for (const auto& event : q.step(made)) take(event);
        for (auto& r : requests)
            if (r.at == one_request::state::importing) import(r);
    }
    void take(const queue::event& event) {
        using enum one_request::state;
        auto& r = *std::find_if(requests.begin(), requests.end(), [&](const auto& one) { return one.number == event.request; });
        r.slot = event.slot;
        if (event.what == kind::admitted) r.at = importing, r.frontier = r.prompt, admitted.push_back(r.number);
        if (event.what == kind::parked) r.before = r.at, r.at = parked, ++n_parks;
        if (event.what == kind::resumed) r.at = r.before;
        if (event.what == kind::restarted) r.at = waiting, r.frontier = r.prompt, ++n_restarts;
    }
    void import(one_request& r) {
        if (!rig.it.importing(r.slot)) return;
        const int pages = (r.prompt + 3) / 4;
        for (int page = 0; page < pages; ++page) {
            const auto given = rig.it.import_pages(r.slot, page, 1);
            try {
                if (!given.empty()) rig.it.landed(r.slot, page, 1);
            } catch (const dh::invalid_argument&) { // it has already
            }
        }
        try {
            rig.it.finish_import(r.slot);
            r.at = one_request::state::running;
        } catch (const dh::invalid_argument&) { // its window is full
        }
    }
};

struct tallies {
    long leaves = 0;
    int most_parks = 0, most_restarts = 0;
};

/// Every order in which the requests can act.
void explore(const world& w, tallies& all) {
    bool any = false;
    for (std::size_t i = 0; i < w.requests.size(); ++i) {
        if (!w.may_act(w.requests[i])) continue;
        any = true;
        world next(w);
        next.act(next.requests[i]);
        explore(next, all);
    }
    if (any) return;
    if (w.done()) {
        ++all.leaves;
        all.most_parks = std::max(all.most_parks, w.n_parks);
        all.most_restarts = std::max(all.most_restarts, w.n_restarts);
        REQUIRE(w.rig.it.free_slots() == 4);
        return;
    }
    world next(w);
    for (int i = 0; i < 60; ++i) {
        next.complete();
        for (const auto& r : next.requests)
            if (next.may_act(r)) return explore(next, all);
    }
    FAIL("nobody can act, and not all requests are done");
}

struct setting {
    const char* name;
    rig_sizes sizes;
    bool reserved = false;
};

std::vector<setting> settings() {
    const plain_shape_options keys{.row_bytes = 32, .index_key_bytes = 32}; // an index page a page
    return {
        {"a pool for a request and a half", {.pool_pages = 10, .host_pages = 60, .refill_pages_per_step = 2, .shape = keys}},
        {"one for two, until they grow", {.pool_pages = 14, .host_pages = 60, .refill_pages_per_step = 2, .backup_pages_per_step = 1, .shape = keys}},
        {"host pages for one and a half", {.pool_pages = 14, .host_pages = 6, .refill_pages_per_step = 1}},
        {"no host tier, growth reserved", {.pool_pages = 7, .host_pages = 0, .hot_pages = 0, .steps_ahead = 0}, true},
        {"no host tier, stepwise", {.pool_pages = 7, .host_pages = 0, .hot_pages = 0, .steps_ahead = 0}},
    };
}

tallies explore(const setting& set, int n_requests, bool late) {
    dh::ledger_policies policies;
    if (set.reserved) policies.growth = dh::reserved::positions;
    world w(set.sizes, policies);
    w.late = late;
    for (int i = 0; i < n_requests; ++i) w.requests.push_back({.prompt = 4 + 4 * (i % 2), .growth = 8});
    tallies all;
    explore(w, all);
    return all;
}

} // namespace

TEST_CASE("every interleaving of three requests comes to its end", "[admission]") {
    int parks = 0, restarts = 0;
    long leaves = 0;
    for (const auto& set : settings())
        for (const bool late : {false, true}) {
            CAPTURE(set.name, late);
            const auto all = explore(set, 3, late);
            parks += all.most_parks;
            restarts += all.most_restarts;
            CHECK(all.leaves >= 6); // the orders of arrival, where one runs at a time
            leaves += all.leaves;
            CHECK(all.most_parks <= 8);
            CHECK(all.most_restarts <= 8);
        }
    CHECK(leaves > 150);
    CHECK(parks > 0); // room was made in both ways
    CHECK(restarts > 0);
}

TEST_CASE("every interleaving of four requests comes to its end", "[admission][slow]") {
    for (const auto& set : settings())
        for (const bool late : {false, true}) {
            CAPTURE(set.name, late);
            CHECK(explore(set, 4, late).leaves > 0);
        }
}

TEST_CASE("requests are admitted as they arrived; a small one does not pass a large one", "[admission]") {
    ledger_rig rig({.pool_pages = 100, .host_pages = 30, .slots = 4});
    queue q(rig.it);
    const auto a = q.submit({80, 0}).value(), b = q.submit({80, 0}).value(), c = q.submit({4, 0}).value();
    auto events = q.step(rig.advance());
    REQUIRE(events.size() == 1);
    CHECK(events[0].request == a);
    const auto slot = events[0].slot;
    CHECK(q.step(rig.advance()).empty());
    CHECK(q.n_waiting() == 2);
    q.finish(slot);
    std::vector<queue::number> order;
    for (int i = 0; i < 4; ++i)
        for (const auto& event : q.step(rig.advance())) order.push_back(event.request);
    CHECK(order == std::vector{b, c});
}

TEST_CASE("AD-02 a demand that can never fit is refused as it is submitted, and holds nobody up", "[admission]") {
    ledger_rig rig({.pool_pages = 100, .host_pages = 20});
    queue q(rig.it);
    CHECK_FALSE(q.submit({81, 0}));
    CHECK_FALSE(q.submit({4, 100})); // its reserved length can't
    CHECK(q.submit({10, 0}));
    CHECK(q.step(rig.advance()).size() == 1);
}

TEST_CASE("the front's reclaim is let go of when it is cancelled", "[admission]") {
    ledger_rig rig({.pool_pages = 24, .host_pages = 200, .slots = 4, .refill_pages_per_step = 8});
    queue q(rig.it);
    const auto a = rig.start(40), b = rig.start(24);
    const auto waits = q.submit({80, 0}).value();
    CHECK(q.step(rig.advance()).empty());
    CHECK(rig.it.pages().reclaiming == 10);
    CHECK(q.cancel(waits));
    CHECK_FALSE(q.cancel(waits));
    for (int i = 0; i < 6; ++i) CHECK(q.step(rig.advance()).empty());
    CHECK(rig.it.pages().optional == 16); // all of it is back
    CHECK(rig.it.running(a));
    CHECK(rig.it.running(b));
}

TEST_CASE("a request that is restarted does without its prefix, which may be gone by then", "[admission]") {
    ledger_rig rig({.pool_pages = 6, .host_pages = 0, .slots = 2, .hot_pages = 0, .steps_ahead = 0});
    queue q(rig.it);
    const auto import = [&](dh::slot_id slot) {
        for (int page = rig.it.shared_positions(slot) / 4; page < 2; ++page) {
            REQUIRE(rig.it.import_pages(slot, page, 1).size() == 1);
            rig.it.landed(slot, page, 1);
        }
        rig.it.finish_import(slot);
        rig.advance();
    };
    (void)q.submit({8, 8});
    const auto a = q.step(rig.advance()).front().slot;
    import(a);
    const auto prefix = rig.it.keep(a, 4).value();
    const auto second = q.submit({8, 8, prefix, 4}).value();
    const auto b = q.step(rig.advance()).front().slot;
    CHECK(rig.it.shared_positions(b) == 4);
    import(b);
    rig.it.drop(prefix);
    bool restarted = false;
    for (int n = 9; n <= 16 && !restarted; ++n) // neither can be parked: there is no host tier
        for (const auto& event : q.step(rig.advance({{a, n}, {b, n}}))) restarted |= event.what == kind::restarted && event.request == second;
    REQUIRE(restarted);
    q.finish(a);
    std::vector<queue::event> events;
    for (int i = 0; i < 4; ++i)
        for (const auto& event : q.step(rig.advance())) events.push_back(event);
    REQUIRE(events.size() == 1);
    CHECK(events[0].what == kind::admitted);
    CHECK(events[0].request == second);
    CHECK(rig.it.shared_positions(events[0].slot) == 0);
}

TEST_CASE("AD-06 four equal requests in a pool for one and a half all finish, with few parks", "[admission]") {
    dh::ledger_policies policies;
    auto sizes = settings()[1].sizes;
    sizes.pool_pages = 15;
    world w(sizes, policies);
    for (int i = 0; i < 4; ++i) w.requests.push_back({.prompt = 8, .growth = 12});
    for (int i = 0; i < 2000 && !w.done(); ++i) {
        bool acted = false;
        for (auto& r : w.requests)
            if (w.may_act(r)) w.act(r), acted = true;
        if (!acted) w.complete();
    }
    CHECK(w.done());
    CHECK(w.n_parks > 0);
    CHECK(w.n_parks <= 8);
    CHECK(w.n_restarts == 0);
    CHECK(std::is_sorted(w.admitted.begin(), w.admitted.end()));
}

TEST_CASE("AD-05 with nobody admitted and somebody waiting, one is admitted as soon as all pages are back", "[admission]") {
    CAPTURE(dhisparse_test::seed());
    random_source random(dhisparse_test::seed());
    ledger_rig rig({.pool_pages = 24, .host_pages = 40, .slots = 4, .refill_pages_per_step = 2});
    queue q(rig.it);
    std::vector<dh::slot_id> live;
    for (int i = 0; i < 20'000; ++i) {
        if (random.one_in(3)) (void)q.submit({random.between(1, 100), random.between(0, 40)});
        if (random.one_in(4)) (void)q.cancel(static_cast<queue::number>(random.between(1, i + 1)));
        if (!live.empty() && random.one_in(3)) {
            q.finish(live.back()); // whatever it has imported
            live.pop_back();
        }
        if (random.one_in(8)) (void)rig.it.reclaim(random.between(0, 4));
        for (const auto& event : q.step(rig.advance())) {
            REQUIRE(event.what == kind::admitted);
            live.push_back(event.slot);
            if (!rig.it.import_pages(event.slot, 0, 1).empty()) rig.it.landed(event.slot, 0, 1);
        }
        const bool idle = live.empty() && q.n_waiting() > 0 && rig.it.pages().free == 24;
        REQUIRE_FALSE(idle);
    }
}
