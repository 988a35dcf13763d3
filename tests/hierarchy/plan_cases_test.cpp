// Failure cases of plans and shapes that show in a hierarchy's rows.
#include "catch.hpp"
#include "engine.hpp"
#include "refusal.hpp"

#include <cstring>
#include <numeric>
#include <set>

using namespace dhisparse_test;

namespace {

constexpr int packed_row = 656; // 512 values, 4 float scales, 128 bytes that no scale belongs to
/// Not a power of two, and another one for each layer and row.
float scale_of(int layer, int row, int block) { return 0.7F * static_cast<float>(layer + 1) + 0.013F * static_cast<float>(row) + 0.11F * static_cast<float>(block); }
std::int8_t value_of(int row, int i) { return static_cast<std::int8_t>((row * 7 + i) % 255 - 127); }

void write_packed(std::byte* out, int layer, int row) {
    for (int i = 0; i < 512; ++i) out[i] = static_cast<std::byte>(value_of(row, i));
    for (int block = 0; block < 4; ++block) {
        const auto scale = scale_of(layer, row, block);
        std::memcpy(out + 512 + 4 * block, &scale, 4);
    }
}
/// As attention would read it.
float dequantised(const std::byte* in, int i) {
    float scale = 0;
    std::memcpy(&scale, in + 512 + 4 * (i / 128), 4);
    return scale * static_cast<float>(static_cast<std::int8_t>(in[i]));
}

/// Locations of the first k rows for every request of a batch, as one round that isn't committed.
std::vector<dh::location> look_up_batch(engine& e, const std::vector<std::int32_t>& slots, int k) {
    const auto n = slots.size();
    const auto round = e.it->append({slots.data(), nullptr, static_cast<std::int32_t>(n)});
    std::vector<std::int32_t> rows(n * static_cast<std::size_t>(k));
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int32_t>(i) % k;
    std::vector<dh::location> at(n * 64, -2);
    e.it->resolve(round, e.it->layout().shape().announcements[0], {rows.data(), k, k}, {at.data(), 64, 64});
    return at;
}

} // namespace

TEST_CASE("PL-01 PL-02 each layer reads its own scales, to the last bit, also where history is longer than k", "[hierarchy]") {
    const int combination = GENERATE(0, 1), history = GENERATE(3, 40);
    auto config = plain_config({.page_positions = 16, .k = 4, .lanes = 2, .row_bytes = packed_row});
    engine e(config, combination);
    const auto slot = e.it->try_admit({history, 8}).value();
    for (int page = 0; page * 16 < history; ++page) {
        const auto given = e.it->import_pages(slot, page, 1);
        REQUIRE(given.size() == 1);
        for (int layer = 0; layer < 2; ++layer)
            for (int i = 0; i < 16 && page * 16 + i < history; ++i) write_packed(e.it->row(layer, e.it->location_of(layer, given[0], i), 0), layer, page * 16 + i);
        e.it->landed(slot, page, 1);
    }
    e.it->finish_import(slot);
    for (int i = 0; i < 3; ++i) e.advance();
    if (history > 4) REQUIRE(e.it->reclaim(1) > 0); // and from the host tier
    for (int i = 0; i < 3; ++i) e.advance();
    const std::int32_t s = slot.index;
    const std::vector<std::int32_t> rows{1, history - 1}; // of the history, and of the boundary page
    std::vector<dh::location> at(64);
    const auto round = e.it->append({&s, nullptr, 1});
    e.it->resolve(round, e.it->layout().shape().announcements[0], {rows.data(), 2, 2}, {at.data(), 64, 64});
    for (std::size_t n = 0; n < 2; ++n)
        for (int layer = 0; layer < 2; ++layer) {
            REQUIRE(at[n] >= 0);
            const auto* got = e.it->view(layer).base + std::int64_t{at[n]} * packed_row;
            for (int i = 0; i < 512; ++i) REQUIRE(dequantised(got, i) == scale_of(layer, rows[n], i / 128) * static_cast<float>(value_of(rows[n], i)));
        }
    CHECK((e.it->counts().host > 0) == (history > 4));
}

