// What every layout policy must show: rows and index blocks of distinct pages never meet, stay
// inside the slab, start where kernels want them, and are addressed in 64 bits.
#include <dhisparse/layout/page_layout.hpp>

#include "catch.hpp"
#include "real_shapes.hpp"
#include "refusal.hpp"

#include <algorithm>
#include <limits>

namespace {

using namespace dhisparse;
using Catch::Matchers::ContainsSubstring;
using dhisparse_test::refusal;
using dhisparse_test::shape_of;

constexpr std::int32_t n_pages = 5;

struct example {
    const char* name;
    model_shape shape;
    bool tight = true; // padding of pages is at most 2 %
};

source_shape packed(std::int64_t row_bytes, std::int64_t index_key_bytes = 0,
                    int positions_per_row = 1) {
    return {.row_bytes = row_bytes,
            .index_key_bytes = index_key_bytes,
            .positions_per_row = positions_per_row};
}

/// A group of three lanes with index keys and one of a single lane.
model_shape of_width(std::int64_t row_bytes) {
    return shape_of(64, 64, {{packed(row_bytes, 132), 3}, {packed(row_bytes), 1}});
}

std::vector<example> examples() {
    std::vector<example> out;
    for (const std::int64_t width : {288, 352, 368, 384, 432, 528, 576, 656, 1152})
        out.push_back({"one width", of_width(width)});
    out.push_back({"64 KiB rows", shape_of(64, 16, {{packed(64 * KiB, 64, 16), 2}})});
    out.push_back(
        {"rows and scales", shape_of(64, 64, {{dhisparse_test::row_with_scales(64, 1, 0), 2}})});
    out.push_back({"rows and scales, aligned",
                   shape_of(64, 64, {{dhisparse_test::row_with_scales(64, 1, 576), 3}})});
    out.push_back(
        {"rows and scales beside packed rows",
         shape_of(64, 64, {{dhisparse_test::row_with_scales(64, 1, 576), 3}, {packed(576), 1}}),
         false});
    out.push_back({"4 positions a row",
                   shape_of(256, 64, {{dhisparse_test::row_with_scales(256, 4, 576), 2}})});
    out.push_back({"4 and 128 positions a row, whose blocks have no common multiple",
                   shape_of(256, 64, {{dhisparse_test::row_with_scales(256, 4, 576), 2},
                                      {dhisparse_test::row_with_scales(256, 128, 576), 2}}), false});
    out.push_back({"two rows a block",
                   shape_of(256, 64, {{dhisparse_test::row_with_scales(256, 128, 0), 2}}), false});
    out.push_back({"keys and values",
                   shape_of(64, 64, {{dhisparse_test::row_with_keys_and_values(64, 512), 2}})});
    out.push_back({"2, 2, 2 and 1 positions a row", dhisparse_test::mixed_positions_per_row()});
    out.push_back({"two widths", shape_of(64, 64, {{packed(576), 2}, {packed(656), 2}}), false});
    out.push_back({"blocks that are no whole multiple of 128 bytes",
                   shape_of(3, 16, {{packed(576), 2}}), false});
    out.push_back({"keys of 72 bytes a page", shape_of(4, 16, {{packed(576, 18), 1}})});
    out.push_back({"pages of one position", shape_of(1, 16, {{packed(128, 16), 1}})});
    return out;
}

page_layout make(const model_shape& shape, std::int64_t pages = n_pages) {
    return page_layout::make<policy_under_test>(shape,
                                                {.n_pages = pages, .hot_pages = 2, .k_max = 1});
}

/// Calls check(example, layout) for every example.
template <class Check>
void for_each_example(Check check) {
    for (const auto& e : examples()) {
        CAPTURE(e.name, e.shape.sources[0].row_bytes);
        check(e, make(e.shape));
    }
}

/// Bytes [begin, end) of the slab that belong to one page.
struct piece {
    std::int64_t begin, end;
    std::int32_t page;
    bool index = false;
};

/// Calls visit(page, lane, location) for every row of every lane.
template <class Visit>
void for_each_row(const page_layout& layout, Visit visit) {
    for (const auto& group : layout.groups())
        for (int lane = group.first_lane; lane < group.first_lane + group.n_lanes; ++lane)
            for (std::int32_t page = 0; page < n_pages; ++page)
                for (std::uint32_t row = 0; row < group.rows_per_page.divisor; ++row)
                    visit(page, layout.lanes()[static_cast<std::size_t>(lane)],
                          group.at(gpu_page{page}, row));
}

std::vector<piece> row_pieces(const page_layout& layout) {
    std::vector<piece> out;
    for_each_row(layout, [&](std::int32_t page, const source_placement& lane, location at) {
        for (int run = 0; run < lane.n_runs; ++run)
            out.push_back({lane.offset_bytes(at, run),
                           lane.offset_bytes(at, run) + lane.runs[run].bytes, page});
    });
    return out;
}

std::vector<piece> index_pieces(const page_layout& layout) {
    std::vector<piece> out;
    for (std::int32_t page = 0; page < n_pages; ++page)
        for (std::int32_t i = 0; i < layout.index().blocks_per_page; ++i) {
            const auto begin = layout.index_block(gpu_page{page}, i) * layout.index().pitch_bytes;
            out.push_back({begin, begin + layout.index().pitch_bytes, page, true});
        }
    return out;
}

std::size_t outside(const std::vector<piece>& pieces, std::int64_t slab_bytes) {
    return static_cast<std::size_t>(
        std::count_if(pieces.begin(), pieces.end(),
                      [&](const piece& p) { return p.begin < 0 || p.end > slab_bytes; }));
}

/// Neighbours that share bytes, where `may(a, b)` doesn't permit it.
template <class May>
std::size_t overlaps(std::vector<piece> pieces, May may) {
    std::sort(pieces.begin(), pieces.end(),
              [](const piece& a, const piece& b) { return a.begin < b.begin; });
    std::size_t n = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i)
        for (std::size_t j = i + 1; j < pieces.size() && pieces[j].begin < pieces[i].end; ++j)
            n += !may(pieces[i], pieces[j]);
    return n;
}

