// The draft ring: addresses, what may be read and written when, rollback, and its planes.
#include "catch.hpp"
#include "random.hpp"
#include "refusal.hpp"

#include <dhisparse/draft/draft_ring.hpp>

#include <set>

namespace dh = dhisparse;
using namespace dhisparse_test;

namespace {

/// A ring of one layer whose key says which write it is from, and what each position should hold.
class ring_model {
public:
    explicit ring_model(const dh::draft_ring_config& config) : config_(config), ring_(with_layer(config)), ref_(ring_.ref()) {
        expected_.resize(static_cast<std::size_t>(config.slots));
    }

    const dh::draft_ring_ref& ref() const { return ref_; }
    std::int32_t end(int slot) const { return static_cast<std::int32_t>(expected_[static_cast<std::size_t>(slot)].size()); }
    /// The write that the position's row is from.
    std::int32_t read(int slot, std::int32_t t, std::int32_t n_written = 0) const { return key(ref_.find(slot, t, n_written)); }

    /// Writes k positions, of which the window and those before must still be there; then A are accepted.
    void round(int slot, std::int32_t k, std::int32_t accepted) {
        auto& all = expected_[static_cast<std::size_t>(slot)];
        const auto n = end(slot);
        for (std::int32_t j = 0; j < k; ++j) {
            const auto at = ref_.place(slot, n + j);
            REQUIRE(at >= slot * ring_.rows());
            REQUIRE(at < (slot + 1) * ring_.rows());
            *reinterpret_cast<std::int32_t*>(ring_.keys(0).row(at)) = ++writes_;
            all.push_back(writes_);
        }
        check_readable(slot, n, k);
        all.resize(static_cast<std::size_t>(k > 0 ? n + accepted + 1 : n));
        REQUIRE(ref_.commit(slot, k, accepted) == end(slot));
        check_readable(slot, end(slot), 0);
    }

    /// Exactly the window and the round's own rows can be read, and they are right.
    void check_readable(int slot, std::int32_t n, std::int32_t n_written) const {
        const auto& all = expected_[static_cast<std::size_t>(slot)];
        REQUIRE(ref_.ready(slot));
        for (std::int32_t t = 0; t < n + n_written + 2 * config_.k_max + 2; ++t) {
            const bool there = t >= n - config_.window && t < n + n_written;
            REQUIRE(read(slot, t, n_written) == (there ? all[static_cast<std::size_t>(t)] : -1));
        }
    }

private:
    static dh::draft_ring_config with_layer(dh::draft_ring_config config) {
        config.layers = {{.key_bytes = 4}};
        return config;
    }
    std::int32_t key(dh::location at) const { return at < 0 ? -1 : *reinterpret_cast<const std::int32_t*>(ring_.keys(0).row(at)); }

    dh::draft_ring_config config_;
    dh::draft_ring<> ring_;
    dh::draft_ring_ref ref_;
    std::vector<std::vector<std::int32_t>> expected_; // [slots][positions so far] write
    std::int32_t writes_ = 0;
};

/// The pages that a round beginning at n touches, window included, lie on different pages of the ring.
void check_pages(const dh::draft_ring_config& config, const dh::draft_ring_ref& ring, std::int32_t n) {
    const auto p = config.page_positions;
    std::set<std::int32_t> positions, rows;
    for (auto t = std::max(0, n - config.window); t < n + config.k_max; ++t) {
        positions.insert(t / p);
        rows.insert(ring.at(0, t) / p);
    }
    REQUIRE(positions.size() == rows.size());
}

} // namespace

