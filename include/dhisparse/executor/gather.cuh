/// executor/gather.hpp on the device: a warp a row; cuda/executor.cu launches it.
#pragma once

#include <dhisparse/copy/row_copy.cuh>
#include <dhisparse/executor/gather.hpp>

namespace dhisparse {

static __global__ void gather_kernel(const __grid_constant__ tiers_ref tiers, const __grid_constant__ slot_tables_ref tables, const __grid_constant__ gather_args args) {
    const auto warp = static_cast<std::int32_t>((blockIdx.x * blockDim.x + threadIdx.x) / 32), warps = static_cast<std::int32_t>(gridDim.x * blockDim.x / 32);
    const auto lane = static_cast<std::int32_t>(threadIdx.x % 32);
    const auto& group = tiers.groups[args.group];
    const auto& source = tiers.lanes[group.first_lane + args.lane];
    for (auto row = args.first_row + warp; row < args.last_row; row += warps) {
        const auto page = group.rows_per_page.quotient(static_cast<std::uint32_t>(row));
        const auto in_page = static_cast<std::uint32_t>(row) - page * group.rows_per_page.divisor;
        const auto gpu = tables.page_map(args.slot)[page];
        const auto* host = host_row_of(tiers, group, tables.host_map(args.slot)[page], args.lane, in_page);
        auto* to = args.out + (row - args.first_row) * source.row_bytes;
        if (gpu < 0 && host) copy_bytes(to, host, source.row_bytes, lane, 32);
        for (int run = 0; gpu >= 0 && run < source.n_runs; to += source.runs[run++].bytes)
            copy_bytes(to, tiers.slab + source.offset_bytes(group.at(gpu_page{gpu}, in_page), run), source.runs[run].bytes, lane, 32);
    }
}

} // namespace dhisparse