/// The most pages that the policy accepts for a shape.
std::int64_t most_pages(const model_shape& shape) {
    std::int64_t fits = 1, refused = std::int64_t{1} << 31;
    while (refused - fits > 1) {
        const auto middle = fits + (refused - fits) / 2;
        (refusal<error>([&] { make(shape, middle); }).empty() ? fits : refused) = middle;
    }
    return fits;
}

} // namespace

TEST_CASE("no two rows overlap, and all lie inside the slab", "[layout]") {
    for_each_example([](const example&, const page_layout& layout) {
        const auto rows = row_pieces(layout);
        CHECK(outside(rows, layout.slab_bytes()) == 0);
        CHECK(overlaps(rows, [](const piece&, const piece&) { return false; }) == 0);
    });
}

TEST_CASE("index blocks lie in their own page's bytes, each apart from the others", "[layout]") {
    for_each_example([](const example&, const page_layout& layout) {
        auto pieces = index_pieces(layout);
        CHECK(outside(pieces, layout.slab_bytes()) == 0);
        const auto rows = row_pieces(layout);
        pieces.insert(pieces.end(), rows.begin(), rows.end());
        CHECK(overlaps(pieces, [](const piece& a, const piece& b) {
                  return a.page == b.page && a.index != b.index;
              }) == 0);
    });
}

TEST_CASE("the index pitch is a multiple of 16 that divides a page and holds every source's keys",
          "[layout]") {
    for_each_example([](const example& e, const page_layout& layout) {
        const auto& index = layout.index();
        if (index.n_sources == 0) return;
        CHECK(index.pitch_bytes % 16 == 0);
        CHECK(layout.page_bytes() % index.pitch_bytes == 0);
        CHECK(index.blocks_per_page == layout.page_bytes() / index.pitch_bytes);
        for (const auto& source : e.shape.sources)
            CHECK(e.shape.page_positions / source.key_positions() * source.index_key_bytes <=
                  index.pitch_bytes);
    });
}

