/// Rows of one source, in row order, from wherever they lie: the host backend, and what both take.
#pragma once

#include <dhisparse/copy/tiers.hpp>
#include <dhisparse/residency/slot_tables.hpp>

#include <cstring>

namespace dhisparse {

struct gather_args {
    std::int32_t slot = 0, group = 0, lane = 0; // lane: in its group
    std::int32_t first_row = 0, last_row = 0;   // [first, last)
    std::byte* out = nullptr;                   // [last - first][row_bytes]
};

/// Where a row's host copy lies; null where it has none.
DHISPARSE_HD inline const std::byte* host_row_of(const tiers_ref& tiers, const group_placement& group, std::int32_t host_page_number, std::int32_t lane, std::uint32_t in_page) {
    if (host_page_number < 0) return nullptr;
    return tiers.host + group.host_offset(host_page{host_page_number}, tiers.host_page_bytes, in_page) + lane * group.host_lane_bytes;
}

/// A mapped page first, as in a resolve; rows on no tier leave `out` as it is.
inline void gather(const tiers_ref& tiers, const slot_tables_ref& tables, const gather_args& args) {
    const auto& group = tiers.groups[args.group];
    const auto& source = tiers.lanes[group.first_lane + args.lane];
    auto* out = args.out;
    for (auto row = args.first_row; row < args.last_row; ++row, out += source.row_bytes) {
        const auto page = group.rows_per_page.quotient(static_cast<std::uint32_t>(row));
        const auto in_page = static_cast<std::uint32_t>(row) - page * group.rows_per_page.divisor;
        const auto gpu = tables.page_map(args.slot)[page];
        const auto* host = host_row_of(tiers, group, tables.host_map(args.slot)[page], args.lane, in_page);
        if (gpu < 0 && host) std::memcpy(out, host, static_cast<std::size_t>(source.row_bytes));
        auto* to = out;
        for (int run = 0; gpu >= 0 && run < source.n_runs; to += source.runs[run++].bytes)
            std::memcpy(to, tiers.slab + source.offset_bytes(group.at(gpu_page{gpu}, in_page), run), static_cast<std::size_t>(source.runs[run].bytes));
    }
}

} // namespace dhisparse
