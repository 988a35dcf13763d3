// What every reclaim order must show: whole requests by its key, and always enough in the end.
#include "ledger_rig.hpp"

#include "catch.hpp"

#include <algorithm>

using namespace dhisparse_test;

namespace {

dh::ledger_policies chosen() {
    dh::ledger_policies out;
    out.reclaim_order = policy_under_test::key;
    return out;
}

/// Pages of a slot that are on the GPU.
int n_resident(const ledger_rig& rig, dh::slot_id slot) {
    const auto pages = rig.it.page_table(slot);
    return static_cast<int>(std::count_if(pages.begin(), pages.end(), [](auto page) { return page != dh::gpu_page::none; }));
}

} // namespace

TEST_CASE("the key depends on what it is told alone", "[reclaim_order]") {
    const dh::residency r{5, 3, 9};
    CHECK(policy_under_test::key(r) == policy_under_test::key(dh::residency{5, 3, 9}));
}

TEST_CASE("requests give all of their optional history, in key order, until there is enough", "[reclaim_order]") {
    ledger_rig rig({.pool_pages = 60, .slots = 4}, chosen());
    const int sizes[] = {12, 28, 20, 8};
    std::vector<dh::slot_id> slots;
    for (const int n : sizes) slots.push_back(rig.start(n));
    std::vector<std::pair<std::uint64_t, std::size_t>> order;
    for (std::size_t i = 0; i < slots.size(); ++i) order.emplace_back(policy_under_test::key({sizes[i] / 4, i + 1, 0}), i);
    std::sort(order.begin(), order.end());
    const auto first = order[0].second, second = order[1].second;
    CHECK(rig.it.reclaim(sizes[first] / 4 + 1) == (sizes[first] + sizes[second]) / 4);
    for (int i = 0; i < 3; ++i) rig.advance();
    for (std::size_t i = 0; i < slots.size(); ++i) CHECK((n_resident(rig, slots[i]) == 0) == (i == first || i == second));
}

TEST_CASE("every order gives all that there is, and nothing where that would not do", "[reclaim_order]") {
    ledger_rig rig({.pool_pages = 60, .slots = 3}, chosen());
    for (const int n : {12, 28, 20}) rig.start(n);
    CHECK(rig.it.reclaim(16) == 0);
    CHECK(rig.it.pages().reclaiming == 0);
    CHECK(rig.it.reclaim(15) == 15);
    for (int i = 0; i < 3; ++i) rig.advance();
    CHECK(rig.it.pages().optional == 0);
}