TEST_CASE("blocks start at multiples of 128 bytes, and from their base of a row or of the stride",
          "[layout]") {
    for_each_example([](const example& e, const page_layout& layout) {
        for (const auto& group : layout.groups())
            for (int i = group.first_lane; i < group.first_lane + group.n_lanes; ++i)
                for (std::int32_t page = 0; page < n_pages; ++page) {
                    const auto& lane = layout.lanes()[static_cast<std::size_t>(i)];
                    const auto& source =
                        e.shape.sources[static_cast<std::size_t>(i)]; // groups are in layer order
                    const auto start = lane.offset_bytes(group.at(gpu_page{page}, 0), 0) -
                                       lane.runs[0].offset_bytes;
                    const bool by_block = !source.runs.empty() || source.alignment_bytes > 0;
                    CHECK(start % 128 == 0);
                    CHECK((start - lane.base_bytes) %
                              (by_block ? lane.block_stride_bytes : lane.row_bytes) ==
                          0);
                    CHECK(lane.block_stride_bytes %
                              std::max<std::int64_t>(source.alignment_bytes, 1) ==
                          0);
                }
    });
}

TEST_CASE("a packed row is at base + location x row_bytes", "[layout]") {
    for_each_example([](const example&, const page_layout& layout) {
        std::size_t n_wrong = 0;
        for_each_row(layout, [&](std::int32_t, const source_placement& lane, location at) {
            if (lane.n_runs == 1)
                n_wrong +=
                    lane.offset_bytes(at, 0) != lane.base_bytes + std::int64_t{at} * lane.row_bytes;
        });
        CHECK(n_wrong == 0);
    });
}

TEST_CASE("one location is the same row of the same page in every lane of its group", "[layout]") {
    for_each_example([](const example&, const page_layout& layout) {
        for (const auto& group : layout.groups()) {
            const auto& first = layout.lanes()[static_cast<std::size_t>(group.first_lane)];
            for (int i = 1; i < group.n_lanes; ++i) {
                const auto& lane = layout.lanes()[static_cast<std::size_t>(group.first_lane + i)];
                CHECK(lane.rows == first.rows);
                CHECK(lane.rows_per_block.divisor == group.rows_per_page.divisor);
                for (std::int32_t page = 0; page < n_pages; ++page) {
                    const auto at = group.at(gpu_page{page}, group.rows_per_page.divisor - 1);
                    CHECK(lane.offset_bytes(at, 0) - lane.base_bytes ==
                          first.offset_bytes(at, 0) - first.base_bytes);
                }
            }
        }
    });
}

TEST_CASE("every location is below its view's rows, and the view ends inside the slab",
          "[layout]") {
    for_each_example([](const example&, const page_layout& layout) {
        std::byte slab{};
        for (std::size_t i = 0; i < layout.lanes().size(); ++i) {
            const auto view = layout.view(&slab, static_cast<int>(i));
            const auto base = view.base - &slab;
            CHECK(base % 16 == 0);
            CHECK(base + view.n_blocks * view.block_stride_bytes <= layout.slab_bytes());
            if (layout.lanes()[i].n_runs > 1)
                CHECK((view.rows - 1) / view.rows_per_block < view.n_blocks);
            else
                CHECK(base + view.rows * view.row_bytes <= layout.slab_bytes());
        }
        std::size_t n_beyond = 0;
        for_each_row(layout, [&](std::int32_t, const source_placement& lane, location at) {
            n_beyond += at < 0 || at >= lane.rows;
        });
        CHECK(n_beyond == 0);
    });
}

