/// Whole pages between the tiers on the device: a warp a group row, few blocks, beside the
/// step path; cuda/executor.cu launches it.
#pragma once

#include <dhisparse/copy/page_copy.hpp>
#include <dhisparse/copy/row_copy.cuh>

namespace dhisparse {

/// Few, beside the step path; bench/RESULTS.md says what they reach.
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

/// Whether every run of a source's rows consists of aligned 16-byte pieces.
__device__ inline bool has_pieces(const source_placement& source) {
    std::int64_t all = 0;
    for (std::int32_t run = 0; run < source.n_runs; ++run) all |= source.runs[run].bytes | source.runs[run].offset_bytes | source.runs[run].stride_bytes;
    return all % 16 == 0;
}

/// Piece i of a lane's row at a location.
__device__ inline uint4* slab_piece(std::byte* slab, const source_placement& source, location at, std::int32_t i) {
    std::int32_t run = 0;
    for (; i >= source.runs[run].bytes / 16; ++run) i -= static_cast<std::int32_t>(source.runs[run].bytes / 16);
    return reinterpret_cast<uint4*>(slab + source.offset_bytes(at, run)) + i;
}

/// A group row of such pieces by a warp: several pieces of a thread are on their way at once, which is what fills the
/// link with few warps. lanes: the group's.
template <direction Way>
__device__ inline void copy_pieces(std::byte* slab, const source_placement* lanes, const group_placement& group, location at, std::byte* host) {
    constexpr std::int32_t at_once = 5; // a row of four 576-byte lanes in one go
    const auto n = static_cast<std::int32_t>(group.host_row_bytes / 16), in_lane = static_cast<std::int32_t>(group.host_lane_bytes / 16);
    auto* const row = reinterpret_cast<uint4*>(host);
    for (auto first = static_cast<std::int32_t>(threadIdx.x % 32); first < n; first += 32 * at_once) {
        uint4 value[at_once];
        std::uint32_t offset[at_once]; // of a piece in the slab, in pieces
#pragma unroll
        for (std::int32_t u = 0; u < at_once; ++u) {
            const auto i = first + 32 * u;
            if (i >= n) continue;
            auto* const gpu = slab_piece(slab, lanes[i / in_lane], at, i % in_lane);
            offset[u] = static_cast<std::uint32_t>(gpu - reinterpret_cast<uint4*>(slab));
            value[u] = Way == direction::to_gpu ? row[i] : *gpu;
        }
#pragma unroll
        for (std::int32_t u = 0; u < at_once; ++u)
            if (first + 32 * u < n) (Way == direction::to_gpu ? reinterpret_cast<uint4*>(slab)[offset[u]] : row[first + 32 * u]) = value[u];
    }
}

} // namespace detail

/// Rows go to warps in turn, over groups and pages.
static __global__ void __launch_bounds__(page_copy_threads) page_copy_kernel(const __grid_constant__ tiers_ref tiers, const page_copy* copies, std::int32_t n) {
    const auto warps = static_cast<std::int32_t>(gridDim.x * blockDim.x / 32);
    auto row = static_cast<std::int32_t>((blockIdx.x * blockDim.x + threadIdx.x) / 32);
    for (std::int32_t c = 0; c < n; ++c) {
        const auto copy = copies[c];
        if (copy.index_part >= 0) {
            detail::copy_index_part_on_device(tiers, copy);
            continue;
        }
        for (int g = 0; g < tiers.n_groups; ++g) {
            const auto& group = tiers.groups[g];
            const auto* lanes = tiers.lanes + group.first_lane;
            const auto rows = static_cast<std::int32_t>(group.rows_per_page.divisor);
            const bool pieces = detail::has_pieces(lanes[0]); // lanes of a group are alike
            for (; row < rows; row += warps) {
                const auto at = group.at(copy.gpu, static_cast<std::uint32_t>(row));
                auto* const host = tiers.host + group.host_offset(copy.host, tiers.host_page_bytes, static_cast<std::uint32_t>(row));
                if (pieces && copy.way == direction::to_host) detail::copy_pieces<direction::to_host>(tiers.slab, lanes, group, at, host);
                else if (pieces) detail::copy_pieces<direction::to_gpu>(tiers.slab, lanes, group, at, host);
                else copy_group_row_warp(tiers, group, at, host, copy.way);
            }
            row -= rows;
        }
    }
}

} // namespace dhisparse
