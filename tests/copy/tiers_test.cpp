// What a copy between the tiers moves: all lanes and runs of a row, and nothing else.
#include <dhisparse/policy/layout/source_planes.hpp>

#include "catch.hpp"
#include "guarded.hpp"
#include "hand_made.hpp"
#include "real_shapes.hpp"

#include <map>

using namespace dhisparse;
using dhisparse_test::shape_of;
using page_major_subject = dhisparse_test::hand_made<>;
using subject =
    dhisparse_test::hand_made<dense, lru, source_planes>; // takes rows of any widths together

namespace {

std::vector<std::byte> copy_of(std::span<const std::byte> bytes) {
    return {bytes.begin(), bytes.end()};
}

std::size_t changed(std::span<const std::byte> now, const std::vector<std::byte>& before,
                    std::int64_t first, std::int64_t bytes) {
    std::size_t n = 0;
    for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(first + bytes); ++i)
        n += now[i] != before[i];
    return n;
}
std::size_t changed(std::span<const std::byte> now, const std::vector<std::byte>& before) {
    return changed(now, before, 0, static_cast<std::int64_t>(before.size()));
}

void copy_row(const subject& s, int g, location at, std::int32_t page, std::uint32_t row,
              direction way) {
    copy_group_row(s.tiers(), g, at, host_page{page}, row, way);
}

/// A group of three 584-byte lanes in two runs, and one of packed 576-byte rows of two positions.
model_shape two_groups() {
    return shape_of(64, 16,
                    {{dhisparse_test::row_with_scales(64, 1, 0), 3},
                     {{.row_bytes = 576, .positions_per_row = 2}, 1}});
}

} // namespace

TEST_CASE("a group row goes to the host and back bit for bit, in every lane and run", "[copy]") {
    subject s(two_groups());
    const auto from = s.layout.group(0).at(gpu_page{2}, 63),
               to = s.layout.group(0).at(gpu_page{9}, 0);
    s.write(0, from, 77);
    copy_row(s, 0, from, 5, 17, direction::to_host);
    CHECK(s.host_holds(0, 5, 17, 77));
    copy_row(s, 0, to, 5, 17, direction::to_gpu);
    CHECK(s.holds(0, to, 77));
    CHECK(s.holds(0, from, 77));
}

TEST_CASE("584-byte rows lie 592 bytes apart on the host, and the padding is left alone",
          "[copy]") {
    subject s(two_groups());
    const auto before = copy_of(s.host());
    const auto at = s.layout.group(0).at(gpu_page{0}, 1);
    s.write(0, at, 5);
    copy_row(s, 0, at, 3, 8, direction::to_host);
    const auto first = s.layout.group(0).host_offset(host_page{3}, s.layout.host_page_bytes(), 8);
    CHECK(first == 3 * s.layout.host_page_bytes() + 8 * 3 * 592);
    std::size_t own = 0;
    for (int lane = 0; lane < 3; ++lane)
        own += changed(s.host(), before, first + lane * 592, 584);
    CHECK(own > 3 * 500);
    CHECK(changed(s.host(), before) == own);
}

TEST_CASE("a copy to the GPU writes the row's bytes and no other", "[copy]") {
    subject s(two_groups());
    s.write_host(0, 1, 2, 9);
    const auto at = s.layout.group(0).at(gpu_page{4}, 30);
    const auto before = copy_of(s.slab());
    copy_row(s, 0, at, 1, 2, direction::to_gpu);
    std::size_t own = 0;
    for (int lane = 0; lane < 3; ++lane)
        for (int run = 0; run < 2; ++run) {
            const auto& source = s.layout.lanes()[static_cast<std::size_t>(lane)];
            own += changed(s.slab(), before, source.offset_bytes(at, run), source.runs[run].bytes);
        }
    CHECK(own > 3 * 500);
    CHECK(changed(s.slab(), before) == own);
}

TEST_CASE("a page's copy moves the rows of all groups", "[copy]") {
    subject s(two_groups());
    for (int row = 0; row < 64; ++row)
        s.write(0, s.layout.group(0).at(gpu_page{6}, static_cast<std::uint32_t>(row)), 1000 + row);
    for (int row = 0; row < 32; ++row)
        s.write(1, s.layout.group(1).at(gpu_page{6}, static_cast<std::uint32_t>(row)), 2000 + row);
    copy_page(s.tiers(), gpu_page{6}, host_page{11}, direction::to_host);
    copy_page(s.tiers(), gpu_page{13}, host_page{11}, direction::to_gpu);
    std::size_t n_wrong = 0;
    for (std::int32_t row = 0; row < 64; ++row) {
        n_wrong += !s.host_holds(0, 11, row, 1000 + row);
        n_wrong += !s.holds(0, s.layout.group(0).at(gpu_page{13}, static_cast<std::uint32_t>(row)),
                            1000 + row);
        if (row < 32)
            n_wrong += !s.holds(
                1, s.layout.group(1).at(gpu_page{13}, static_cast<std::uint32_t>(row)), 2000 + row);
    }
    CHECK(n_wrong == 0);
}

