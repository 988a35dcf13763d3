// What every hot index must show: it maps rows to codes as a map does, in the bytes that it asks
// for.
#include "catch.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <unordered_map>
#include <vector>

namespace {

using namespace dhisparse;
using ref = policy_under_test::ref;

/// An empty index in memory of exactly the size that the policy states.
struct index_memory {
    index_memory(std::int64_t n_rows, std::int64_t n_codes)
        : rows(n_rows), codes(n_codes),
          bytes(static_cast<std::size_t>(rows * policy_under_test::bytes_per_row +
                                         policy_under_test::fixed_bytes(codes)),
                std::byte{0xFF}) {}
    ref at() { return policy_under_test::at(bytes.data(), codes); }

    std::int64_t rows, codes;
    std::vector<std::byte> bytes;
};

using model = std::unordered_map<std::int32_t, hot_code>;

/// every: only each so-manieth row is asked for.
std::size_t differences(const ref& index, const model& expected, std::int64_t rows,
                        std::int32_t every = 1) {
    std::size_t n = 0;
    for (std::int32_t row = 0; row < rows; row += every) {
        const auto at = expected.find(row);
        n += index.find(row) != (at == expected.end() ? no_code : at->second);
    }
    return n;
}

/// One random operation on both; never more rows than codes.
template <class Random>
void step(const ref& index, model& expected, const index_memory& memory, Random& random) {
    const auto row = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(memory.rows));
    const auto code = static_cast<hot_code>(random() % 65534);
    const bool there = expected.contains(row),
               full = static_cast<std::int64_t>(expected.size()) == memory.codes;
    if (random() % 5 < 3 && (there || !full)) {
        index.set(row, code); // a new row, or another code for one that is there
        expected[row] = code;
    } else {
        index.erase(row); // also of rows that are not there
        expected.erase(row);
    }
}

/// Every third row, up to as many as there are codes.
void fill_and_empty(std::int64_t codes, std::int32_t every) {
    CAPTURE(codes);
    index_memory memory(4 * codes, codes);
    const auto index = memory.at();
    model expected;
    for (std::int32_t i = 0; i < codes; ++i) {
        index.set(3 * i, static_cast<hot_code>(i));
        expected[3 * i] = static_cast<hot_code>(i);
    }
    CHECK(differences(index, expected, memory.rows, every) == 0);
    for (std::int32_t i = 0; i < codes; ++i)
        index.erase(3 * i);
    CHECK(differences(index, {}, memory.rows, every) == 0);
}

} // namespace

TEST_CASE("an index of 0xFF bytes alone is empty", "[hot_index]") {
    index_memory memory(1000, 100);
    CHECK(differences(memory.at(), {}, memory.rows) == 0);
    CHECK(policy_under_test::fixed_bytes(100) % 16 == 0);
}

TEST_CASE("an index does what a map does over a long program", "[hot_index]") {
    CAPTURE(dhisparse_test::seed());
    std::mt19937_64 random(dhisparse_test::seed());
    index_memory memory(1 << 12, 512);
    model expected;
    const auto index = memory.at();
    for (int i = 0; i < 60'000; ++i) {
        step(index, expected, memory, random);
        if (i % 1000 == 0) REQUIRE(differences(index, expected, memory.rows) == 0);
    }
    CHECK(differences(index, expected, memory.rows) == 0);
}

// Probing has no groups here: what wraps around is a cluster of linear probing.
TEST_CASE("HC-11: small crowded indexes find every row once, also in clusters that wrap around",
          "[hot_index]") {
    CAPTURE(dhisparse_test::seed());
    std::mt19937_64 random(dhisparse_test::seed());
    for (int program = 0; program < 1'000; ++program) {
        index_memory memory(64, 1 + program % 9);
        model expected;
        const auto index = memory.at();
        std::size_t n_wrong = 0;
        for (int i = 0; i < 40; ++i) {
            step(index, expected, memory, random);
            n_wrong += differences(index, expected, memory.rows);
        }
        REQUIRE(n_wrong == 0);
    }
}

TEST_CASE("an index holds as many rows as it has codes", "[hot_index]") {
    for (const std::int64_t codes : {1, 2, 7, 8, 9, 2048})
        fill_and_empty(codes, 1);
    fill_and_empty(65'534, 101); // no multiple of 3: rows that are there, and others
}

TEST_CASE("the largest index holds as many rows as it has codes, and no others", "[hot_index][slow]") {
    fill_and_empty(65'534, 1);
}

TEST_CASE("the last row and the largest code are ordinary ones", "[hot_index]") {
    index_memory memory(1000, 4);
    const auto index = memory.at();
    index.set(999, 65'533);
    index.set(0, 0);
    CHECK(index.find(999) == 65'533);
    CHECK(index.find(0) == 0);
    index.erase(999);
    CHECK(index.find(999) == no_code);
}

TEST_CASE("erasing a row that is not there changes nothing", "[hot_index]") {
    index_memory memory(256, 16);
    const auto index = memory.at();
    for (std::int32_t row = 0; row < 16; ++row)
        index.set(row * 7, static_cast<hot_code>(row));
    const auto before = memory.bytes;
    index.erase(5);
    CHECK(memory.bytes == before);
}

TEST_CASE("two refs of the same bytes are one index", "[hot_index]") {
    index_memory memory(100, 10);
    memory.at().set(42, 7);
    CHECK(memory.at().find(42) == 7);
    STATIC_REQUIRE(std::is_trivially_copyable_v<ref>);
    STATIC_REQUIRE(sizeof(ref) <= 64);
}
