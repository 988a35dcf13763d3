// What every promotion policy must show: the best staged rows take the worst entries, one for one, and
// never one that is worth as much.
#include <dhisparse/staging/promotions.hpp>

#include "catch.hpp"

#include <algorithm>
#include <random>
#include <vector>

namespace {

using namespace dhisparse;
using uses = std::vector<row_use>;

constexpr std::uint32_t k_max = 8;

std::uint32_t worth(const row_use& use) { return policy_under_test::worth(use, k_max); }

/// [n] promotions; the row is left to the caller.
std::vector<promotion> choose(const uses& hot, const uses& staged) {
    std::vector<std::uint64_t> hot_order(hot.size()), staged_order(staged.size());
    std::vector<promotion> out(std::min(hot.size(), staged.size()));
    out.resize(static_cast<std::size_t>(choose_promotions<policy_under_test>(
        hot, staged, k_max, hot_order, staged_order, out)));
    return out;
}

/// The same one by one: the best staged row left against the worst entry left.
std::vector<promotion> choose_one_by_one(const uses& hot, const uses& staged) {
    std::vector<char> given(hot.size()), taken(staged.size());
    while (true) {
        std::size_t best = staged.size(), worst = hot.size();
        for (std::size_t i = 0; i < staged.size(); ++i)
            if (!taken[i] && (best == staged.size() || worth(staged[i]) > worth(staged[best])))
                best = i;
        for (std::size_t e = 0; e < hot.size(); ++e)
            if (!given[e] && (worst == hot.size() || worth(hot[e]) <= worth(hot[worst]))) worst = e;
        if (best == staged.size() || worst == hot.size() ||
            worth(staged[best]) <= worth(hot[worst]))
            break;
        taken[best] = given[worst] = 1;
    }
    std::vector<promotion> out;
    std::size_t e = 0;
    for (std::size_t i = 0; i < staged.size(); ++i) {
        if (!taken[i]) continue;
        while (!given[e]) ++e;
        out.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(e++), 0});
    }
    return out;
}

template <class Random>
uses random_uses(std::size_t n, Random& random) {
    uses out(n);
    for (auto& use : out) {
        use.first_query = static_cast<std::uint32_t>(random() % k_max);
        use.n_entries = 1 + static_cast<std::uint32_t>(random() % (k_max - use.first_query));
    }
    return out;
}

} // namespace

TEST_CASE("promotions are those of picking the best row and the worst entry one by one",
          "[promotion]") {
    CAPTURE(dhisparse_test::seed());
    std::mt19937_64 random(dhisparse_test::seed());
    for (int program = 0; program < 3'000; ++program) {
        const auto hot = random_uses(random() % 40, random),
                   staged = random_uses(random() % 40, random);
        REQUIRE(choose(hot, staged) == choose_one_by_one(hot, staged));
    }
}

TEST_CASE("rows that are worth as much as the hot ones stay out", "[promotion]") {
    for (const std::uint32_t first : {0u, 3u, 7u})
        CHECK(choose(uses(5, {1, first}), uses(7, {1, first})).empty());
}

TEST_CASE("nothing is promoted where there is no entry or no staged row", "[promotion]") {
    CHECK(choose({}, uses(3, {8, 0})).empty());
    CHECK(choose(uses(3, {1, 7}), {}).empty());
}

TEST_CASE("of equals the row that was missed first takes the highest entry that is worth least",
          "[promotion]") {
    const row_use low{1, 7}, high{8, 0};
    const auto got = choose({low, low, high, low}, {high, high, low});
    if (worth(high) == worth(low)) {
        CHECK(got.empty());
        return;
    }
    CHECK(got == std::vector<promotion>{{0, 1, 0}, {1, 3, 0}});
}

TEST_CASE("the worth of a row is that of its use alone, and larger worths fit into 32 bits",
          "[promotion]") {
    const row_use most{65'534, 0}, least{1, k_max - 1};
    CHECK(worth(most) == policy_under_test::worth(most, k_max));
    CHECK(worth(most) >= worth(least));
    CHECK(worth(most) <= 65'534 + k_max);
}
