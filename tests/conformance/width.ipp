// What every width policy must show: widths that are allowed, the same ones for the same calls, and the same output at any.
#include <dhisparse/round/acceptance.hpp>

#include "catch.hpp"
#include "refusal.hpp"

#include <random>
#include <vector>

namespace {

using namespace dhisparse;
using Catch::Matchers::ContainsSubstring;

width_config some(int k_max) { return {.k_max = k_max, .costs = {.round_us = 100, .query_us = 1, .session_us = 2, .more_us = 1, .draft_us = 20, .row_us = 0.05, .union_share = 0.4}}; }

/// Rounds of loads from nobody to far too many; calls see(width) after each.
template <class See>
void drive(policy_under_test& width, std::uint64_t seed, const See& see) {
    std::mt19937_64 random(seed);
    for (int round = 0; round < 2'000; ++round) {
        const auto sessions = std::uint64_t{1} << (random() % 20);
        const width_load load{static_cast<std::int64_t>(random() % sessions), static_cast<std::int64_t>(random() % 3)};
        const auto k = width.next(load);
        see(k);
        std::vector<std::int32_t> accepted(random() % 8);
        for (auto& a : accepted) a = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(k));
        width.note({k, accepted, static_cast<double>(random() % 1'000)});
    }
}

using token = std::int32_t;
/// What the model says behind a text, and what a drafter takes it for.
token model(const std::vector<token>& text) { return (text.back() * 31 + text[text.size() / 2] * 7 + static_cast<token>(text.size())) % 97; }
token drafter(const std::vector<token>& text) { return text.size() % 3 == 0 ? 5 : model(text); }

/// One round: proposals behind the text, verified; the text grows by what is accepted and the next token.
std::int32_t speculate(std::vector<token>& text, int k) {
    auto drafted = text;
    std::vector<token> target;
    for (int i = 0; i < k; ++i) {
        target.push_back(model(drafted));
        drafted.push_back(drafter(drafted));
    }
    const auto got = accept_greedy(drafted.data() + text.size(), target.data(), k - 1);
    text.insert(text.end(), target.begin(), target.begin() + got.accepted + 1);
    return got.accepted;
}

} // namespace

TEST_CASE("a width is between 1 and k_max at any load and after any outcome", "[width]") {
    CAPTURE(dhisparse_test::seed());
    for (const int k_max : {1, 2, 8, 64}) {
        policy_under_test width(some(k_max));
        int least = 64, most = 1;
        drive(width, dhisparse_test::seed(), [&](int k) { least = std::min(least, k), most = std::max(most, k); });
        CHECK(least >= 1);
        CHECK(most <= k_max);
    }
}

TEST_CASE("the same calls give the same widths, and a copy goes on alone", "[width]") {
    policy_under_test one(some(8)), other(some(8));
    std::vector<int> first, second, third;
    drive(one, 1, [&](int k) { first.push_back(k); });
    drive(other, 1, [&](int k) { second.push_back(k); });
    CHECK(first == second);
    auto copy = one;
    drive(one, 2, [](int) {});
    drive(copy, 3, [&](int k) { third.push_back(k); });
    second.clear();
    drive(other, 3, [&](int k) { second.push_back(k); });
    CHECK(third == second);
}

TEST_CASE("the widths change no token", "[width]") {
    std::vector<token> plain{1};
    for (int i = 0; i < 400; ++i) plain.push_back(model(plain));
    policy_under_test width(some(8));
    std::vector<token> text{1};
    for (std::int64_t sessions = 1; text.size() < plain.size(); sessions = sessions % 300 + 7) {
        const auto k = width.next({sessions, 0});
        const std::vector<std::int32_t> accepted{speculate(text, k)};
        width.note({k, accepted, 0});
    }
    text.resize(plain.size());
    CHECK(text == plain);
}

TEST_CASE("wrong widths, costs and sessions are refused by name", "[width]") {
    const auto refused = [](auto change) {
        auto config = some(8);
        change(config);
        return dhisparse_test::refusal([&] { policy_under_test width(config); });
    };
    CHECK(refused([](auto& c) { c.k_max = 0; }) == "width: k_max is 0, permitted: 1 to 64");
    CHECK(refused([](auto& c) { c.k_max = 65; }) == "width: k_max is 65, permitted: 1 to 64");
    CHECK_THAT(refused([](auto& c) { c.costs.row_us = -1; }), ContainsSubstring("width: row_us is -1, permitted: 0 to"));
    CHECK_THAT(refused([](auto& c) { c.costs.draft_us = std::numeric_limits<double>::quiet_NaN(); }), ContainsSubstring("width: draft_us is"));
    CHECK(refused([](auto& c) { c.costs.exposed = 1.5; }) == "width: exposed is 1.5, permitted: 0 to 1");
    CHECK(refused([](auto& c) { c.fits = {1, 2}; }) == "width: fits has 2 numbers, permitted: one for each width up to k_max 8, or none");
    CHECK_THAT(refused([](auto& c) { c.fits.assign(8, 0); }), ContainsSubstring("width: fits has 0 sessions"));
}
