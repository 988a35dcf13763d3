// What DHISPARSE_CHECKS adds to the step path: bytes that nobody may read any more are overwritten.
#ifndef DHISPARSE_CHECKS
#define DHISPARSE_CHECKS 1
#endif

#include "catch.hpp"
#include "hand_made.hpp"
#include "real_shapes.hpp"

using namespace dhisparse;
using dhisparse_test::answer;
using dhisparse_test::hand_made;
using dhisparse_test::shape_of;
using dhisparse_test::visit_row;

static_assert(DHISPARSE_CHECKS == 1, "configure with DHISPARSE_CHECKS unset or ON");

namespace {

template <class Subject>
bool poisoned(const Subject& s, location at, int g = 0) {
    bool all = true;
    visit_row(s.tiers(), g, at, [&](const std::byte* byte, int, std::int64_t) { all = all && *byte == std::byte{poison_byte}; });
    return all;
}

/// One request of 64 positions, all of them on the host, with a hot page of four entries.
struct staging_one : hand_made<> {
    explicit staging_one(int n_groups = 1)
        : hand_made<>(shape_of(4, 4, std::vector<std::pair<source_shape, int>>(static_cast<std::size_t>(n_groups), {{.row_bytes = 128}, 2})),
                      {.n_pages = 4, .hot_pages = 1, .host_pages = 16, .slots = 1, .positions = 64, .k_max = 3, .staging = true}) {
        open_on_host(0, 64, 0);
        tables().records[0].frontier = 60;
        give_hot_pages(0, 0);
    }
};

} // namespace

TEST_CASE("a reader of an arena that has passed on finds no row's bytes", "[checks]") {
    staging_one s(2);
    const auto round = s.append({0}, {3});
    const auto got = s.resolve(round, {{0, 1, 2, 3}, {4, 5, 6, 7}, {0, 1, 2, 3}});
    REQUIRE(s.counts.staged_rows == 4);
    for (std::int32_t i = 0; i < 4; ++i) CHECK(s.holds(0, got.of(1)[static_cast<std::size_t>(i)], 4 + i)); // until the release
    SECTION("to the next announcement, which stages nothing") {
        s.resolve(round, {{9, 10, 11, -1}, {9, -1, -1, -1}, {10, -1, -1, -1}}, 1);
    }
    SECTION("at the commit") { s.commit(round, {0}); }
    SECTION("at a release") { s.release(round); }
    for (const auto at : got.of(1, 4)) CHECK(poisoned(s, at));
    for (std::int32_t i = 0; i < 4; ++i) CHECK(s.holds(0, got.of(0)[static_cast<std::size_t>(i)], i)); // hot entries stay
}

TEST_CASE("a promoted row is copied before its place in the arena is overwritten", "[checks]") {
    staging_one s;
    s.resolve_one(0, {10, 11, 12, 13});
    const auto round = s.append({0}, {3});
    const auto got = s.resolve(round, {{20, 21}, {20, 21}, {10, 11, 12, 13}});
    s.release(round);
    CHECK(s.counts.promoted_rows == 2);
    CHECK(poisoned(s, got.of(0)[0]));
    const auto again = s.resolve_one(0, {20, 21});
    CHECK(s.counts.host_rows == 6);
    CHECK(s.holds(0, again.at[0], 20));
    CHECK(s.holds(0, again.at[1], 21));
}

TEST_CASE("CHECKS poisons the tail rows of rejected positions, and no others", "[checks]") {
    const int m = GENERATE(1, 4);
    hand_made<> s(shape_of(8, 8, {{{.row_bytes = 128, .positions_per_row = m}, 2}}), {.n_pages = 8, .k_max = 8});
    s.open(0, 64, 9);
    for (const std::int32_t page : {0, 1, 2, 3}) s.map(0, page, page);
    const auto at = [&](std::int32_t row) { return s.layout.group(0).at(gpu_page{row * m / 8}, static_cast<std::uint32_t>(row % (8 / m))); };
    for (std::int32_t row = 0; row < 32 / m; ++row) s.write(0, at(row), row);
    s.commit(s.append({0}, {8}), {2}); // 9, 10 and 11 are kept, 12 to 16 rejected
    for (std::int32_t row = 0; row < 32 / m; ++row) {
        CAPTURE(m, row);
        const bool rejected = row * m >= 12 && row * m < 17;
        CHECK(poisoned(s, at(row)) == rejected);
        CHECK(s.holds(0, at(row), row) == !rejected);
    }
}

TEST_CASE("CHECKS leaves the accepted part of an unfinished row", "[checks]") {
    hand_made<> s(shape_of(8, 8, {{{.row_bytes = 128, .positions_per_row = 4, .partial_readable = true}, 1}}), {.n_pages = 8, .k_max = 8});
    s.open(0, 16, 4);
    for (const std::int32_t page : {0, 1}) s.map(0, page, page);
    const auto at = [&](std::int32_t row) { return s.layout.group(0).at(gpu_page{row / 2}, static_cast<std::uint32_t>(row % 2)); };
    for (std::int32_t row = 0; row < 4; ++row) s.write(0, at(row), row);
    s.commit(s.append({0}, {8}), {1}); // 4 and 5 kept: row 1 has begun
    CHECK(s.holds(0, at(1), 1));
    CHECK(poisoned(s, at(2)));
    CHECK(s.holds(0, at(3), 3)); // positions 12 to 15: not of this round
}
