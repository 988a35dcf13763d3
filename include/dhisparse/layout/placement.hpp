/// Where a source's and a group's rows lie: trivially copyable descriptions that both backends use.
#pragma once

#include <dhisparse/core/arithmetic.hpp>
#include <dhisparse/core/types.hpp>
#include <dhisparse/layout/model_shape.hpp>

#include <cstdint>

namespace dhisparse {

inline constexpr int max_runs = 4;

/// One source's rows on the GPU. A location counts rows block by block:
/// address(run i, location l) = slab + base + (l / rows_per_block) · block_stride + offset_i + (l mod rows_per_block) · stride_i,
/// which for packed rows is slab + base + l · row_bytes.
struct source_placement {
    std::int64_t base_bytes = 0; // of location 0, from the slab's start; a multiple of 128
    std::int64_t block_stride_bytes = 0; // from one block id to the next
    std::int64_t row_bytes = 0;
    std::int64_t rows = 0; // locations are in [0, rows)
    fast_divisor rows_per_block;
    std::int32_t n_runs = 0;
    row_run runs[max_runs]; // [n_runs]

    /// Offset from the slab's start of one run of the row at a location; 64-bit throughout.
    DHISPARSE_HD std::int64_t offset_bytes(location at, int run) const {
        const auto block = rows_per_block.quotient(static_cast<std::uint32_t>(at));
        const auto row = static_cast<std::uint32_t>(at) - block * rows_per_block.divisor;
        return base_bytes + std::int64_t{block} * block_stride_bytes + runs[run].offset_bytes +
               std::int64_t{row} * runs[run].stride_bytes;
    }
};

/// One group's rows in both tiers. All lanes of a group share a location.
struct group_placement {
    std::int32_t first_lane = 0; // its lanes are [first_lane, first_lane + n_lanes) of page_layout::lanes
    std::int32_t n_lanes = 0;
    std::int32_t positions_per_row = 1; // m
    std::int32_t partial_readable = 0;  // 1: an unfinished row may be selected
    fast_divisor rows_per_page;         // p/m
    std::int32_t locations_per_page = 0; // from a page's first location to the next page's
    pass of = pass::target;              // whose commits make its rows history
    std::int64_t host_offset_bytes = 0;  // of the group's first row in a host page
    std::int64_t host_lane_bytes = 0;    // one lane's row, padded to 16
    std::int64_t host_row_bytes = 0;     // a group row: n_lanes · host_lane_bytes

    DHISPARSE_HD constexpr location at(gpu_page page, std::uint32_t row_in_page) const {
        return number(page) * locations_per_page + static_cast<std::int32_t>(row_in_page);
    }
    /// Rows that a query which sees `positions` positions may select: equation (5).
    DHISPARSE_HD constexpr std::int32_t visible_rows(std::int32_t positions) const {
        return (positions + (partial_readable ? positions_per_row - 1 : 0)) / positions_per_row;
    }
    DHISPARSE_HD constexpr std::int64_t host_offset(host_page page, std::int64_t host_page_bytes,
                                                    std::uint32_t row_in_page) const {
        return number(page) * host_page_bytes + host_offset_bytes + std::int64_t{row_in_page} * host_row_bytes;
    }
};

/// Where a group's staged rows lie: behind the last page, in chunks of rows_per_page rows. A chunk has one
/// location for all lanes, since its lanes are spaced as in a page; its bytes are [lane][row]. All groups' rows
/// share that memory where the layout allows it: the arena is one group's at a time.
struct staging_placement {
    location first = 0;                   // of row 0 of slot 0
    std::int32_t locations_per_chunk = 0; // from a chunk's first location to the next chunk's
    std::int32_t rows_per_slot = 0;       // most rows of a slot that its hot cache can't hold at once; 0: none

    /// Staged row i of a slot, i in [0, rows_per_slot). rows_per_chunk: the group's rows_per_page.
    DHISPARSE_HD constexpr location at(const fast_divisor& rows_per_chunk, std::int32_t slot, std::int32_t i) const {
        const auto row = static_cast<std::uint32_t>(slot) * static_cast<std::uint32_t>(rows_per_slot) + static_cast<std::uint32_t>(i);
        const auto chunk = rows_per_chunk.quotient(row);
        return first + static_cast<std::int32_t>(chunk) * locations_per_chunk + static_cast<std::int32_t>(row - chunk * rows_per_chunk.divisor);
    }
};

/// Where index keys lie: blocks of one source's keys for the positions of a page. Block b is at
/// slab + b · pitch, whichever page it was cut from.
struct index_placement {
    std::int64_t pitch_bytes = 0;      // a multiple of 16 that divides a page; 0: no index keys
    std::int32_t blocks_per_page = 0;
    std::int32_t n_sources = 0;        // sources with index keys
};

} // namespace dhisparse
