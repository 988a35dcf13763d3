/// executor/gather.hpp on the device: a warp a row.
#pragma once

#include <dhisparse/core/cuda_check.cuh>
#include <dhisparse/executor/gather.hpp>

#include <algorithm>

namespace dhisparse {
namespace detail {

/// Copies bytes with a warp, by words where both ends allow it.
__device__ inline void copy_bytes_warp(std::byte* to, const std::byte* from, std::int64_t bytes, unsigned lane) {
    const auto both = reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from) | static_cast<std::uintptr_t>(bytes);
    if (both % 16 == 0)
        for (auto i = std::int64_t{lane}; i < bytes / 16; i += 32) reinterpret_cast<uint4*>(to)[i] = reinterpret_cast<const uint4*>(from)[i];
    else
        for (auto i = std::int64_t{lane}; i < bytes; i += 32) to[i] = from[i];
}

} // namespace detail

static __global__ void gather_kernel(const __grid_constant__ tiers_ref tiers, const __grid_constant__ slot_tables_ref tables, const __grid_constant__ gather_args args) {
    const auto warp = static_cast<std::int32_t>((blockIdx.x * blockDim.x + threadIdx.x) / 32), warps = static_cast<std::int32_t>(gridDim.x * blockDim.x / 32);
    const auto& group = tiers.groups[args.group];
    const auto& source = tiers.lanes[group.first_lane + args.lane];
    for (auto row = args.first_row + warp; row < args.last_row; row += warps) {
        const auto page = group.rows_per_page.quotient(static_cast<std::uint32_t>(row));
        const auto in_page = static_cast<std::uint32_t>(row) - page * group.rows_per_page.divisor;
        const auto gpu = tables.page_map(args.slot)[page];
        const auto* host = host_row_of(tiers, group, tables.host_map(args.slot)[page], args.lane, in_page);
        auto* to = args.out + (row - args.first_row) * source.row_bytes;
        if (gpu < 0 && host) detail::copy_bytes_warp(to, host, source.row_bytes, threadIdx.x % 32);
        for (int run = 0; gpu >= 0 && run < source.n_runs; to += source.runs[run++].bytes)
            detail::copy_bytes_warp(to, tiers.slab + source.offset_bytes(group.at(gpu_page{gpu}, in_page), run), source.runs[run].bytes, threadIdx.x % 32);
    }
}

/// Enqueues a gather. args.out: memory of the device, or pinned.
inline void launch_gather(const tiers_ref& tiers, const slot_tables_ref& tables, const gather_args& args, cudaStream_t stream) {
    const auto rows = args.last_row - args.first_row;
    if (rows <= 0) return;
    gather_kernel<<<static_cast<unsigned>(std::min((rows + 7) / 8, 264)), 256, 0, stream>>>(tiers, tables, args);
    cuda_check(cudaGetLastError(), "gather");
}

} // namespace dhisparse
