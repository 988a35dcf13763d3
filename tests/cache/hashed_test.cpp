// The hashed index where its table wraps around: rows are put by the cell where probing starts.
#include <dhisparse/policy/hot_index/hashed.hpp>

#include "catch.hpp"

#include <algorithm>
#include <vector>

using namespace dhisparse;

namespace {

constexpr std::int64_t codes = 8;

struct table {
    std::vector<std::byte> bytes = std::vector<std::byte>(
        static_cast<std::size_t>(hashed::fixed_bytes(codes)), std::byte{0xFF});
    hashed::ref at = hashed::at(bytes.data(), codes);

    std::uint32_t cells() const { return at.mask + 1; }
    std::ptrdiff_t matches(std::int32_t row) const {
        return std::count(at.rows, at.rows + cells(), row);
    }
};

/// The cell where a row goes in an empty table.
std::uint32_t home_of(std::int32_t row) {
    table t;
    t.at.set(row, 1);
    return static_cast<std::uint32_t>(std::find(t.at.rows, t.at.rows + t.cells(), row) - t.at.rows);
}

/// The first n rows whose home is this cell.
std::vector<std::int32_t> rows_of(std::uint32_t cell, std::size_t n) {
    std::vector<std::int32_t> out;
    for (std::int32_t row = 0; out.size() < n; ++row)
        if (home_of(row) == cell) out.push_back(row);
    return out;
}

/// A table with five rows that begin two cells before the end and two that belong to cell 0.
struct wrapped {
    table t;
    std::vector<std::int32_t> rows;

    wrapped() {
        rows = rows_of(t.cells() - 2, 5);
        for (const auto row : rows_of(0, 2))
            rows.push_back(row);
        for (std::size_t i = 0; i < rows.size(); ++i)
            t.at.set(rows[i], static_cast<hot_code>(i));
    }
    std::size_t wrong(std::size_t erased) const {
        std::size_t n = 0;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            n += t.at.find(rows[i]) != (i == erased ? no_code : static_cast<hot_code>(i));
            n += t.matches(rows[i]) != (i == erased ? 0 : 1);
        }
        return n;
    }
};

} // namespace

TEST_CASE("HC-11: rows whose probing wraps around are found once each", "[hashed]") {
    const wrapped w;
    CHECK(w.t.at.rows[0] >= 0); // it did wrap
    CHECK(w.t.at.rows[w.t.cells() - 1] >= 0);
    CHECK(w.wrong(w.rows.size()) == 0);
    CHECK(w.t.at.find(rows_of(w.t.cells() - 2, 6).back()) == no_code);
}

TEST_CASE("HC-11: setting a row again in a wrapped cluster overwrites its code", "[hashed]") {
    wrapped w;
    for (std::size_t i = 0; i < w.rows.size(); ++i)
        w.t.at.set(w.rows[i], static_cast<hot_code>(i));
    CHECK(w.wrong(w.rows.size()) == 0);
}

TEST_CASE("HC-11: erasing any row of a wrapped cluster leaves the others reachable", "[hashed]") {
    for (std::size_t i = 0; i < 7; ++i) {
        CAPTURE(i);
        wrapped w;
        w.t.at.erase(w.rows[i]);
        CHECK(w.wrong(i) == 0);
        w.t.at.set(w.rows[i], static_cast<hot_code>(i));
        CHECK(w.wrong(w.rows.size()) == 0);
    }
}

TEST_CASE("a hashed index is never more than a quarter full", "[hashed]") {
    for (const std::int64_t n : {1, 7, 8, 9, 100, 4096, 65'534}) {
        CAPTURE(n);
        const auto bytes = hashed::fixed_bytes(n);
        CHECK(bytes % 16 == 0);
        CHECK(bytes >= 4 * n * 6 + 16);
        CHECK(bytes <= std::max<std::int64_t>(16, 8 * n) * 6 + 16);
    }
}