TEST_CASE("a page's copy leaves other pages of both tiers alone", "[copy]") {
    subject s(two_groups());
    copy_page(s.tiers(), gpu_page{6}, host_page{11}, direction::to_host); // all bytes are 0xEE
    s.host()[0] = std::byte{1};
    const auto slab = copy_of(s.slab()), host = copy_of(s.host());
    copy_page(s.tiers(), gpu_page{6}, host_page{11}, direction::to_gpu);
    copy_page(s.tiers(), gpu_page{7}, host_page{12}, direction::to_host);
    CHECK(changed(s.slab(), slab) == 0);
    CHECK(changed(s.host(), host) == 0);
}

TEST_CASE("RM-07: pages 7 and 9 of the host go to pages 3 and 1 of the GPU", "[copy]") {
    subject s(two_groups());
    s.write_host(1, 7, 0, 70);
    s.write_host(1, 9, 0, 90);
    for (const auto& [host, gpu] : std::map<int, int>{{7, 3}, {9, 1}})
        copy_page(s.tiers(), gpu_page{gpu}, host_page{host}, direction::to_gpu);
    CHECK(s.holds(1, s.layout.group(1).at(gpu_page{3}, 0), 70));
    CHECK(s.holds(1, s.layout.group(1).at(gpu_page{1}, 0), 90));
}

TEST_CASE("PP-01: rows of three layers in one slab keep all of their bytes", "[copy]") {
    page_major_subject s(
        shape_of(4, 4, {{{.row_bytes = 384}, 1}, {{.row_bytes = 384}, 1}, {{.row_bytes = 384}, 1}}),
        {.n_pages = 2});
    const auto tag = [](int layer, int page, int row) { return layer * 1000 + page * 10 + row; };
    const auto each = [&](auto visit) {
        for (int layer = 0; layer < 3; ++layer)
            for (int page = 0; page < 2; ++page)
                for (int row = 0; row < 4; ++row)
                    visit(
                        layer, page, row,
                        s.layout.group(layer).at(gpu_page{page}, static_cast<std::uint32_t>(row)));
    };
    each([&](int layer, int page, int row, location at) {
        s.write(layer, at, tag(layer, page, row));
    });
    each([&](int layer, int page, int row, location at) {
        CHECK(s.holds(layer, at, tag(layer, page, row)));
    });
    for (int layer = 0; layer < 3; ++layer)
        CHECK(s.layout.view(s.slab().data(), layer).base == s.slab().data() + layer * 4 * 384);
}

TEST_CASE("rows of 64 KiB and of two runs survive a trip through the host", "[copy]") {
    const auto shape =
        GENERATE(shape_of(64, 4, {{{.row_bytes = 64 * KiB, .positions_per_row = 32}, 2}}),
                 shape_of(64, 4, {{dhisparse_test::row_with_keys_and_values(64, 512), 2}}));
    subject s(shape, {.n_pages = 4, .host_pages = 2});
    const auto from = s.layout.group(0).at(gpu_page{1}, 1),
               to = s.layout.group(0).at(gpu_page{3}, 0);
    s.write(0, from, 42);
    copy_row(s, 0, from, 1, 0, direction::to_host);
    copy_row(s, 0, to, 1, 0, direction::to_gpu);
    CHECK(s.holds(0, to, 42));
}

TEST_CASE("RS-09: rows of blocks 2,065 to 2,067 of 1,039,680 bytes are copied exactly", "[copy]") {
    constexpr std::int64_t stride = 1'039'680; // block 2,066 starts beyond 31 bits
    const dhisparse_test::sparse_memory slab(2'068 * stride);
    const page_major_subject s(shape_of(64, 4, {{{.row_bytes = 576}, 1}}), {.n_pages = 1});
    auto lanes = s.layout.lanes();
    lanes[0].block_stride_bytes = stride;
    auto tiers = s.tiers();
    tiers.slab = slab.data();
    tiers.lanes = lanes.data();
    for (const std::int32_t block : {2'065, 2'066, 2'067}) {
        CAPTURE(block);
        auto* row = slab.data() + block * stride + 3 * 576;
        for (std::int64_t i = 0; i < 576; ++i)
            row[i] = dhisparse_test::tagged_byte(block, 0, i);
        copy_group_row(tiers, 0, block * 64 + 3, host_page{2}, 9, direction::to_host);
        CHECK(s.host_holds(0, 2, 9, block));
    }
}
