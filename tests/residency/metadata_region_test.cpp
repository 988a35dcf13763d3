// Runs of a fixed region: given, taken back, merged.
#include <dhisparse/residency/metadata_region.hpp>

#include "catch.hpp"
#include "refusal.hpp"

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

using namespace dhisparse;
using Catch::Matchers::ContainsSubstring;
using dhisparse_test::refusal;

namespace {

struct run {
    std::int64_t offset, bytes;
};

/// A region and its model, a flag a unit.
class checked_region {
public:
    checked_region(std::int64_t units, std::int64_t unit_bytes)
        : region_(units * unit_bytes), held_(static_cast<std::size_t>(units), false),
          unit_(unit_bytes) {}

    std::int64_t n_held() const { return std::count(held_.begin(), held_.end(), true); }
    const std::vector<run>& runs() const { return runs_; }
    std::int64_t largest() const { return region_.largest() / unit_; }

    /// Takes units where the model has a long enough run of free ones.
    bool take(std::int64_t units) {
        const auto offset = region_.take(units * unit_);
        REQUIRE(offset.has_value() == (longest_free() >= units));
        if (!offset) return false;
        mark(*offset / unit_, units, true);
        runs_.push_back({*offset, units * unit_});
        return true;
    }
    void give(std::size_t i) {
        mark(runs_[i].offset / unit_, runs_[i].bytes / unit_, false);
        region_.give(runs_[i].offset, runs_[i].bytes);
        runs_.erase(runs_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    std::int64_t longest_free() const {
        std::int64_t most = 0, length = 0;
        for (const bool held : held_)
            most = std::max(most, length = held ? 0 : length + 1);
        return most;
    }

private:
    void mark(std::int64_t first, std::int64_t units, bool held) {
        for (auto u = first; u < first + units; ++u) {
            REQUIRE(held_[static_cast<std::size_t>(u)] != held); // no unit twice
            held_[static_cast<std::size_t>(u)] = held;
        }
    }
    metadata_region region_;
    std::vector<bool> held_;
    std::vector<run> runs_;
    std::int64_t unit_;
};

/// Takes runs of so many bytes until there is no more; returns their offsets.
std::vector<std::int64_t> fill(metadata_region& region, std::int64_t bytes) {
    std::vector<std::int64_t> out;
    while (const auto offset = region.take(bytes))
        out.push_back(*offset);
    return out;
}

} // namespace

TEST_CASE("the first run that is long enough is taken", "[metadata_region]") {
    metadata_region region(100);
    CHECK(region.bytes() == 100);
    CHECK(region.largest() == 100);
    CHECK(region.take(30) == 0);
    CHECK(region.take(30) == 30);
    CHECK(region.take(40) == 60);
    CHECK(region.largest() == 0);
    CHECK_FALSE(region.take(1).has_value());
    region.give(30, 30);
    CHECK(region.largest() == 30);
    CHECK_FALSE(region.take(31).has_value());
    CHECK(region.take(10) == 30);
    CHECK(region.take(20) == 40);
}

TEST_CASE("neighbours merge, whichever is given back last", "[metadata_region]") {
    const std::vector<std::vector<std::int64_t>> orders{{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                                        {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (const auto& order : orders) {
        metadata_region region(30);
        fill(region, 10);
        for (const auto i : order)
            region.give(10 * i, 10);
        CHECK(region.largest() == 30);
    }
}

TEST_CASE("a run that is not held is refused", "[metadata_region]") {
    metadata_region region(100);
    fill(region, 10);
    region.give(40, 10);
    const auto refused = ContainsSubstring("is not held in a region of 100 bytes");
    CHECK_THAT(refusal([&] { region.give(40, 10); }), refused); // twice
    CHECK_THAT(refusal([&] { region.give(35, 10); }), refused); // into a free one
    CHECK_THAT(refusal([&] { region.give(45, 10); }), refused); // out of a free one
    CHECK_THAT(refusal([&] { region.give(30, 30); }), refused); // around a free one
    CHECK_THAT(refusal([&] { region.give(95, 10); }), refused); // over the end
    CHECK_THAT(refusal([&] { region.give(-10, 10); }), refused);
    CHECK(region.largest() == 10);
}

TEST_CASE("a run of no or of wrapping length is refused", "[metadata_region]") {
    metadata_region region(100);
    fill(region, 10);
    const auto refused = ContainsSubstring("is not held");
    CHECK_THAT(refusal([&] { region.give(50, 0); }), refused);
    CHECK_THAT(refusal([&] { region.give(50, -10); }), refused);
    CHECK_THAT(refusal([&] { region.give(50, std::numeric_limits<std::int64_t>::max()); }),
               refused);
    region.give(50, 10); // and left nothing behind
    CHECK(region.largest() == 10);
}

TEST_CASE("an empty region gives nothing", "[metadata_region]") {
    metadata_region region(0);
    CHECK(region.largest() == 0);
    CHECK_FALSE(region.take(1).has_value());
}

// Pages have no neighbours to merge, runs of the metadata region do; streams are the CUDA
// backend's.
TEST_CASE("PP-06: what is said to be the longest run can be had, after 100,000 steps at 90 % fill",
          "[metadata_region]") {
    CAPTURE(dhisparse_test::seed());
    std::mt19937_64 random(dhisparse_test::seed());
    checked_region region(300, 16);
    constexpr std::int64_t lengths[]{1, 3, 7, 64};
    for (int i = 0; i < 100'000; ++i) {
        if (region.n_held() >= 270 || (random() % 3 == 0 && !region.runs().empty()))
            region.give(random() % region.runs().size());
        else
            region.take(lengths[random() % 4]);
        REQUIRE(region.largest() == region.longest_free());
    }
    if (const auto largest = region.largest(); largest > 0) CHECK(region.take(largest));
    while (!region.runs().empty())
        region.give(0);
    CHECK(region.largest() == 300);
}

// Pages have one size for good; the metadata region is what serves runs of changing length.
TEST_CASE("PP-07: after runs of 576 bytes the whole region serves runs of 656",
          "[metadata_region]") {
    constexpr std::int64_t bytes = 576 * 656;
    metadata_region region(bytes);
    const auto first = fill(region, 576);
    CHECK(first.size() == 656);
    for (const auto offset : first)
        region.give(offset, 576);
    CHECK(fill(region, 656).size() == 576);
}
