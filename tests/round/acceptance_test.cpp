// Acceptance: greedy prefixes, and the law of speculative sampling.
#include "acceptance_law.hpp"
#include "catch.hpp"

namespace dh = dhisparse;
using namespace dhisparse_test;

namespace {

using block = dh::sampled_block<int, double>;

/// Hands out the given numbers, and says if too many are asked for.
struct given {
    std::vector<double> numbers;
    std::size_t used = 0;
    double operator()() { return numbers.at(used++); }
};

} // namespace

TEST_CASE("greedy acceptance is the longest prefix that the target would have chosen", "[round]") {
    const char* const proposed = "EFG"; // after the anchor D
    const auto check = [&](const char* target, int accepted, char next) {
        const auto got = dh::accept_greedy(proposed, target, 3);
        CHECK(got.accepted == accepted);
        CHECK(got.next == next);
    };
    check("EFXY", 2, 'X'); // n' = n + 3: G is dropped and X is the next anchor
    check("EFGH", 3, 'H');
    check("XFGH", 0, 'X');
    check("EXGH", 1, 'X');
    CHECK(dh::accept_greedy<char>(nullptr, "Q", 0).next == 'Q');
    static_assert(dh::accept_greedy("ab", "abc", 2).accepted == 2);
}

TEST_CASE("a proposal is accepted with probability min(1, p/q)", "[round]") {
    const int proposed[] = {1, 0};
    const double p[3][2] = {{0.75, 0.25}, {0.75, 0.25}, {0.5, 0.5}}, q[2][2] = {{0.5, 0.5}, {0.5, 0.5}};
    const auto run = [&](std::vector<double> numbers, std::size_t taken) {
        given uniform{std::move(numbers)};
        const auto got = dh::accept_sampled(block{proposed, p[0], q[0], 2, 2, 2, 2}, uniform);
        CHECK(uniform.used == taken);
        return got;
    };
    auto got = run({0.499, 0.999, 0.6}, 3); // 1 at p/q = 0.5; 0 at p/q > 1; then the bonus token
    CHECK(got.accepted == 2);
    CHECK(got.next == 1);
    got = run({0.5, 0.999}, 2); // rejected: only 0 has p > q
    CHECK(got.accepted == 0);
    CHECK(got.next == 0);
    given uniform{{0.3}};
    CHECK(dh::accept_sampled(block{nullptr, p[2], nullptr, 2, 0, 2, 0}, uniform).next == 0); // K = 1: the target's law
}

TEST_CASE("rounding and wrong proposals have a defined result", "[round]") {
    const double same[] = {0.25, 0.75, 0.25, 0.75};
    const int outside[] = {-1}, inside[] = {1};
    given one{{0.5}};
    auto got = dh::accept_sampled(block{outside, same, same, 2, 2, 2, 1}, one); // rejected, nothing left: the target's law
    CHECK(got.accepted == 0);
    CHECK(got.next == 1);
    const double q[] = {1, 0}, p[] = {0.5, 0.5, 1, 0};
    given two{{0.999, 0.0}};
    got = dh::accept_sampled(block{inside, p, q, 2, 2, 2, 1}, two); // q excludes what p allows
    CHECK(got.accepted == 1);
    const auto weight = [](int x) { return x == 2 ? 0.0 : 0.1; };
    CHECK(dh::sample_weights(3, 1.0, weight) == 1); // u is below 1, but u · sum may round to the sum
    CHECK(dh::sample_weights(3, 0.0, weight) == 0);
    CHECK(dh::sample_weights(3, 0.5, [](int) { return 0.0; }) == -1);
}

TEST_CASE("speculative sampling has the target's law, whatever the drafter", "[round]") {
    for (const int kind : {0, 1, 2}) {
        std::vector<std::uint32_t> counts(toy_outcomes);
        for (int i = 0; i < toy_trials; ++i) ++counts[static_cast<std::size_t>(toy_decode(kind, static_cast<std::uint64_t>(i) + 1))];
        CAPTURE(kind);
        CHECK(toy_chi_square(kind, counts) < toy_bound);
    }
}

TEST_CASE("the test of the law sees a law that is off by a little", "[round]") {
    std::vector<std::uint32_t> counts(toy_outcomes);
    for (int i = 0; i < toy_trials; ++i) {
        auto code = toy_decode(0, static_cast<std::uint64_t>(i) + 1);
        if (i % 50 == 0) code = code / toy_vocabulary * toy_vocabulary; // in 2 % the last token is 0
        ++counts[static_cast<std::size_t>(code)];
    }
    CHECK(toy_chi_square(0, counts) > toy_bound);
}
