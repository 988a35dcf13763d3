// What shapes in use take: bytes of pages, host pages and index blocks.
#include <dhisparse/layout/page_layout.hpp>
#include <dhisparse/policy/layout/page_major.hpp>
#include <dhisparse/policy/layout/source_planes.hpp>

#include "catch.hpp"
#include "real_shapes.hpp"
#include "refusal.hpp"

using namespace dhisparse;
using Catch::Matchers::ContainsSubstring;
using dhisparse_test::refusal;
using dhisparse_test::shape_of;

namespace {

page_layout page_major_of(const model_shape& shape, std::int64_t n_pages = 16,
                          std::int64_t hot_pages = 64) {
    return page_layout::make<page_major>(shape,
                                         {.n_pages = n_pages, .hot_pages = hot_pages, .k_max = 1});
}

double padding(const page_layout& layout) {
    return static_cast<double>(layout.page_bytes() - layout.payload_bytes()) /
           static_cast<double>(layout.payload_bytes());
}

/// Bytes lost a page of index blocks, as a share of the keys in it.
double pitch_padding(const page_layout& layout, std::int64_t block_bytes) {
    return static_cast<double>(layout.index().pitch_bytes - block_bytes) /
           static_cast<double>(block_bytes);
}

} // namespace

TEST_CASE("GLM-5.3's pages lose at most 2 % to padding and none to the index pitch",
          "[page_layout]") {
    const auto row_bytes = GENERATE(576, 656);
    CAPTURE(row_bytes);
    const auto layout = page_major_of(dhisparse_test::glm_5_3(row_bytes));
    CHECK(layout.n_groups() == 21);
    CHECK(layout.payload_bytes() == 78 * 64 * row_bytes);
    CHECK(padding(layout) <= 0.02);
    CHECK(layout.index().n_sources == 21);
    CHECK(layout.index().pitch_bytes % 16 == 0);
    CHECK(layout.page_bytes() % layout.index().pitch_bytes == 0);
    CHECK(layout.index().blocks_per_page == layout.page_bytes() / layout.index().pitch_bytes);
    CHECK(padding(layout) + pitch_padding(layout, 64 * 132) <= 0.02);
}