// Groups may share the arena: one group's rows lie in it at a time.
TEST_CASE("staged rows lie inside the slab, apart from each other and from every page", "[layout]") {
    for (const auto& e : examples()) {
        CAPTURE(e.name, e.shape.sources[0].row_bytes);
        const auto layout = page_layout::make<policy_under_test>(
            e.shape, {.n_pages = n_pages, .hot_pages = 1, .k_max = 10, .slots = 3});
        auto pages = row_pieces(layout);
        const auto blocks = index_pieces(layout);
        const auto plain = make(e.shape);
        CHECK(layout.page_bytes() == plain.page_bytes());
        CHECK(layout.staging_bytes() == layout.slab_bytes() - plain.slab_bytes());
        for (int g = 0; g < layout.n_groups(); ++g) {
            const auto& group = layout.group(g);
            const auto& staged = layout.staging()[static_cast<std::size_t>(g)];
            CHECK(staged.rows_per_slot == 10 * e.shape.k - layout.hot_entries(g));
            auto pieces = pages;
            pieces.insert(pieces.end(), blocks.begin(), blocks.end());
            for (int i = 0; i < group.n_lanes; ++i) {
                const auto& lane = layout.lanes()[static_cast<std::size_t>(group.first_lane + i)];
                for (std::int32_t slot = 0; slot < 3; ++slot)
                    for (std::int32_t row = 0; row < staged.rows_per_slot; ++row) {
                        const auto at = staged.at(group.rows_per_page, slot, row);
                        REQUIRE((at >= 0 && at < lane.rows));
                        for (int run = 0; run < lane.n_runs; ++run)
                            pieces.push_back({lane.offset_bytes(at, run), lane.offset_bytes(at, run) + lane.runs[run].bytes, -1});
                    }
            }
            CHECK(outside(pieces, layout.slab_bytes()) == 0);
            CHECK(overlaps(pieces, [](const piece& a, const piece& b) { return a.page == b.page && a.page >= 0; }) == 0);
        }
    }
}

TEST_CASE("a page's padding stays within its bounds", "[layout]") {
    for_each_example([](const example& e, const page_layout& layout) {
        const auto payload = layout.payload_bytes();
        CHECK(layout.page_bytes() >= payload);
        CHECK(layout.page_bytes() - payload <= payload / (e.tight ? 50 : 2));
        CHECK(layout.slab_bytes() == n_pages * layout.page_bytes());
    });
}

TEST_CASE("RM-05: a pool whose locations would reach 2^31 is refused with the figure", "[layout]") {
    const auto shape = of_width(576);
    const auto most = most_pages(shape);
    CHECK_THAT(refusal([&] { make(shape, most + 1); }),
               ContainsSubstring("locations, permitted: 2147483647"));
    const auto layout = make(shape, most);
    const auto& group = layout.group(0);
    const auto& lane = layout.lanes()[0];
    const auto last = group.at(gpu_page{static_cast<std::int32_t>(most - 1)}, 63);
    CHECK(last == lane.rows - 1);
    CHECK(lane.rows > std::numeric_limits<std::int32_t>::max() - group.locations_per_page);
    CHECK(lane.offset_bytes(last, 0) == lane.base_bytes + (lane.rows - 1) * 576);
    CHECK(lane.offset_bytes(last, 0) + 576 <= layout.slab_bytes());
}

TEST_CASE("RS-08: addresses are exact above row 3,728,270 of 576 bytes", "[layout]") {
    const auto layout = make(of_width(576), 1'000'000);
    const auto& lane = layout.lanes()[2];
    for (const location at : {3'728'269, 3'728'270, 3'728'271, 3'728'272}) {
        CAPTURE(at);
        CHECK(lane.offset_bytes(at, 0) == lane.base_bytes + 576LL * at);
    }
    const auto view = layout.view(nullptr, 2);
    CHECK(view.rows * view.row_bytes > std::int64_t{1} << 31);
}

TEST_CASE("RS-09: addresses are exact where block x stride exceeds 31 bits", "[layout]") {
    // Blocks of 3,610 rows take 2 x 1,039,680 bytes: block 1,033 starts where block 2,066 of half
    // the size would.
    const auto layout = make(shape_of(3'610, 64, {{packed(576), 1}}), 2'000);
    const auto& lane = layout.lanes()[0];
    CHECK(lane.block_stride_bytes == 2 * 1'039'680);
    for (const std::int32_t page : {1'032, 1'033, 1'034}) {
        CAPTURE(page);
        CHECK(lane.offset_bytes(layout.group(0).at(gpu_page{page}, 0), 0) ==
              2LL * page * 1'039'680);
    }
    CHECK(1'033 * lane.block_stride_bytes == 2'147'978'880);
}
