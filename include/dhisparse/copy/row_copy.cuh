/// Rows between the tiers on the device. A group row is contiguous on the host; its lanes and runs are
/// scattered over the slab. Positions inside it are called host offsets.
#pragma once

#include <dhisparse/copy/bulk.cuh>
#include <dhisparse/copy/tiers.hpp>

#include <algorithm>

namespace dhisparse {

/// Calls f(slab address, host offset, bytes) for every run of every lane that lies in [begin, end) of a
/// group row. lanes: the group's, side by side.
template <class F>
__device__ void for_runs(std::byte* slab, const source_placement* lanes, const group_placement& group, location at, std::int64_t begin, std::int64_t end, F f) {
    for (std::int32_t lane = begin == 0 ? 0 : static_cast<std::int32_t>(begin / group.host_lane_bytes); lane < group.n_lanes; ++lane) {
        auto from = lane * group.host_lane_bytes;
        if (from >= end) break;
        const auto& source = lanes[lane];
        for (std::int32_t run = 0; run < source.n_runs; ++run) {
            const auto bytes = source.runs[run].bytes;
            const auto first = from > begin ? from : begin;
            const auto last = from + bytes < end ? from + bytes : end;
            if (first < last) f(slab + source.offset_bytes(at, run) + (first - from), first, last - first);
            from += bytes;
        }
    }
}

/// True where 16-byte accesses fit: both addresses and the length are multiples of 16.
__device__ inline bool vector_fit(const void* a, const void* b, std::int64_t bytes) {
    return ((reinterpret_cast<std::uintptr_t>(a) | reinterpret_cast<std::uintptr_t>(b) | static_cast<std::uintptr_t>(bytes)) & 15) == 0;
}

/// Copies bytes by `n` threads, of which this is the `t`-th: by 16 bytes where that fits, else by 4 or 1.
__device__ inline void copy_bytes(std::byte* to, const std::byte* from, std::int64_t bytes, std::int32_t t, std::int32_t n) {
    const auto by = [&](auto unit) {
        using word = decltype(unit);
        for (std::int64_t i = t; i < bytes / static_cast<std::int64_t>(sizeof(word)); i += n) reinterpret_cast<word*>(to)[i] = reinterpret_cast<const word*>(from)[i];
    };
    const auto all = reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from) | static_cast<std::uintptr_t>(bytes);
    if ((all & 15) == 0) by(uint4{});
    else if ((all & 3) == 0) by(std::uint32_t{});
    else by(std::uint8_t{});
}

/// Copies [begin, end) of a group row by a warp with plain loads and stores.
__device__ inline void copy_group_row_warp(const tiers_ref& tiers, const group_placement& group, location at, std::byte* host, direction way, std::int64_t begin, std::int64_t end) {
    const auto lane = static_cast<std::int32_t>(threadIdx.x % 32);
    for_runs(tiers.slab, tiers.lanes + group.first_lane, group, at, begin, end, [&](std::byte* slab, std::int64_t offset, std::int64_t bytes) {
        way == direction::to_gpu ? copy_bytes(slab, host + offset, bytes, lane, 32) : copy_bytes(host + offset, slab, bytes, lane, 32);
    });
}
__device__ inline void copy_group_row_warp(const tiers_ref& tiers, const group_placement& group, location at, std::byte* host, direction way) {
    copy_group_row_warp(tiers, group, at, host, way, 0, group.host_row_bytes);
}

/// Copies one group row from one location to another by a warp.
__device__ inline void move_group_row_warp(const tiers_ref& tiers, const group_placement& group, location from, location to) {
    for (std::int32_t lane = 0; lane < group.n_lanes; ++lane) {
        const auto& source = tiers.lanes[group.first_lane + lane];
        for (std::int32_t run = 0; run < source.n_runs; ++run)
            copy_bytes(tiers.slab + source.offset_bytes(to, run), tiers.slab + source.offset_bytes(from, run), source.runs[run].bytes, static_cast<std::int32_t>(threadIdx.x % 32), 32);
    }
}

/// Overwrites one group row with bytes that are nobody's, by a warp. For DHISPARSE_CHECKS.
__device__ inline void poison_group_row_warp(const tiers_ref& tiers, const group_placement& group, location at) {
    for_runs(tiers.slab, tiers.lanes + group.first_lane, group, at, 0, group.host_row_bytes, [](std::byte* slab, std::int64_t, std::int64_t bytes) {
        for (std::int64_t i = threadIdx.x % 32; i < bytes; i += 32) slab[i] = std::byte{poison_byte};
    });
}

} // namespace dhisparse
