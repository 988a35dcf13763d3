// Fixed, the published schedule, and the width chosen online.
#include <dhisparse/policy/width/fixed.hpp>
#include <dhisparse/policy/width/online.hpp>
#include <dhisparse/policy/width/scheduled.hpp>

#include "catch.hpp"
#include "refusal.hpp"

#include <random>
#include <vector>

namespace {

using namespace dhisparse;
using rates = std::vector<double>;

/// 18 ms of weights, 45 µs a query beyond 400 of them: an H200's order of magnitude.
constexpr round_costs machine{.round_us = 18'000, .query_us = 45, .session_us = 60, .more_us = 9, .draft_us = 1'500, .row_us = 0.047, .union_share = 0.4};

/// A width policy's engine: sessions whose proposals are accepted by chance.
template <class Width>
struct engine {
    explicit engine(const width_config& config) : width(config) {}
    /// So many rounds; acceptance: [places] share accepted where those before were.
    int run(int rounds, width_load load, const rates& acceptance, double missed_rows = 0) {
        int k = 0;
        for (int i = 0; i < rounds; ++i) {
            k = width.next(load);
            widths.push_back(k);
            std::vector<std::int32_t> accepted(static_cast<std::size_t>(load.sessions));
            for (auto& a : accepted)
                while (a < k - 1 && std::uniform_real_distribution<>()(random) < acceptance[static_cast<std::size_t>(a)]) ++a;
            width.note({k, accepted, missed_rows * static_cast<double>(load.sessions) * (1 + 0.4 * (k - 1))});
        }
        return k;
    }
    /// Of the last n rounds, the width that most of them had.
    int usual(int n) const {
        std::vector<int> count(65);
        for (auto i = widths.size() - static_cast<std::size_t>(n); i < widths.size(); ++i) ++count[static_cast<std::size_t>(widths[i])];
        return static_cast<int>(std::max_element(count.begin(), count.end()) - count.begin());
    }
    Width width;
    std::mt19937_64 random{dhisparse_test::seed()};
    std::vector<int> widths;
};

/// Tokens a µs, from the definition.
double rate(double n, int k, const rates& acceptance, double missed_rows) {
    double tokens = 1, reaches = 1;
    for (int i = 0; i + 1 < k; ++i) tokens += reaches *= acceptance[static_cast<std::size_t>(i)];
    const auto compute = std::max(18'000.0, 45 * n * k) + n * (60 + 9.0 * (k - 1)) + (k > 1 ? 1'500 : 0);
    return n * tokens / std::max(compute, n * missed_rows * (1 + 0.4 * (k - 1)) * 0.047);
}
int best_width(double n, const rates& acceptance, double missed_rows) {
    int best = 1;
    for (int k = 2; k <= 8; ++k)
        if (rate(n, k, acceptance, missed_rows) > rate(n, best, acceptance, missed_rows)) best = k;
    return best;
}

const rates likely{0.9, 0.88, 0.87, 0.85, 0.84, 0.83, 0.82}, unlikely{0.4, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3}, never(7, 0.0), always(7, 1.0);

} // namespace