TEST_CASE("a ring has the rows of equation (9), and a position the row of (10)", "[draft]") {
    for (const int k_max : {4, 6, 8}) CHECK(dh::draft_ring<>({.window = 2048, .k_max = k_max, .page_positions = 64, .layers = {{4}}}).rows() == 2176);
    CHECK(dh::ring_rows(64, 256, 8) == 384);
    CHECK(dh::ring_rows(1, 1, 1) == 2);
    const dh::draft_ring<> ring({.slots = 3, .window = 2048, .k_max = 8, .page_positions = 64, .layers = {{4}}});
    for (const int t : {0, 2175, 2176, 100'000, INT32_MAX})
        for (const int slot : {0, 2}) CHECK(ring.ref().at(slot, t) == dh::ring_row(slot, t, 2176));
}

TEST_CASE("for every small window, page and block, no write reaches a row that is still read", "[draft]") {
    CAPTURE(seed());
    random_source random(seed());
    for (int window = 1; window <= 9; ++window)
        for (int p = 1; p <= 6; ++p)
            for (int k_max = 1; k_max <= 5; ++k_max) {
                CAPTURE(window, p, k_max);
                const dh::draft_ring_config config{.slots = 2, .window = window, .k_max = k_max, .page_positions = p};
                ring_model model(config);
                REQUIRE(model.ref().rows.divisor % static_cast<std::uint32_t>(p) == 0);
                REQUIRE(model.ref().room() >= k_max);
                while (model.end(0) < 60) {
                    const int slot = random.between(0, 1), k = random.between(0, k_max);
                    model.round(slot, k, random.between(0, k - 1));
                }
                for (int n = 0; n < 60; ++n) check_pages(config, model.ref(), n);
            }
}

TEST_CASE("RG-01 batches of any size leave exactly the newest W rows", "[draft]") {
    ring_model model({.window = 16, .k_max = 4, .page_positions = 4});
    for (const int batch : {1, 4, 4, 4, 4, 4, 4, 4}) {
        model.round(0, batch, batch - 1);
        int readable = 0, oldest = -1;
        for (int t = model.end(0); t-- > 0;)
            if (model.ref().find(0, t) >= 0) ++readable, oldest = t;
        CHECK(readable == std::min(model.end(0), 16));
        CHECK(oldest == std::max(0, model.end(0) - 16));
    }
}

TEST_CASE("RG-02 rejected rows are gone after the ring has wrapped, and the window is whole", "[draft]") {
    ring_model model({.window = 8, .k_max = 4, .page_positions = 2});
    REQUIRE(model.ref().rows.divisor == 14);
    for (int t = 0; t < 20; t += 4) model.round(0, 4, 3);
    model.round(0, 4, 1);
    CHECK(model.ref().frontier(0) == 22);
    for (const int t : {22, 23, 13}) CHECK(model.ref().find(0, t) == -1);
    for (int t = 14; t < 22; ++t) CHECK(model.read(0, t) == t + 1);
    CHECK(model.ref().place(0, 22) == model.ref().at(0, 22));
    model.round(0, 1, 0);
    CHECK(model.read(0, 22) == 25); // the 25th write, not the rejected 23rd
}

TEST_CASE("RG-03 rows written again after a rejection follow those before it", "[draft]") {
    ring_model model({.window = 8, .k_max = 4, .page_positions = 4});
    for (int t = 0; t < 8; ++t) model.round(0, 1, 0);
    model.round(0, 4, 0); // 8 stays, 9 to 11 go
    model.round(0, 3, 2); // 9' to 11'
    const std::vector<int> writes{5, 6, 7, 8, 9, 13, 14, 15};
    for (int i = 0; i < 8; ++i) CHECK(model.read(0, 4 + i) == writes[static_cast<std::size_t>(i)]);
}

TEST_CASE("RG-04 rows come back in the order of positions at every step", "[draft]") {
    ring_model model({.window = 8, .k_max = 3, .page_positions = 1});
    model.round(0, 3, 2);
    while (model.end(0) < 40) {
        model.round(0, 1, 0);
        for (int t = std::max(0, model.end(0) - 8); t < model.end(0); ++t) CHECK(model.read(0, t) == t + 1);
    }
}

TEST_CASE("RG-05 the ring grows by A+1 a round, as the frontier does", "[draft]") {
    ring_model model({.window = 8, .k_max = 5, .page_positions = 4});
    int frontier = 0;
    for (const int accepted : {4, 0, 2, 1, 3}) {
        model.round(0, 5, accepted);
        frontier += accepted + 1;
        CHECK(model.ref().frontier(0) == frontier);
    }
    CHECK(frontier == 15);
    model.round(0, 0, 3); // K = 0: accepted is ignored
    CHECK(model.ref().frontier(0) == 15);
}

TEST_CASE("RG-06 rows that were lost are missing until the window is rebuilt", "[draft]") {
    const dh::draft_ring<> ring({.slots = 2, .window = 8, .k_max = 4, .page_positions = 4, .layers = {{4}}});
    const auto ref = ring.ref();
    CHECK(ref.ready(0));
    for (int t = 0; t < 20; t += 4) ref.commit(0, 4, 3);
    ref.commit(1, 4, 3);
    ref.restart(0, 20 - 8); // parked and resumed at frontier 20
    CHECK_FALSE(ref.ready(0));
    for (int t = 0; t < 24; ++t) CHECK(ref.find(0, t) == -1);
    for (int t = 12; t < 20; ++t) {
        CHECK_FALSE(ref.ready(0));
        CHECK(ref.place(0, t) >= 0);
        ref.commit(0, 1, 0);
        CHECK(ref.find(0, t) == ref.at(0, t));
    }
    CHECK(ref.ready(0));
    CHECK(ref.frontier(0) == 20);
    CHECK(ref.frontier(1) == 4); // the neighbour is as it was
    ref.restart(0, 0);           // a new request's
    CHECK(ref.ready(0));
    CHECK(ref.find(0, 0) == -1);
}

TEST_CASE("a position, width or slot out of range has a defined result", "[draft]") {
    const dh::draft_ring<> ring({.slots = 2, .window = 8, .k_max = 4, .page_positions = 4, .layers = {{4}}});
    const auto ref = ring.ref();
    REQUIRE(ref.room() == 8);
    ref.commit(1, 4, 3);
    CHECK(ref.place(1, 3) == -1); // accepted: never written again
    CHECK(ref.place(1, 4 + 7) >= 0);
    CHECK(ref.place(1, 4 + 8) == -1); // would take a row of the window
    CHECK(ref.commit(1, 100, 99) == 12);
    CHECK(ref.commit(1, 4, 4) == 16);
    CHECK(ref.commit(1, 4, -1) == 17);
    CHECK(ref.commit(1, -3, 2) == 17);
    CHECK(ref.find(1, 17, 100) == ref.at(1, 17));
    CHECK(ref.find(1, 17 + 8, 100) == -1);
    CHECK(ref.find(1, -1) == -1);
    for (const int slot : {-1, 2}) {
        ref.restart(slot, 5);
        CHECK(ref.commit(slot, 4, 3) == 0);
        CHECK(ref.place(slot, 0) == -1);
        CHECK(ref.find(slot, 0) == -1);
        CHECK_FALSE(ref.ready(slot));
    }
    CHECK(ref.frontier(0) == 0);
    ref.restart(0, -5);
    CHECK(ref.frontier(0) == 0);
}

TEST_CASE("layers keep K and V of their own widths in planes that don't overlap", "[draft]") {
    dh::draft_ring_config config{.slots = 2, .window = 5, .k_max = 2, .page_positions = 4, .layers = {{576, 0}, {48, 80}, {3, 1}}};
    const auto bytes = dh::draft_ring<>::bytes_needed(config);
    alignas(128) static std::byte memory[64 * 1024];
    REQUIRE(bytes <= std::int64_t{sizeof memory});
    std::memset(memory, 0xAB, sizeof memory);
    config.memory = {memory, static_cast<std::size_t>(bytes)};
    const dh::draft_ring<> ring(config);
    CHECK(ring.bytes() == bytes);
    CHECK(ring.ref().frontier(1) == 0); // lent memory is cleared
    CHECK(ring.n_layers() == 3);
    CHECK(ring.values(0).base == ring.keys(0).base);
    CHECK(ring.values(1).row_bytes == 80);
    const auto* next = memory + 2 * sizeof(dh::ring_span);
    for (const auto& plane : {ring.keys(0), ring.keys(1), ring.values(1), ring.keys(2), ring.values(2)}) {
        CHECK(plane.base >= next);
        CHECK(reinterpret_cast<std::uintptr_t>(plane.base) % 128 == 0);
        next = plane.row(2 * ring.rows());
    }
    CHECK(next <= memory + bytes);
}

TEST_CASE("a ring that can't work is refused", "[draft]") {
    const dh::draft_ring_config good{.slots = 2, .window = 8, .k_max = 4, .page_positions = 4, .layers = {{4}}};
    const auto refused = [&](auto&& change) {
        auto config = good;
        change(config);
        return refusal([&] { dh::draft_ring<>{config}; });
    };
    CHECK(refused([](auto& c) { c.window = 0; }) == "window is 0, permitted: 1 to 2147483647");
    CHECK(refused([](auto& c) { c.slots = 0; }) == "slots is 0, permitted: 1 to 2147483647");
    CHECK(refused([](auto& c) { c.k_max = 0; }) == "k_max is 0, permitted: 1 to 2147483647");
    CHECK(refused([](auto& c) { c.page_positions = -1; }) == "page_positions is -1, permitted: 1 to 2147483647");
    CHECK(refused([](auto& c) { c.layers.clear(); }) == "layers of a draft ring are 0, permitted: 1 or more");
    CHECK(refused([](auto& c) { c.layers[0].key_bytes = 0; }) == "key_bytes is 0, permitted: 1 or more");
    CHECK(refused([](auto& c) { c.layers[0].value_bytes = -4; }) == "value_bytes is -4, permitted: 0 or more");
    const dh::draft_ring_config huge{.slots = 1 << 28, .window = 8, .k_max = 4, .page_positions = 4, .layers = {{4}}};
    CHECK(refusal<dh::out_of_capacity>([&] { dh::draft_ring<>{huge}; }) == "draft rings have 4294967296 rows, permitted: 2147483647 at most (32-bit locations)");
    alignas(128) static std::byte little[64];
    CHECK(refused([](auto& c) { c.memory = little; }).find("draft ring memory holds 64 bytes, needed: ") == 0);
}