TEST_CASE("GLM-5.3's figures are those of the page layout", "[page_layout]") {
    const auto layout = page_major_of(dhisparse_test::glm_5_3(576));
    CHECK(layout.page_bytes() == 2'889'216); // 342 index blocks of 64 x 132
    CHECK(layout.index().pitch_bytes == 8'448);
    CHECK(layout.group(0).locations_per_page == 5'016);
    CHECK(layout.group(2).n_lanes == 4);
    CHECK(layout.group(2).first_lane == 2);
    CHECK(layout.group(2).host_row_bytes == 2'304); // four rows side by side
    CHECK(layout.host_page_bytes() == layout.payload_bytes());
    CHECK(layout.hot_entries(0) == 4'096);
}

TEST_CASE("source_planes gives GLM-5.3 packed planes and one block row a location",
          "[page_layout]") {
    const auto layout = page_layout::make<source_planes>(dhisparse_test::glm_5_3(576),
                                                         {.n_pages = 100, .hot_pages = 64});
    CHECK(layout.page_bytes() == layout.payload_bytes());
    CHECK(layout.group(20).locations_per_page == 64);
    CHECK(layout.lanes()[1].base_bytes == 100 * 64 * 576);
    CHECK(layout.index().pitch_bytes >= 64 * 132);
    CHECK(64 * 576 % layout.index().pitch_bytes == 0);
}

TEST_CASE("rows with their scales behind them stay under 2 % of padding at an alignment of 576",
          "[page_layout]") {
    const auto layout =
        page_major_of(shape_of(256, 512, {{dhisparse_test::row_with_scales(256, 4, 576), 4}}));
    const auto& lane = layout.lanes()[1];
    CHECK(lane.n_runs == 2);
    CHECK(lane.block_stride_bytes % 576 == 0);
    CHECK(lane.base_bytes % 576 == 0);
    CHECK(layout.page_bytes() % lane.block_stride_bytes == 0);
    CHECK(padding(layout) <= 0.02);
}

TEST_CASE("584-byte rows are 592 bytes on the host", "[page_layout]") {
    const auto layout =
        page_major_of(shape_of(64, 64, {{dhisparse_test::row_with_scales(64, 1, 0), 3}}));
    CHECK(layout.group(0).host_lane_bytes == 592);
    CHECK(layout.group(0).host_row_bytes == 3 * 592);
    CHECK(layout.host_page_bytes() == 64 * 3 * 592);
}

TEST_CASE("rows of 64 KiB take no padding", "[page_layout]") {
    const auto layout = page_major_of(
        shape_of(128, 16, {{{.row_bytes = 64 * KiB, .positions_per_row = 128}, 2}}), 16, 2);
    CHECK(layout.page_bytes() == 2 * 64 * KiB);
    CHECK(layout.lanes()[1].rows_per_block.divisor == 1);
    CHECK(layout.lanes()[1].base_bytes == 64 * KiB);
    CHECK(layout.hot_entries(0) == 2);
}

TEST_CASE("keys and values of a row lie in two runs of its block", "[page_layout]") {
    const auto layout =
        page_major_of(shape_of(64, 64, {{dhisparse_test::row_with_keys_and_values(64, 512), 2}}));
    const auto& lane = layout.lanes()[1];
    const auto at = layout.group(0).at(gpu_page{3}, 5);
    CHECK(lane.offset_bytes(at, 0) == 3 * layout.page_bytes() + lane.base_bytes + 5 * 512);
    CHECK(lane.offset_bytes(at, 1) == 3 * layout.page_bytes() + lane.base_bytes + (64 + 5) * 512);
    CHECK(padding(layout) <= 0.02);
}

TEST_CASE("groups of 2, 2, 2 and 1 positions a row share a page", "[page_layout]") {
    const auto layout = page_major_of(dhisparse_test::mixed_positions_per_row());
    CHECK(layout.payload_bytes() == (32 + 32 + 32 + 64) * 288);
    CHECK(padding(layout) <= 0.02);
    CHECK(layout.group(0).rows_per_page.divisor == 32);
    CHECK(layout.group(3).rows_per_page.divisor == 64);
    CHECK(layout.hot_entries(0) == 64 * 32);
    CHECK(layout.hot_entries(3) == 64 * 64);
    CHECK(layout.index().pitch_bytes >= 64 * 68); // the widest block: one key a position
}

TEST_CASE("a page may have no index keys at all", "[page_layout]") {
    const auto layout = page_major_of(shape_of(64, 64, {{{.row_bytes = 576}, 1}}));
    CHECK(layout.index().n_sources == 0);
    CHECK(layout.index().pitch_bytes == 0);
    CHECK(layout.index_layers().empty());
}

TEST_CASE("index layers come in source order", "[page_layout]") {
    const auto layout = page_major_of(dhisparse_test::glm_5_3(576));
    CHECK(std::vector<int>(layout.index_layers().begin(), layout.index_layers().begin() + 4) ==
          std::vector<int>{0, 1, 2, 6});
}

TEST_CASE("a layer finds its lane, and one without a source is refused", "[page_layout]") {
    auto shape = shape_of(64, 64, {{{.row_bytes = 576}, 2}});
    shape.layers = 3;
    shape.groups[0] = {1, 0}; // lanes are in the group's order
    shape.announcements[0] = {0, 0, {0, 1, 2}};
    const auto layout = page_major_of(shape);
    CHECK(layout.lane_of_layer(1) == 0);
    CHECK(layout.lane_of_layer(0) == 1);
    CHECK(refusal([&] { (void)layout.lane_of_layer(2); }) ==
          "layer 2 writes no source of this shape");
}

TEST_CASE("a view ends inside the slab and addresses the last row of every lane", "[page_layout]") {
    const auto layout = page_major_of(dhisparse_test::glm_5_3(656), 7);
    std::vector<std::byte> some(1);
    for (int lane = 0; lane < 78; ++lane) {
        CAPTURE(lane);
        const auto view = layout.view(some.data(), lane);
        const auto base = view.base - some.data();
        CHECK(base % 16 == 0);
        CHECK(base + view.rows * view.row_bytes <= layout.slab_bytes());
        CHECK(base + view.n_blocks * view.block_stride_bytes <= layout.slab_bytes());
        CHECK(base + (view.n_blocks + 1) * view.block_stride_bytes > layout.slab_bytes());
        CHECK(view.rows_per_block == 64);
        CHECK(base + (view.rows - 1) * view.row_bytes == 6 * layout.page_bytes() + base + 63 * 656);
    }
}

TEST_CASE("visible rows are the finished ones, or also the unfinished one where that is readable",
          "[page_layout]") {
    group_placement group;
    group.positions_per_row = 4;
    CHECK(group.visible_rows(0) == 0);
    CHECK(group.visible_rows(3) == 0);
    CHECK(group.visible_rows(4) == 1);
    CHECK(group.visible_rows(7) == 1);
    group.partial_readable = 1;
    CHECK(group.visible_rows(0) == 0);
    CHECK(group.visible_rows(1) == 1);
    CHECK(group.visible_rows(4) == 1);
    CHECK(group.visible_rows(5) == 2);
}

TEST_CASE("limits out of range are refused by their names", "[page_layout]") {
    const auto shape = shape_of(64, 64, {{{.row_bytes = 576}, 1}});
    const auto with = [&](layout_limits limits) {
        return refusal([&] { page_layout::make<page_major>(shape, limits); });
    };
    CHECK(with({.n_pages = 0}) == "n_pages is 0, permitted: 1 to 2147483647");
    CHECK_THAT(with({.n_pages = std::int64_t{1} << 31}),
               ContainsSubstring("n_pages is 2147483648"));
    CHECK(with({.n_pages = 1, .hot_pages = -1}) == "hot_pages is -1, permitted: 0 to 65534");
    CHECK(with({.n_pages = 1, .k_max = 0}) == "k_max is 0, permitted: 1 to 65534");
}

TEST_CASE("hot entries and one round's selections are at most 65,534 together", "[page_layout]") {
    const auto shape = shape_of(64, 2046, {{{.row_bytes = 576}, 1}});
    const auto with = [&](std::int64_t hot_pages, int k_max) {
        return refusal([&] {
            page_layout::make<page_major>(shape,
                                          {.n_pages = 1, .hot_pages = hot_pages, .k_max = k_max});
        });
    };
    CHECK(with(992, 1).empty()); // 63,488 + 2,046
    CHECK(
        with(993, 1) ==
        "group 0 needs hot entries + k_max x k = 63552 + 1 x 2046 = 65598, permitted: up to 65534");
    CHECK_THAT(with(992, 2), ContainsSubstring("63488 + 2 x 2046 = 67580"));
}

TEST_CASE("widths without a small common multiple are sent to source_planes", "[page_layout]") {
    const auto shape = shape_of(
        64, 64, {{{.row_bytes = 352}, 1}, {{.row_bytes = 368}, 1}, {{.row_bytes = 656}, 1}});
    CHECK_THAT(refusal([&] { page_major_of(shape); }),
               ContainsSubstring("use layout source_planes"));
    CHECK(page_layout::make<source_planes>(shape, {.n_pages = 16}).payload_bytes() ==
          64 * (352 + 368 + 656));
}

TEST_CASE("index keys that no block of the planes holds are left to the engine", "[page_layout]") {
    const auto shape = shape_of(
        64, 64, {{{.row_bytes = 576, .index_key_bytes = 132}, 1}, {{.row_bytes = 656}, 1}});
    CHECK_THAT(refusal([&] { page_layout::make<source_planes>(shape, {.n_pages = 16}); }),
               ContainsSubstring("index_key_bytes 0"));
}

TEST_CASE("bytes beyond 64 bits are refused, not wrapped", "[page_layout]") {
    const auto huge = shape_of(1 << 24, 1, {{{.row_bytes = (std::int64_t{1} << 31) - 128}, 300}});
    CHECK_THAT(refusal<error>([&] { page_layout::make<source_planes>(huge, {.n_pages = 1}); }),
               ContainsSubstring("exceeds 64 bits"));
    CHECK_THAT(refusal<error>([&] { page_layout::make<page_major>(huge, {.n_pages = 1}); }),
               ContainsSubstring("exceeds 64 bits"));
}

TEST_CASE("index block numbers beyond 31 bits are refused, not wrapped", "[page_layout]") {
    const auto shape = shape_of(1, 16, {{{.row_bytes = 1024, .index_key_bytes = 16}, 1}});
    constexpr std::int64_t fits = (std::int64_t{1} << 31) / 64 - 1; // 64 blocks a page
    const auto layout = page_major_of(shape, fits);
    CHECK(layout.index().blocks_per_page == 64);
    CHECK(layout.index_block(gpu_page{static_cast<std::int32_t>(fits - 1)}, 63) == fits * 64 - 1);
    CHECK(
        refusal([&] { page_major_of(shape, fits + 1); }) ==
        "the pool has 2147483648 index blocks of 16 bytes, permitted: 2147483647; use fewer pages");
}
