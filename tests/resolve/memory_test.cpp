// What the step path may touch: nothing beside its arrays, and addresses of any size.
#include "catch.hpp"
#include "guarded.hpp"
#include "hand_made.hpp"
#include "real_shapes.hpp"

#include <numeric>

using namespace dhisparse;
using dhisparse_test::guarded_array;
using dhisparse_test::row_list;
using dhisparse_test::shape_of;
using subject = dhisparse_test::hand_made<>;

namespace {

model_shape small_shape() {
    return shape_of(16, 8, {{{.row_bytes = 128}, 2}});
}

/// The arrays that a batch of n requests brings, each ending where memory ends.
struct guarded_batch {
    explicit guarded_batch(std::int32_t n, std::int32_t k = 8)
        : n_requests(n), slots(count(n)), widths(count(n)), accepted(count(n)),
          selection(count(n * k)), at(count(n * k)), valid(count(n)) {
        std::iota(slots.all().begin(), slots.all().end(), 0);
        std::fill(widths.all().begin(), widths.all().end(), 1);
        std::iota(selection.all().begin(), selection.all().end(), 0);
    }
    static std::size_t count(std::int32_t n) { return static_cast<std::size_t>(n); }
    batch_ref batch() const { return {slots.data(), widths.data(), n_requests}; }

    std::int32_t n_requests;
    guarded_array<std::int32_t> slots, widths, accepted, selection;
    guarded_array<location> at;
    guarded_array<std::int32_t> valid;
};

/// 32 requests, each with its own page on the GPU and seven committed positions.
struct many_requests : subject {
    many_requests()
        : subject(small_shape(), {.n_pages = 32,
                                  .hot_pages = 1,
                                  .host_pages = 32,
                                  .slots = 32,
                                  .positions = 16,
                                  .max_requests = 32}) {
        for (std::int32_t slot = 0; slot < 32; ++slot) {
            open(slot, 16, 7);
            map(slot, 0, slot);
            map_host(slot, 0, slot);
        }
    }
};

} // namespace

TEST_CASE("memory behind a guarded array can't be touched", "[guarded]") {
    const guarded_array<std::int32_t> ends(3), begins(3, guarded_array<std::int32_t>::edge::begins);
    CHECK(dhisparse_test::readable(ends.data() + 2));
    CHECK_FALSE(dhisparse_test::readable(ends.data() + 3));
    CHECK(dhisparse_test::readable(begins.data()));
    CHECK_FALSE(dhisparse_test::readable(reinterpret_cast<const std::byte*>(begins.data()) - 1));
}

TEST_CASE("RS-06: a selection of -1 alone reads nothing of either tier", "[resolve]") {
    subject s(small_shape(), {.hot_pages = 1});
    s.open_on_host(0, 64, 0);
    s.give_hot_pages(0, 0);
    const guarded_array<std::byte> nothing(0, guarded_array<std::byte>::edge::begins);
    auto step = s.step();
    step.tiers.slab = step.tiers.host = nothing.data(); // unmapped pages on both sides
    const auto round = s.append({0});
    const row_list selection(8, -1);
    row_list at(64, 123456);
    resolve_scratch scratch(16, 8, 1);
    resolve<dense, lru>(step, 0, round, {selection.data(), 8, 8}, {at.data(), 64, 0, nullptr},
                        scratch);
    CHECK(at == row_list(64, -1));
}

TEST_CASE("RS-06: row 0 of a slab that begins behind an unmapped page is read from its first byte",
          "[resolve]") {
    const auto layout =
        page_layout::make<page_major>(small_shape(), {.n_pages = 16, .hot_pages = 1});
    const guarded_array<std::byte> slab(static_cast<std::size_t>(layout.slab_bytes()),
                                        guarded_array<std::byte>::edge::begins);
    subject s(small_shape(), {.hot_pages = 1, .slab_memory = slab.all()});
    s.open_on_host(0, 64, 0);
    s.give_hot_pages(0, 0);
    row_list selection(8, -1);
    selection[3] = 0;
    const auto got = s.resolve_one(0, selection);
    CHECK(s.holds(0, got.at[3], 0));
    CHECK(std::count(got.at.begin(), got.at.end(), -1) == 63);
}

TEST_CASE("RS-11: batches of 0 to 32 requests read and write nothing behind their arrays",
          "[resolve]") {
    many_requests s;
    for (std::int32_t n = 0; n <= 32; ++n) {
        CAPTURE(n);
        guarded_batch b(n);
        round_arrays arrays(32, 1, 1, 0, 32);
        const auto round = append(s.step(), arrays, b.batch());
        s.resolve(round, {b.selection.data(), 8, 8}, {b.at.data(), 8, 8, b.valid.data()});
        commit(s.step(), round, b.accepted.data());
        for (std::int32_t slot = 0; slot < n; ++slot)
            s.tables().records[slot].frontier = 7;
        CHECK(round.n_queries == n);
        CHECK(std::count(b.valid.all().begin(), b.valid.all().end(), 8) ==
              std::min(n, 1)); // rows 0 to 7, then 8 to 15, …
    }
}