TEST_CASE("the schedule is the published one, within what was made room for", "[width]") {
    scheduled width({.k_max = 8}), narrow({.k_max = 5});
    for (const auto& [sessions, k] : {std::pair{1, 8}, {32, 8}, {33, 6}, {64, 6}, {127, 6}, {128, 4}, {4'096, 4}}) {
        CHECK(width.next({sessions, 0}) == k);
        CHECK(narrow.next({sessions, 0}) == std::min(k, 5));
    }
}

TEST_CASE("online gives up at most 3 % of the best width's tokens at every load", "[width]") {
    CAPTURE(dhisparse_test::seed());
    for (const auto& acceptance : {likely, unlikely, never, always})
        for (const std::int64_t sessions : {1, 8, 32, 64, 128, 256})
            for (const double missed_rows : {0.0, 300.0, 5'000.0}) {
                engine<online> it({.k_max = 8, .costs = machine});
                it.run(sessions < 8 ? 1'500 : 300, {sessions, 0}, acceptance, missed_rows);
                const auto k = it.usual(64), best = best_width(static_cast<double>(sessions), acceptance, missed_rows);
                CAPTURE(acceptance, sessions, missed_rows, k, best);
                CHECK(rate(static_cast<double>(sessions), k, acceptance, missed_rows) >= 0.97 * rate(static_cast<double>(sessions), best, acceptance, missed_rows));
            }
}

TEST_CASE("online learns each place's share, and what a session misses", "[width]") {
    engine<online> it({.k_max = 8, .costs = machine});
    it.run(400, {16, 0}, likely, 250);
    for (std::size_t i = 0; i < 7; ++i) CHECK(it.width.acceptance()[i] == Approx(likely[i]).margin(0.06));
    CHECK(it.width.missed_rows() == Approx(250).epsilon(0.01));
}

TEST_CASE("online is narrower with load, with misses and where proposals are rejected", "[width]") {
    const auto settled = [](std::int64_t sessions, const rates& acceptance, double missed_rows) {
        engine<online> it({.k_max = 8, .costs = machine});
        it.run(400, {sessions, 0}, acceptance, missed_rows);
        return it.usual(64);
    };
    CHECK(settled(8, likely, 0) == 8);
    CHECK(settled(256, likely, 0) < 8);
    CHECK(settled(256, unlikely, 0) < settled(8, unlikely, 0));
    CHECK(settled(256, never, 0) == 1);
    CHECK(settled(32, always, 0) == 8);
    CHECK(settled(32, unlikely, 20'000) < settled(32, unlikely, 0));
}

TEST_CASE("places that stand empty between requests make online narrower, where requests wait", "[width]") {
    const auto settled = [](const width_load& load) {
        engine<online> it({.k_max = 8, .costs = machine});
        it.run(400, load, likely);
        return it.usual(64);
    };
    const auto full = settled({64, 50, 64});
    CHECK(settled({64, 50, 64'000}) < full); // requests end faster than others take their places
    CHECK(settled({64, 0, 64'000}) == full); // nobody would take them
}

TEST_CASE("misses cost more where page copies have the link too", "[width]") {
    online width({.k_max = 4, .costs = machine});
    const std::vector<std::int32_t> accepted(10, 1);
    for (int i = 0; i < 200; ++i) width.note({2, accepted, 1'400, 0.5});
    CHECK(width.missed_rows() == Approx(100 * 1.5).epsilon(0.01)); // 1,400 rows of ten sessions, two queries: 1.4 times one's
}

TEST_CASE("online comes back to wide rounds when proposals are accepted again", "[width]") {
    engine<online> it({.k_max = 8, .costs = machine});
    it.run(500, {64, 0}, never);
    REQUIRE(it.usual(64) == 1);
    it.run(4'000, {64, 0}, likely);
    CHECK(it.usual(64) >= 6);
}

TEST_CASE("online does not go to and fro where two widths are alike", "[width]") {
    engine<online> it({.k_max = 8, .costs = machine});
    std::mt19937_64 random(dhisparse_test::seed());
    const rates middling{0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7};
    it.run(200, {64, 0}, middling);
    it.widths.clear();
    for (int i = 0; i < 2'000; ++i) it.run(1, {56 + static_cast<std::int64_t>(random() % 30), 0}, middling); // 5 to 8 are the best by turns
    int changes = 0, probes = 0;
    for (std::size_t i = 1; i + 1 < it.widths.size(); ++i) {
        const bool probe = it.widths[i] == it.widths[i - 1] + 1 && it.widths[i + 1] == it.widths[i - 1];
        probes += probe;
        changes += it.widths[i] != it.widths[i - 1];
    }
    CHECK(probes > 0);
    CHECK(changes - 2 * probes < 2'000 / 8); // a width is held for eight rounds, and kept where little is gained
}

TEST_CASE("where requests wait, (13) decides: sessions that a width costs against what it gains", "[width]") {
    const auto settled = [](double spec_fits, std::int64_t waiting) {
        width_config config{.k_max = 4, .costs = machine, .fits = {208, spec_fits, spec_fits, spec_fits}};
        engine<online> it(config);
        it.run(600, {40, waiting}, rates(3, 0.5));
        return it.usual(64);
    };
    const double gain = rate(40, 4, rates(3, 0.5), 0) / rate(40, 1, rates(3, 0.5), 0);
    REQUIRE(gain > 1.3);
    CHECK(settled(208, 100) > 1);
    CHECK(settled(208 / 4.0, 100) == 1); // it would run a quarter of the sessions
    CHECK(settled(208 / 4.0, 0) > 1);    // nobody waits: they all fit
    CHECK(settled(10, 0) == 1);          // but for those that wouldn't
}

TEST_CASE("online wants costs", "[width]") {
    CHECK(dhisparse_test::refusal([] { online width({.k_max = 2}); }) == "width: a round costs nothing, permitted: round_us, query_us or session_us above 0");
    CHECK(online({.k_max = 1}).next({1, 0}) == 1);
}
