// The selection's order, and the bf16 rounding that comes before it.
#include <tiny_dsa/bf16.hpp>
#include <tiny_dsa/top_k.hpp>

#include "catch.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

namespace {

using list = std::vector<std::int32_t>;

list select(const std::vector<float>& scores, std::size_t n) {
    list selection(n);
    std::vector<std::uint64_t> scratch;
    tiny_dsa::select_top(scores, selection, scratch);
    return selection;
}

list select_by_sorting(const std::vector<float>& scores, std::size_t n) {
    list all(scores.size());
    std::iota(all.begin(), all.end(), 0);
    std::stable_sort(all.begin(), all.end(), [&](int a, int b) { return scores[a] > scores[b]; });
    all.resize(n, -1);
    return all;
}

} // namespace

TEST_CASE("higher scores come first, then lower positions", "[tiny_dsa]") {
    CHECK(select({1, 3, 2, 3, -1}, 3) == list{1, 3, 2});
    CHECK(select({-2, -1, -3}, 2) == list{1, 0});
}

TEST_CASE("minus zero ties with zero", "[tiny_dsa]") {
    CHECK(select({-0.0f, 0.0f, -0.0f, 1e-30f, -1e-30f}, 3) == list{3, 0, 1});
}

TEST_CASE("a selection that is not full ends with -1", "[tiny_dsa]") {
    CHECK(select({0, 5}, 4) == list{1, 0, -1, -1});
    CHECK(select({1, 2, 3}, 3) == list{2, 1, 0});
}

TEST_CASE("the selection equals a full stable sort, with many ties", "[tiny_dsa]") {
    CAPTURE(dhisparse_test::seed());
    std::mt19937_64 random(dhisparse_test::seed());
    for (const std::size_t n : {1, 255, 256, 257, 1000, 8192}) {
        const int n_values = GENERATE(3, 100, 100000);
        std::vector<float> scores(n);
        for (float& s : scores) {
            const auto value =
                static_cast<int>(random() % static_cast<unsigned>(n_values)) - n_values / 2;
            s = static_cast<float>(value) * (random() % 2 ? 0.37f : -0.37f);
        }
        REQUIRE(select(scores, 256) == select_by_sorting(scores, 256));
    }
}

TEST_CASE("bf16 rounds to nearest, ties to even", "[tiny_dsa]") {
    CHECK(tiny_dsa::narrow(1.0f) == 0x3f80);
    CHECK(tiny_dsa::narrow(1.0f + 1.0f / 256) == 0x3f80); // half-way, down to even
    CHECK(tiny_dsa::narrow(1.0f + 3.0f / 256) == 0x3f82); // half-way, up to even
    CHECK(tiny_dsa::narrow(1.0f + 1.001f / 256) == 0x3f81);
    CHECK(tiny_dsa::narrow(-1.0f - 3.0f / 256) == 0xbf82);
    CHECK(tiny_dsa::widen(tiny_dsa::narrow(-0.15625f)) == -0.15625f);
}
