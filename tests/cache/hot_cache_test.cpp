// The hot cache alone: which rows stay, which give way, and what every selected row is given.
#include <dhisparse/cache/hot_cache.hpp>
#include <dhisparse/policy/hot_index/dense.hpp>
#include <dhisparse/policy/hot_index/hashed.hpp>
#include <dhisparse/policy/replacement/fifo.hpp>
#include <dhisparse/policy/replacement/lru.hpp>

#include "catch.hpp"
#include "reference_cache.hpp"
#include "refusal.hpp"

#include <numeric>
#include <random>
#include <set>

using namespace dhisparse;
using dhisparse_test::refusal;
using list = std::vector<std::int32_t>;

namespace {

/// What an access gave: an entry for each selected row, and the rows that it brought in.
struct access_result {
    list entries, missed;
};

template <class Index = dense, class Replacement = lru>
struct subject {
    hot_cache<Index, Replacement> cache;

    subject(std::int32_t entries, std::int32_t most_selected, std::int64_t rows = 10'000)
        : cache(rows, entries, entries + most_selected) {}
    access_result access(const list& selection) {
        access_result out;
        out.entries.resize(selection.size(), 123456);
        cache.access(selection, out.entries, [&](std::int32_t row) { out.missed.push_back(row); });
        return out;
    }
    list rows() {
        const auto ref = cache.ref();
        return {ref.rows, ref.rows + ref.entries};
    }
    bool holds(std::int32_t row) {
        const auto all = rows();
        return std::find(all.begin(), all.end(), row) != all.end();
    }
};

list range(std::int32_t first, std::int32_t last) {
    list out(static_cast<std::size_t>(last - first));
    std::iota(out.begin(), out.end(), first);
    return out;
}

using dense_lru = subject<dense, lru>;
using dense_fifo = subject<dense, fifo>;
using hashed_lru = subject<hashed, lru>;
using hashed_fifo = subject<hashed, fifo>;

bool is_fifo(const dense_lru&) {
    return false;
}
bool is_fifo(const hashed_lru&) {
    return false;
}
template <class Subject>
bool is_fifo(const Subject&) {
    return true;
}

/// Every entry's row is found at that entry, and no row is in two of them.
template <class Subject>
std::size_t wrong_entries(Subject& s) {
    const auto ref = s.cache.ref();
    std::set<std::int32_t> seen;
    std::size_t n = 0;
    for (std::int32_t e = 0; e < ref.entries; ++e)
        if (ref.rows[e] >= 0)
            n += ref.index.find(ref.rows[e]) != e || !seen.insert(ref.rows[e]).second;
    return n;
}

/// Up to n rows of a slowly moving neighbourhood, with repeats.
template <class Random>
list random_selection(std::size_t n, std::int32_t centre, Random& random) {
    list out(1 + random() % n);
    for (auto& row : out)
        row = static_cast<std::int32_t>((centre + static_cast<std::int32_t>(random() % 60)) % 400);
    return out;
}

} // namespace

// Block sizes are the CUDA backend's; here: exact counts and a consistent state for each mix.
TEMPLATE_TEST_CASE(
    "HC-01, HC-02: counts are exact and every row has one entry, for all hit, all missed and half",
    "[hot_cache]", dense_lru, dense_fifo, hashed_lru, hashed_fifo) {
    TestType s(4096, 2048);
    CHECK(s.access(range(0, 2048)).missed == range(0, 2048)); // all missed
    CHECK(s.access(range(0, 2048)).missed.empty());           // all hit
    CHECK(s.access(range(1024, 3072)).missed == range(2048, 3072));
    CHECK(wrong_entries(s) == 0);
    CHECK(s.access(range(4000, 6048)).missed.size() ==
          2048); // 1,024 into empty entries, the others evict
    CHECK(wrong_entries(s) == 0);
    const auto entries = s.access(range(4000, 6048)).entries;
    CHECK(std::set(entries.begin(), entries.end()).size() == 2048);
}

TEMPLATE_TEST_CASE("HC-02: the entries given to 2,048 distinct rows are a permutation of 0 … 2,047",
                   "[hot_cache]", dense_lru, dense_fifo, hashed_lru, hashed_fifo) {
    TestType s(2048, 2048);
    for (int i = 0; i < 3; ++i) {
        auto entries = s.access(range(1000 * i, 1000 * i + 2048)).entries;
        std::sort(entries.begin(), entries.end());
        CHECK(entries == range(0, 2048));
    }
}

TEMPLATE_TEST_CASE("a cache does what a list in order of giving way does", "[hot_cache]", dense_lru,
                   dense_fifo, hashed_lru, hashed_fifo) {
    CAPTURE(dhisparse_test::seed());
    std::mt19937_64 random(dhisparse_test::seed());
    TestType s(48, 24, 400);
    dhisparse_test::reference_cache expected(48, is_fifo(s));
    for (std::int32_t i = 0; i < 3'000; ++i) {
        const auto selection = random_selection(24, i / 4, random);
        const auto got = s.access(selection);
        REQUIRE(got.missed == expected.resolve(selection));
        for (std::size_t j = 0; j < selection.size(); ++j)
            REQUIRE(got.entries[j] == expected.entry_of(selection[j]));
        REQUIRE(s.rows() == expected.rows());
    }
    CHECK(*s.cache.ref().clock == 3'000);
}

TEST_CASE("HC-05: hits refresh a row, so that the one selected longest ago gives way",
          "[hot_cache]") {
    dense_lru s(3, 3);
    for (const std::int32_t row : {10, 11, 12, 10, 10})
        s.access({row}); // A B C A A
    CHECK(s.access({13}).missed == list{13});
    CHECK_FALSE(s.holds(11)); // B
    CHECK(s.access({10}).missed.empty());
}

TEST_CASE("HC-05: with fifo a hit changes nothing", "[hot_cache]") {
    dense_fifo s(3, 3);
    for (const std::int32_t row : {10, 11, 12, 10, 10})
        s.access({row});
    s.access({13});
    CHECK_FALSE(s.holds(10));
    CHECK(s.holds(11));
}

// A row in use is one that this access selects too: there are no other pins.
TEMPLATE_TEST_CASE("HC-06: where the oldest row is in use the next oldest gives way", "[hot_cache]",
                   dense_lru, dense_fifo) {
    TestType s(4, 4);
    for (const std::int32_t row : {20, 21, 22, 23})
        s.access({row});
    const auto got = s.access({20, 24});
    CHECK(got.missed == list{24});
    CHECK(got.entries[0] != got.entries[1]);
    CHECK(s.holds(20));
    CHECK_FALSE(s.holds(21));
}

// There is no prefetch: what competes with rows in use are other rows of the same access.
TEMPLATE_TEST_CASE("HC-04: rows in use are never evicted, what finds no entry is left out",
                   "[hot_cache]", dense_lru, dense_fifo, hashed_lru) {
    TestType s(8, 12);
    s.access(range(0, 8));
    const auto before = s.rows();
    auto selection = range(0, 8);
    for (const std::int32_t row : {100, 101, 102, 103})
        selection.push_back(row);
    const auto got = s.access(selection);
    CHECK(got.missed.empty());
    CHECK(list(got.entries.begin() + 8, got.entries.end()) == list(4, -1));
    CHECK(s.rows() == before);
    CHECK(s.access({100}).missed == list{100}); // nothing was left behind in the index
}

TEST_CASE("of more rows than entries the first ones get in", "[hot_cache]") {
    dense_lru s(4, 10);
    const auto got = s.access({9, 8, 7, 6, 5, 9, 4});
    CHECK(got.missed == list{9, 8, 7, 6});
    CHECK(got.entries == list{0, 1, 2, 3, -1, 0, -1});
    CHECK(wrong_entries(s) == 0);
}

TEST_CASE("RS-13: a row selected three times is brought in once, into one entry", "[hot_cache]") {
    dense_lru s(4, 4);
    const auto got = s.access({5, 5, 7, 5});
    CHECK(got.missed == list{5, 7});
    CHECK(got.entries == list{2, 2, 3, 2}); // of empty entries lru takes the highest
    CHECK(s.rows() == list{-1, -1, 5, 7});
}

TEST_CASE("missed rows fill the chosen entries in ascending order, best rank first",
          "[hot_cache]") {
    dense_lru s(6, 6);
    s.access({0, 1, 2, 3, 4, 5});
    s.access({1, 3});
    CHECK(s.access({30, 31, 32}).entries == list{2, 4, 5}); // of 0, 2, 4, 5 the worst ranks go
    dense_fifo f(6, 6);
    f.access({0, 1, 2, 3, 4, 5});
    CHECK(f.access({30, 31, 32}).entries == list{0, 1, 2});
}

TEST_CASE("an empty selection advances the clock and changes nothing else", "[hot_cache]") {
    dense_lru s(4, 4);
    s.access({1, 2});
    const auto before = s.rows();
    CHECK(s.access({}).missed.empty());
    CHECK(s.rows() == before);
    CHECK(*s.cache.ref().clock == 2);
}

TEST_CASE("a moved cache keeps its rows", "[hot_cache]") {
    dense_lru s(4, 4);
    s.access({1, 2, 3});
    dense_lru other(std::move(s));
    CHECK(other.access({1, 2, 3}).missed.empty());
}

TEST_CASE("the first and the last row of a history are ordinary ones", "[hot_cache]") {
    dense_lru s(2, 2, 100);
    CHECK(s.access({0, 99}).missed == list{0, 99});
    CHECK(s.access({0, 99}).missed.empty());
}

TEST_CASE("a cache of impossible size is refused before anything is allocated", "[hot_cache]") {
    using cache = hot_cache<dense, lru>;
    CHECK(refusal([] { cache(0, 4, 8); }) == "rows is 0, permitted: 1 to 2147483647");
    CHECK(refusal([] { cache(-1, 4, 8); }) == "rows is -1, permitted: 1 to 2147483647");
    CHECK_FALSE(refusal([] { cache(std::int64_t{1} << 62, 4, 8); }).empty());
    CHECK_FALSE(refusal([] { cache(100, -1, 8); }).empty());
    CHECK_FALSE(refusal([] { cache(100, 8, 8); }).empty());
    CHECK(refusal([] { cache(100, 8, 65'535); }) == "codes is 65535, permitted: 9 to 65534");
    CHECK_FALSE(refusal([] { cache(100, INT32_MAX, 8); }).empty());
}

TEST_CASE("a ref is a small view that can be copied to a kernel", "[hot_cache]") {
    STATIC_REQUIRE(std::is_trivially_copyable_v<hot_cache_ref<dense, lru>>);
    STATIC_REQUIRE(std::is_trivially_copyable_v<hot_cache_ref<hashed, fifo>>);
    STATIC_REQUIRE(sizeof(hot_cache_ref<hashed, fifo>) <= 64);
    STATIC_REQUIRE_FALSE(std::is_copy_constructible_v<hot_cache<dense, lru>>);
}
