// What every park order must show: one request is named, by the key, and the same one again.
#include "ledger_rig.hpp"

#include "catch.hpp"

using namespace dhisparse_test;

TEST_CASE("where a slot waits for room, the request with the smallest key is named until it is parked", "[park_order]") {
    dh::ledger_policies policies;
    policies.park_order = policy_under_test::key;
    ledger_rig rig({.pool_pages = 14, .host_pages = 100, .shape = {.row_bytes = 32, .index_key_bytes = 32}}, policies);
    std::vector<dh::slot_id> slots{rig.start(4, 400), rig.start(4, 400)};
    std::vector<int> frontiers{4, 4};
    auto plan = rig.advance();
    for (int i = 0; plan.to_park.index < 0 && i < 100; ++i)
        plan = rig.advance(plan.stalled.empty() ? std::vector<dh::frontier_report>{{slots[0], ++frontiers[0]}, {slots[1], ++frontiers[1]}} : std::vector<dh::frontier_report>{});
    const auto expected = policy_under_test::key({0, 1, 0}) < policy_under_test::key({0, 2, 0}) ? slots[0] : slots[1];
    CHECK(plan.to_park == expected);
    CHECK(rig.advance().to_park == expected);
    REQUIRE(rig.it.park(expected));
    for (int i = 0; i < 3; ++i) plan = rig.advance();
    CHECK(plan.stalled.empty());
    CHECK(plan.to_park.index == -1);
}
