/// Rows and pages between the tiers, on the host backend: the plain statement of what a copy moves.
#pragma once

#include <dhisparse/core/types.hpp>
#include <dhisparse/layout/page_layout.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace dhisparse {

/// Where the blocks of an index page lie: block i of page P is number first[i] + P · step[i], at slab + number · pitch.
struct index_blocks_ref {
    std::int64_t pitch_bytes = 0; // a multiple of 16; 0: no index keys
    std::int32_t blocks_per_page = 0;
    const std::int32_t* first = nullptr; // [blocks_per_page]
    const std::int32_t* step = nullptr;  // [blocks_per_page]

    DHISPARSE_HD std::int64_t bytes() const { return pitch_bytes * blocks_per_page; } // of an index page
    /// Offset from the slab's start of byte b of an index page, its blocks one after another; b in [0, bytes()).
    DHISPARSE_HD std::int64_t offset_bytes(gpu_page page, std::int64_t b) const {
        const auto block = b / pitch_bytes;
        return (std::int64_t{first[block]} + std::int64_t{number(page)} * step[block]) * pitch_bytes + b % pitch_bytes;
    }
};

/// Both tiers' memory, and where rows lie in it.
struct tiers_ref {
    std::byte* slab = nullptr;                // GPU pages
    std::byte* host = nullptr;                // host pages; null: there is no host tier
    std::int64_t host_page_bytes = 0;
    const group_placement* groups = nullptr;  // [n_groups]
    const source_placement* lanes = nullptr;  // [n_lanes] each group's side by side
    std::int32_t n_groups = 0;
    index_blocks_ref index;
};

enum class direction : std::uint8_t { to_host, to_gpu };

/// Copies one group row, all lanes and runs, between a host page and a location.
inline void copy_group_row(const tiers_ref& tiers, int g, location at, host_page page, std::uint32_t row_in_page, direction way) {
    const auto& group = tiers.groups[g];
    auto* host = tiers.host + group.host_offset(page, tiers.host_page_bytes, row_in_page);
    for (int lane = 0; lane < group.n_lanes; ++lane, host += group.host_lane_bytes) {
        const auto& source = tiers.lanes[group.first_lane + lane];
        auto* packed = host; // the runs of a row lie one after another in the host tier
        for (int run = 0; run < source.n_runs; ++run) {
            auto* row = tiers.slab + source.offset_bytes(at, run);
            const auto bytes = static_cast<std::size_t>(source.runs[run].bytes);
            way == direction::to_host ? std::memcpy(packed, row, bytes) : std::memcpy(row, packed, bytes);
            packed += bytes;
        }
    }
}

/// Copies one group row, all lanes and runs, from one location to another.
inline void move_group_row(const tiers_ref& tiers, int g, location from, location to) {
    const auto& group = tiers.groups[g];
    for (int lane = group.first_lane; lane < group.first_lane + group.n_lanes; ++lane) {
        const auto& source = tiers.lanes[lane];
        for (int run = 0; run < source.n_runs; ++run)
            std::memcpy(tiers.slab + source.offset_bytes(to, run), tiers.slab + source.offset_bytes(from, run), static_cast<std::size_t>(source.runs[run].bytes));
    }
}

inline constexpr int poison_byte = 0xDB;

/// Overwrites one group row with bytes that are nobody's. For DHISPARSE_CHECKS.
inline void poison_group_row(const tiers_ref& tiers, int g, location at) {
    const auto& group = tiers.groups[g];
    for (int lane = group.first_lane; lane < group.first_lane + group.n_lanes; ++lane) {
        const auto& source = tiers.lanes[lane];
        for (int run = 0; run < source.n_runs; ++run)
            std::memset(tiers.slab + source.offset_bytes(at, run), poison_byte, static_cast<std::size_t>(source.runs[run].bytes));
    }
}

/// Copies the rows of all groups of one page.
inline void copy_page(const tiers_ref& tiers, gpu_page gpu, host_page host, direction way) {
    for (int g = 0; g < tiers.n_groups; ++g)
        for (std::uint32_t row = 0; row < tiers.groups[g].rows_per_page.divisor; ++row)
            copy_group_row(tiers, g, tiers.groups[g].at(gpu, row), host, row, way);
}

/// Copies part i of an index page: bytes [i, i + 1) · host_page_bytes of it, as far as it has them.
inline void copy_index_part(const tiers_ref& tiers, gpu_page gpu, host_page host, std::int32_t part, direction way) {
    const auto begin = part * tiers.host_page_bytes, end = std::min(begin + tiers.host_page_bytes, tiers.index.bytes());
    auto* at_host = tiers.host + number(host) * tiers.host_page_bytes;
    for (auto b = begin; b < end;) {
        const auto bytes = std::min(end, (b / tiers.index.pitch_bytes + 1) * tiers.index.pitch_bytes) - b;
        auto* at_gpu = tiers.slab + tiers.index.offset_bytes(gpu, b);
        way == direction::to_host ? std::memcpy(at_host + b - begin, at_gpu, static_cast<std::size_t>(bytes))
                                  : std::memcpy(at_gpu, at_host + b - begin, static_cast<std::size_t>(bytes));
        b += bytes;
    }
}

} // namespace dhisparse
