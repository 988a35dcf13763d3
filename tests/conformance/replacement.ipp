// What every replacement policy must show: a total order in which entries give way, never one in
// use.
#include <dhisparse/cache/hot_cache.hpp>
#include <dhisparse/policy/hot_index/dense.hpp>

#include "catch.hpp"

#include <algorithm>
#include <random>
#include <set>
#include <tuple>
#include <vector>

namespace {

using namespace dhisparse;
using cache_ref = hot_cache_ref<dense, policy_under_test>;

/// Entries as a hot cache holds them, without rows.
struct entries {
    std::vector<stamp> used, entered;

    std::int32_t size() const { return static_cast<std::int32_t>(used.size()); }
    cache_ref ref() { return {{}, used.data(), entered.data(), nullptr, nullptr, size()}; }
    std::vector<std::int32_t> choose(std::int32_t n, stamp now) {
        std::vector<std::uint64_t> candidates(used.size());
        std::vector<std::int32_t> victims(used.size());
        victims.resize(static_cast<std::size_t>(ref().choose(n, now, candidates, victims)));
        return victims;
    }
};

/// Stamps up to now, with many equal ones; an entry is used no earlier than it entered.
template <class Random>
entries random_entries(std::int32_t n, stamp now, Random& random) {
    entries out;
    for (std::int32_t e = 0; e < n; ++e) {
        const auto used = static_cast<stamp>(random() % (now + 1));
        out.used.push_back(used);
        out.entered.push_back(static_cast<stamp>(random() % (used + 1)));
    }
    return out;
}

/// The same by sorting: by key, then by entry as the policy documents; those in use left out.
std::vector<std::int32_t> choose_by_sorting(const entries& all, std::int32_t n, stamp now) {
    std::vector<std::tuple<stamp, std::int32_t, std::int32_t>> order;
    for (std::int32_t e = 0; e < all.size(); ++e) {
        const auto at = static_cast<std::size_t>(e);
        if (all.used[at] == now) continue;
        order.emplace_back(policy_under_test::key(all.used[at], all.entered[at]),
                           policy_under_test::highest_entry_first ? -e : e, e);
    }
    std::sort(order.begin(), order.end());
    std::vector<std::int32_t> out;
    for (std::size_t i = 0; i < std::min(order.size(), static_cast<std::size_t>(n)); ++i)
        out.push_back(std::get<2>(order[i]));
    std::sort(out.begin(), out.end());
    return out;
}

} // namespace

TEST_CASE("the order in which entries give way is total", "[replacement]") {
    const auto first = [](stamp used, stamp entered, std::uint32_t entry) {
        return replacement_order<policy_under_test>(used, entered, entry);
    };
    std::set<std::uint64_t> all;
    for (stamp used = 0; used < 8; ++used)
        for (std::uint32_t entry = 0; entry < 64; ++entry)
            all.insert(first(used, used, entry));
    CHECK(all.size() == 8 * 64);
    CHECK(first(0, 0, 65'533) < first(1, 1, 0)); // the key counts before the entry
    CHECK(first(0xFFFFFFFE, 0xFFFFFFFE, 0) < first(0xFFFFFFFF, 0xFFFFFFFF, 65'533));
}

TEST_CASE("of entries with equal keys the documented end goes first", "[replacement]") {
    entries all{{3, 3, 3, 3, 3}, {3, 3, 3, 3, 3}};
    const std::vector<std::int32_t> low{0, 1}, high{3, 4};
    CHECK(all.choose(2, 9) == (policy_under_test::highest_entry_first ? high : low));
}

TEST_CASE("choose gives the n that go first, in entry order", "[replacement]") {
    CAPTURE(dhisparse_test::seed());
    std::mt19937_64 random(dhisparse_test::seed());
    for (int program = 0; program < 2'000; ++program) {
        const auto now = static_cast<stamp>(1 + random() % 20);
        auto all = random_entries(static_cast<std::int32_t>(1 + random() % 100), now, random);
        const auto n =
            static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(all.size() + 4));
        REQUIRE(all.choose(n, now) == choose_by_sorting(all, n, now));
    }
}

TEST_CASE("an entry in use is never chosen, and what is left is counted", "[replacement]") {
    entries all{{7, 2, 7, 7, 1, 7}, {1, 2, 7, 3, 1, 1}};
    CHECK(all.choose(6, 7) == std::vector<std::int32_t>{1, 4});
    CHECK(all.choose(0, 7).empty());
    entries none{{7, 7}, {1, 2}};
    CHECK(none.choose(1, 7).empty());
}

TEST_CASE("empty entries go before every row", "[replacement]") {
    entries all{{4, 0, 5, 0}, {1, 0, 1, 0}};
    CHECK(all.choose(2, 6) == std::vector<std::int32_t>{1, 3});
}

TEST_CASE("a cache without entries has nothing to choose", "[replacement]") {
    entries none;
    CHECK(none.choose(3, 1).empty());
}