TEST_CASE("PL-05 a row of four positions is published when the fourth is committed, and not before", "[hierarchy]") {
    engine e(plain_config({.page_positions = 8, .k = 2, .m = 4, .row_bytes = 64}));
    std::memset(e.it->tiers().host, 0xEE, static_cast<std::size_t>(64 * e.it->layout().host_page_bytes()));
    const auto slot = e.start(2, 20);
    for (int n = 3; n <= 8; ++n) {
        e.decode(slot, 1);
        REQUIRE(e.frontier(slot) == n);
        for (int row = 0; row < 2; ++row) CHECK(e.host_row_is_there(slot, row) == (row < n / 4));
        const auto at = e.look_up(slot, {0, 1}); // of the position behind these, which would complete another
        for (int row = 0; row < 2; ++row) CHECK((at[static_cast<std::size_t>(row)] >= 0) == (row < (n + 1) / 4));
    }
}

TEST_CASE("PL-08 a batch larger than what was made for is refused before anything is touched", "[hierarchy]") {
    auto config = plain_config();
    config.max_requests = 6;
    engine e(config);
    const auto slot = e.start(10, 4);
    const std::vector<std::int32_t> seven{slot.index, -1, -1, -1, -1, -1, -1};
    CHECK(refusal([&] { e.it->append({seven.data(), nullptr, 7}); }) == "requests of a batch is 7, permitted: 0 to 6");
    CHECK(e.frontier(slot) == 10);
    e.check_history(slot);
}

TEST_CASE("PL-09 PL-15 one size of batch serves every smaller one, padded with -1", "[hierarchy]") {
    auto config = plain_config();
    config.max_requests = 7; // of four slots
    engine e(config);
    std::vector<std::int32_t> slots;
    std::vector<std::vector<dh::location>> alone;
    for (int i = 0; i < 4; ++i) {
        const auto slot = e.start(12, 4);
        slots.push_back(slot.index);
        alone.push_back(e.look_up(slot, {0, 1, 2, 3}));
    }
    for (std::size_t n = 1; n <= 4; ++n) {
        std::vector<std::int32_t> padded(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(n));
        padded.insert(padded.begin(), 2, -1); // before and behind
        padded.resize(7, -1);
        const auto at = look_up_batch(e, padded, 4);
        for (std::size_t r = 0; r < 7; ++r)
            for (std::size_t i = 0; i < 64; ++i) CHECK(at[r * 64 + i] == (r >= 2 && r < 2 + n && i < 4 ? alone[r - 2][i] : -1));
    }
}

TEST_CASE("PL-10 rows at the end of the longest context overlap nobody's", "[hierarchy]") {
    auto config = plain_config();
    config.pool_pages = config.host_pages = 2'200;
    config.slots = 2;
    engine e(config);
    const auto a = e.start(4'096, 4), b = e.start(4'096, 4);
    std::set<dh::location> all;
    for (const auto slot : {a, b})
        for (const auto at : e.look_up(slot, {2'047, 2'048, 4'095})) { // compares the bytes
            CHECK(at >= 0);
            all.insert(at);
        }
    CHECK(all.size() == 6);
}

TEST_CASE("PL-11 a batch gives each request what it gets alone, whatever the batch's size", "[hierarchy]") {
    auto config = plain_config();
    config.slots = 96;
    config.pool_pages = config.host_pages = 96 * 8;
    engine e(config);
    std::vector<std::int32_t> slots;
    std::vector<std::vector<dh::location>> alone;
    for (int i = 0; i < 96; ++i) {
        const auto slot = e.start(6, 2);
        slots.push_back(slot.index);
        alone.push_back(e.look_up(slot, {0, 1, 2, 3}));
    }
    for (const std::size_t n : {63u, 64u, 65u, 96u}) {
        const auto at = look_up_batch(e, {slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(n)}, 4);
        for (std::size_t r = 0; r < n; ++r)
            for (std::size_t i = 0; i < 4; ++i) REQUIRE(at[r * 64 + i] == alone[r][i]);
    }
}