TEST_CASE("RS-11: the last slot's tables end where memory ends", "[resolve]") {
    many_requests s;
    const guarded_array<std::byte> tables(s.table_memory().size());
    std::copy(s.table_memory().begin(), s.table_memory().end(), tables.data());
    auto step = s.step();
    step.tables = s.sizes.at(tables.data());
    const std::vector<std::int32_t> slots{31};
    round_arrays arrays(32, 1, 1, 0, 32);
    const auto round = append(step, arrays, {slots.data(), nullptr, 1});
    const row_list selection{0, 7, 15, 8};
    row_list at(64);
    resolve_scratch scratch(16, 8, 1);
    resolve<dense, lru>(step, 0, round, {selection.data(), 4, 4}, {at.data(), 64, 0, nullptr},
                        scratch);
    CHECK(row_list(at.begin(), at.begin() + 4) == row_list{s.layout.group(0).at(gpu_page{31}, 0),
                                                           s.layout.group(0).at(gpu_page{31}, 7),
                                                           -1, -1});
}

TEST_CASE("RS-10: what a selection buffer holds for padding queries is never used", "[resolve]") {
    many_requests s;
    row_list selection(8 * 8, 0x7F7F7F7F);
    for (int query = 0; query < 3; ++query)
        std::iota(selection.begin() + 8 * query, selection.begin() + 8 * query + 8, 0);
    const auto before = s.counts;
    const auto got = s.resolve(s.append({0, 1, 2, -1, -1, -1, -1, -1}), {selection.data(), 8, 8});
    for (int query = 3; query < 8; ++query)
        CHECK(got.of(query) == row_list(64, -1));
    CHECK(got.valid == row_list{8, 8, 8, 0, 0, 0, 0, 0});
    CHECK(s.counts.selected - before.selected == 24);
    CHECK(s.count_of(violation::row_out_of_range) == 0);
}

TEST_CASE("RS-10: the same values in a live request are -1 and counted", "[resolve]") {
    many_requests s;
    CHECK(s.resolve_one(0, row_list(8, 0x7F7F7F7F)).valid == row_list{0});
    CHECK(s.count_of(violation::row_out_of_range) == 8);
}

TEST_CASE("PP-10: 64 padding requests change no byte of slab, host tier or tables", "[resolve]") {
    subject s(small_shape(), {.hot_pages = 1, .max_requests = 64});
    s.open_on_host(1, 64, 0);
    const auto copy = [](std::span<std::byte> bytes) {
        return std::vector<std::byte>(bytes.begin(), bytes.end());
    };
    const auto slab = copy(s.slab()), host = copy(s.host()), tables = copy(s.table_memory());
    const auto round = s.append(row_list(64, -1));
    const auto got = s.resolve(round, std::vector<row_list>(64, row_list{0, 1, 2}));
    s.commit(round);
    CHECK(std::count(got.at.begin(), got.at.end(), -1) == 64 * 64);
    CHECK(copy(s.slab()) == slab);
    CHECK(copy(s.host()) == host);
    CHECK(copy(s.table_memory()) == tables);
}

TEST_CASE("RS-08: rows above 3,728,270 of 576 bytes are placed and read exactly", "[resolve]") {
    constexpr std::int32_t page = 58'254,
                           last_page = 120'000; // rows 3,728,256 to 3,728,319, and far behind
    constexpr std::size_t slab_bytes = std::size_t{last_page + 1} * 64 * 576;
    const dhisparse_test::sparse_memory slab(slab_bytes);
    subject s(shape_of(64, 8, {{{.row_bytes = 576}, 1}}),
              {.n_pages = last_page + 1,
               .hot_pages = 1,
               .host_pages = 1,
               .slab_memory = {slab.data(), slab_bytes}});
    s.open_on_host(0, 64, 0);
    s.give_hot_pages(0, last_page);
    const auto got = s.resolve_one(0, {1, 2, 3, 4});
    CHECK(got.of(0, 4) ==
          row_list{7'680'060, 7'680'061, 7'680'062, 7'680'063}); // the last entries of the hot page
    s.map(0, 0, page);
    for (std::int32_t row = 13; row <= 16; ++row)
        s.write(0, 3'728'256 + row, 100 + row);
    CHECK(s.resolve_one(0, {13, 14, 15, 16}).of(0, 4) ==
          row_list{3'728'269, 3'728'270, 3'728'271, 3'728'272});
    for (std::int32_t row = 13; row <= 16; ++row)
        for (std::size_t i = 0; i < 576; i += 25)
            REQUIRE(slab.data()[(3'728'256 + static_cast<std::size_t>(row)) * 576 + i] ==
                    dhisparse_test::tagged_byte(100 + row, 0, static_cast<std::int64_t>(i)));
    for (std::int32_t i = 0; i < 4; ++i) {
        CHECK(s.holds(0, got.at[static_cast<std::size_t>(i)], 1 + i));
        CHECK(slab.data()[(7'680'060 + static_cast<std::size_t>(i)) * 576] ==
              dhisparse_test::tagged_byte(1 + i, 0, 0));
    }
}
