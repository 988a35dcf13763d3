/// Whole pages between the tiers on the device: a warp a group row, few blocks, beside the
/// step path; cuda/executor.cu launches it.
#pragma once

#include <dhisparse/copy/page_copy.hpp>
#include <dhisparse/copy/row_copy.cuh>

namespace dhisparse {

/// Four blocks of 1024 threads reach the link's speed both ways (FACTS: 52.5 and 51 GB/s).
inline constexpr int page_copy_blocks = 4, page_copy_threads = 1024;

namespace detail {

/// copy_index_part with all threads of the grid, 16 bytes each at a time: pitches and host pages are multiples of that.
__device__ inline void copy_index_part_on_device(const tiers_ref& tiers, const page_copy& copy) {
    const auto begin = copy.index_part * tiers.host_page_bytes;
    const auto end = begin + tiers.host_page_bytes < tiers.index.bytes() ? begin + tiers.host_page_bytes : tiers.index.bytes();
    auto* at_host = tiers.host + number(copy.host) * tiers.host_page_bytes;
    const auto all = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
    for (auto b = begin + 16 * (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x); b < end; b += 16 * all) {
        auto* gpu = reinterpret_cast<uint4*>(tiers.slab + tiers.index.offset_bytes(copy.gpu, b));
        auto* host = reinterpret_cast<uint4*>(at_host + b - begin);
        copy.way == direction::to_host ? void(*host = *gpu) : void(*gpu = *host);
    }
}

} // namespace detail

static __global__ void __launch_bounds__(page_copy_threads) page_copy_kernel(const __grid_constant__ tiers_ref tiers, const page_copy* copies, std::int32_t n) {
    const auto warps = static_cast<std::int32_t>(gridDim.x * blockDim.x / 32);
    const auto warp = static_cast<std::int32_t>((blockIdx.x * blockDim.x + threadIdx.x) / 32);
    for (std::int32_t c = 0; c < n; ++c) {
        const auto copy = copies[c];
        if (copy.index_part >= 0) {
            detail::copy_index_part_on_device(tiers, copy);
            continue;
        }
        for (int g = 0; g < tiers.n_groups; ++g) {
            const auto& group = tiers.groups[g];
            for (auto row = static_cast<std::uint32_t>(warp); row < group.rows_per_page.divisor; row += static_cast<std::uint32_t>(warps))
                copy_group_row_warp(tiers, group, group.at(copy.gpu, row), tiers.host + group.host_offset(copy.host, tiers.host_page_bytes, row), copy.way);
        }
    }
}

} // namespace dhisparse
