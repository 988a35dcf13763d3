// What every refill order must show: bounded, mapped when complete, everything comes back.
#include "ledger_rig.hpp"

#include "catch.hpp"

#include <algorithm>

using namespace dhisparse_test;

TEST_CASE("history comes back page by page, by the order's key, until all of it is there", "[refill_order]") {
    dh::ledger_policies policies;
    policies.refill_order = policy_under_test::key;
    ledger_rig rig({.pool_pages = 60, .slots = 3, .refill_pages_per_step = 1}, policies);
    std::vector<dh::slot_id> slots{rig.start(12), rig.start(28), rig.start(20)};
    REQUIRE(rig.it.reclaim(15) == 15);
    for (int i = 0; i < 2; ++i) rig.advance();
    REQUIRE(rig.it.pages().optional == 0);
    rig.it.reclaim(0); // nobody takes them
    std::vector<int> left{3, 7, 5}, mapped(3, 0);
    std::vector<std::uint64_t> served(3, 0);
    for (std::uint64_t n = 1; n <= 15; ++n) {
        std::size_t next = 3;
        for (std::size_t i = 0; i < 3; ++i)
            if (left[i] > 0 && (next == 3 || policy_under_test::key({0, i + 1, served[i]}) < policy_under_test::key({0, next + 1, served[next]}))) next = i;
        const auto plan = rig.advance();
        REQUIRE(plan.copies.size() == 1);
        CHECK(plan.copies[0].way == dh::direction::to_gpu);
        for (std::size_t i = 0; i < 3; ++i) { // those whose copies are complete, and no others
            const auto pages = rig.it.page_table(slots[i]);
            CHECK(std::count_if(pages.begin(), pages.end(), [](auto page) { return page != dh::gpu_page::none; }) == mapped[i]);
        }
        --left[next];
        ++mapped[next];
        served[next] = n;
    }
    CHECK(rig.advance().copies.empty());
    CHECK(rig.it.pages().optional == 15);
}
