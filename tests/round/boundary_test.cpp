// Boundary state of unfinished rows: no accepted length or frontier loses what a later position needs.
#include <dhisparse/tail/boundary_ring.hpp>

#include "catch.hpp"
#include "random.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

using namespace dhisparse;

namespace {

model_shape shape_with(int m, std::int64_t boundary_bytes) {
    model_shape shape{.name = "boundary", .layers = 2, .k = 4, .page_positions = 16};
    shape.sources = {{.layer = 0, .row_bytes = 16}, {.layer = 1, .row_bytes = 16, .positions_per_row = m, .boundary_bytes = boundary_bytes}};
    return shape;
}

/// A model that makes a row of the states of its m positions, in rounds of K that keep A + 1 positions.
struct model {
    boundary_layout layout;
    std::vector<std::byte> memory;
    boundary_ring_ref ring;
    int m, n = 0;
    std::vector<std::int32_t> rows; // what each committed row was made of: m numbers a row

    model(int m_, int k_max, int n_slots = 1, int max_unsettled = 0)
        : layout(boundary_layout::make(shape_with(m_, 4), n_slots, k_max, max_unsettled)), memory(static_cast<std::size_t>(layout.bytes()), std::byte{0xEE}), ring(layout.at(memory.data(), 1)), m(m_) {}
    void keep(int t, std::int32_t state) { std::memcpy(ring.at(0, t), &state, 4); }
    std::int32_t kept(int t) const {
        std::int32_t state = 0;
        std::memcpy(&state, ring.at(0, t), 4);
        return state;
    }
    /// States of rejected positions are `wrong`, so that a row made of one shows.
    void round(int k, int accepted) {
        std::vector<std::int32_t> made;
        for (int t = n; t < n + k; ++t) {
            keep(t, t - n <= accepted ? t : -t);
            if ((t + 1) % m == 0)
                for (int i = t + 1 - m; i <= t; ++i) made.push_back(kept(i));
        }
        const int next = n + accepted + 1;
        made.resize(static_cast<std::size_t>((next / m - n / m) * m));
        rows.insert(rows.end(), made.begin(), made.end());
        n = next;
    }
    bool rows_are_right() const {
        for (std::size_t i = 0; i < rows.size(); ++i)
            if (rows[i] != static_cast<std::int32_t>(i)) return false;
        return rows.size() == static_cast<std::size_t>(n / m * m);
    }
};

} // namespace

TEST_CASE("CR-07 rows of four positions are those of a run of one position at a time, from every offset and for every accepted length", "[boundary]") {
    for (int offset = 0; offset < 4; ++offset)
        for (int accepted = 0; accepted < 5; ++accepted) {
            CAPTURE(offset, accepted);
            model s(4, 5);
            for (int i = 0; i < 8 + offset; ++i) s.round(1, 0);
            s.round(5, accepted);
            for (int i = 0; i < 8; ++i) s.round(1, 0);
            CHECK(s.rows_are_right());
        }
}

TEST_CASE("rounds of any widths keep what their rows need", "[boundary]") {
    CAPTURE(dhisparse_test::seed());
    dhisparse_test::random_source random(dhisparse_test::seed());
    for (int program = 0; program < 200; ++program) {
        const int k_max = random.between(1, 9);
        model s(random.pick({1, 2, 4, 8}), k_max);
        for (int i = 0; i < 60; ++i) {
            const int k = random.between(1, k_max);
            s.round(k, random.between(0, k - 1));
        }
        REQUIRE(s.rows_are_right());
    }
}

TEST_CASE("the ring is no longer than it must be: one entry less loses a position", "[boundary]") {
    model s(4, 5);
    CHECK(s.ring.entries.divisor == 4 - 1 + 5);
    s.ring.entries = fast_divisor(7);
    for (int i = 0; i < 3; ++i) s.round(1, 0); // 0, 1, 2 are kept
    s.round(5, 4);                              // 7 takes the entry of 0
    CHECK(s.rows_are_right());                  // read before
    s.n = 7;
    s.rows.clear();
    for (int t = 4; t < 7; ++t) s.keep(t, t);
    for (int t = 7; t < 12; ++t) s.keep(t, -t); // a round that writes all its states before it reads
    CHECK(s.kept(4) != 4);
    CHECK(model(4, 5, 1, 6).ring.entries.divisor == 4 - 1 + 6 + 5);
}

TEST_CASE("rings of slots and sources lie apart, 16-byte aligned, and sources without boundary state have none", "[boundary]") {
    auto shape = shape_with(4, 20);
    shape.sources.push_back({.layer = 2, .row_bytes = 16, .positions_per_row = 2, .boundary_bytes = 48});
    const auto layout = boundary_layout::make(shape, 3, 2);
    std::vector<std::byte> memory(static_cast<std::size_t>(layout.bytes()));
    CHECK(layout.at(memory.data(), 0).base == nullptr);
    std::vector<const std::byte*> starts;
    for (const int source : {1, 2})
        for (int slot = 0; slot < 3; ++slot)
            for (int t = 0; t < static_cast<int>(layout.at(memory.data(), source).entries.divisor); ++t) starts.push_back(layout.at(memory.data(), source).at(slot, t));
    CHECK(starts.size() == 3 * 5 + 3 * 3);
    CHECK(std::is_sorted(starts.begin(), starts.end()));
    for (std::size_t i = 0; i + 1 < starts.size(); ++i) CHECK(starts[i + 1] - starts[i] >= (i < 15 ? 32 : 48));
    CHECK(starts.back() + 48 <= memory.data() + memory.size());
    for (const auto* at : starts) CHECK((at - memory.data()) % 16 == 0);
}
