/// Rows and pages between the tiers, on the host backend: the plain statement of what a copy moves.
#pragma once

#include <dhisparse/core/types.hpp>
#include <dhisparse/layout/page_layout.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace dhisparse {

/// Both tiers' memory, and where rows lie in it.
struct tiers_ref {
    std::byte* slab = nullptr;                // GPU pages
    std::byte* host = nullptr;                // host pages; null: there is no host tier
    std::int64_t host_page_bytes = 0;
    const group_placement* groups = nullptr;  // [n_groups]
    const source_placement* lanes = nullptr;  // [n_lanes] each group's side by side
    std::int32_t n_groups = 0;
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

} // namespace dhisparse
