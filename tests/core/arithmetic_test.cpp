// Checked integer arithmetic, and division by one multiplication.
#include <dhisparse/core/arithmetic.hpp>

#include "catch.hpp"
#include "refusal.hpp"

#include <bit>
#include <limits>
#include <random>
#include <set>
#include <vector>

using namespace dhisparse;
using Catch::Matchers::ContainsSubstring;
using dhisparse_test::refusal;

namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
constexpr std::uint64_t end_of_range = std::uint64_t{1} << 31;

bool divides_right(const fast_divisor& by, std::uint64_t n) {
    return by.quotient(static_cast<std::uint32_t>(n)) == n / by.divisor;
}

/// Numbers where a quotient may be off by one: around multiples of d, at both ends of [0, 2^31).
std::vector<std::uint64_t> edges_of(std::uint64_t d) {
    const auto last = (end_of_range - 1) / d; // quotient of the largest number
    std::vector<std::uint64_t> edges{0, 1, end_of_range / 2, end_of_range - 1};
    for (const std::uint64_t q :
         {std::uint64_t{1}, std::uint64_t{2}, last / 2, last - (last > 0), last})
        for (std::uint64_t n = q * d > 2 ? q * d - 2 : 0; n <= q * d + 2; ++n)
            if (n < end_of_range) edges.push_back(n);
    return edges;
}

std::size_t wrong_quotients(std::uint64_t d) {
    const fast_divisor by(static_cast<std::uint32_t>(d));
    std::size_t n_wrong = 0;
    for (const auto n : edges_of(d))
        n_wrong += !divides_right(by, n);
    return n_wrong;
}

} // namespace

TEST_CASE("a fast divisor divides every small number by every small number", "[arithmetic]") {
    std::size_t n_wrong = 0;
    for (std::uint32_t d = 1; d <= 1500; ++d) {
        const fast_divisor by(d);
        for (std::uint32_t n = 0; n <= 4 * d + 3; ++n)
            n_wrong += !divides_right(by, n);
    }
    CHECK(n_wrong == 0);
}

TEST_CASE("a fast divisor is right at the edges of every quotient", "[arithmetic]") {
    std::size_t n_wrong = 0;
    for (std::uint64_t d = 1; d <= 70'000; ++d)
        n_wrong += wrong_quotients(d);
    CHECK(n_wrong == 0);
}

TEST_CASE("a fast divisor is right around powers of two and for the largest divisors",
          "[arithmetic]") {
    std::set<std::uint64_t> divisors;
    for (int bit = 1; bit <= 31; ++bit)
        for (std::uint64_t d = (std::uint64_t{1} << bit) - 3; d <= (std::uint64_t{1} << bit) + 3;
             ++d)
            if (d >= 1 && d < end_of_range) divisors.insert(d);
    std::size_t n_wrong = 0;
    for (const auto d : divisors)
        n_wrong += wrong_quotients(d);
    CHECK(n_wrong == 0);
}

TEST_CASE("a fast divisor divides random numbers by random divisors", "[arithmetic]") {
    CAPTURE(dhisparse_test::seed());
    std::mt19937_64 random(dhisparse_test::seed());
    std::size_t n_wrong = 0;
    for (int i = 0; i < 200'000; ++i) {
        const auto d = (random() % end_of_range) >> random() % 31;
        n_wrong += !divides_right(fast_divisor(static_cast<std::uint32_t>(d + (d == 0))),
                                  random() % end_of_range);
    }
    CHECK(n_wrong == 0);
}

TEST_CASE("a shift divisor divides by every power of two", "[arithmetic]") {
    std::size_t n_wrong = 0;
    for (std::uint32_t d = 1; d < end_of_range; d *= 2) {
        const shift_divisor by(d);
        for (const auto n : edges_of(d)) {
            const auto q = by.quotient(static_cast<std::uint32_t>(n));
            n_wrong += q != n / d || by.remainder(static_cast<std::uint32_t>(n), q) != n % d;
        }
    }
    CHECK(n_wrong == 0);
}

TEST_CASE("a fast divisor gives remainders and tells powers of two", "[arithmetic]") {
    std::size_t n_wrong = 0;
    for (std::uint32_t d = 1; d <= 300; ++d) {
        const fast_divisor by(d);
        for (std::uint32_t n = 0; n < 1000; ++n)
            n_wrong += by.remainder(n, by.quotient(n)) != n % d;
        n_wrong += by.is_power_of_two() != std::has_single_bit(d);
    }
    CHECK(n_wrong == 0);
}

TEST_CASE("a fast divisor without a number divides by one", "[arithmetic]") {
    const fast_divisor by;
    CHECK(by.divisor == 1);
    CHECK(by.quotient(0) == 0);
    CHECK(by.quotient(0x7FFFFFFF) == 0x7FFFFFFF);
    static_assert(fast_divisor(64).quotient(2'147'483'647) == 33'554'431);
}

TEST_CASE("ceil_div rounds up without overflow", "[arithmetic]") {
    CHECK(ceil_div(0, 7) == 0);
    CHECK(ceil_div(1, 7) == 1);
    CHECK(ceil_div(7, 7) == 1);
    CHECK(ceil_div(8, 7) == 2);
    CHECK(ceil_div(most, std::int64_t{2}) == most / 2 + 1);
    CHECK(ceil_div(most, most) == 1);
}

TEST_CASE("a product that fits is exact, one that doesn't is refused by its name", "[arithmetic]") {
    CHECK(checked_mul(3'037'000'499, 3'037'000'499, "x") == 9'223'372'030'926'249'001);
    CHECK(checked_mul(least, 1, "x") == least);
    CHECK(refusal<out_of_capacity>([] {
              checked_mul(3'037'000'500, 3'037'000'500, "slab bytes");
          }) == "slab bytes: 3037000500 x 3037000500 exceeds 64 bits");
    CHECK_THROWS_AS(checked_mul(least, -1, "x"), out_of_capacity);
    CHECK_THROWS_AS(checked_mul(most, 2, "x"), out_of_capacity);
}

TEST_CASE("a sum that fits is exact, one that doesn't is refused by its name", "[arithmetic]") {
    CHECK(checked_add(most - 1, 1, "x") == most);
    CHECK(checked_add(least, most, "x") == -1);
    CHECK_THAT(refusal<out_of_capacity>([] { checked_add(most, 1, "page bytes"); }),
               ContainsSubstring("page bytes: 9223372036854775807 + 1 exceeds 64 bits"));
    CHECK_THROWS_AS(checked_add(least, -1, "x"), out_of_capacity);
}

TEST_CASE("the least common multiple is taken without an overflow on the way", "[arithmetic]") {
    CHECK(checked_lcm(128, 576, "x") == 1152);
    CHECK(checked_lcm(128, 656, "x") == 5248);
    CHECK(checked_lcm(1, 1, "x") == 1);
    CHECK(checked_lcm(most - 1, most - 1, "x") == most - 1); // the product alone would not fit
    CHECK_THAT(refusal<out_of_capacity>([] { checked_lcm(most, most - 1, "row widths"); }),
               ContainsSubstring("row widths"));
}

TEST_CASE("rounding up goes to the next multiple or is refused", "[arithmetic]") {
    CHECK(round_up(0, 128) == 0);
    CHECK(round_up(1, 128) == 128);
    CHECK(round_up(128, 128) == 128);
    CHECK(round_up(129, 128) == 256);
    CHECK(round_up(584, 16) == 592);
    CHECK_THROWS_AS(round_up(most, 2), out_of_capacity);
}
