// Compares selected rows with the original ones on the device, behind the attention that read them.
#pragma once

#include "cuda_weights.cuh"
#include "shape.hpp"

#include <dhisparse/layout/placement.hpp>
#include <dhisparse/residency/slot_tables.hpp>

#include <cstdint>

namespace decode {

struct check_params {
    const std::int32_t* selected = nullptr; // [n_requests][256] positions, -1: none
    const std::int32_t* at = nullptr;       // [n_requests][256] their locations
    const std::int32_t* slots = nullptr; // [n_requests] of the hierarchy that holds the originals
    dhisparse::slot_tables_ref originals;
    dhisparse::group_placement placement; // of the originals
    int n_layers = 0;
    const uint2* rows[tiny_dsa::n_layers] = {};          // [n_layers] of the group: what was read
    const uint2* original_rows[tiny_dsa::n_layers] = {}; // row at location l: 32 words from l * 32
    unsigned long long* wrong_right = nullptr; // [2] selection entries that differ, or not
};

/// A warp a selection entry: every layer's row of 256 bytes.
static __global__ void check_rows_kernel(const check_params p) {
    const auto lane = threadIdx.x % 32, e = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const auto entry = blockIdx.y * static_cast<unsigned>(tiny_dsa::top_k) + e;
    const auto t = p.selected[entry], at = p.at[entry];
    if (t < 0) return;
    const auto* pages = p.originals.page_map(p.slots[blockIdx.y]);
    const auto original = p.placement.at(dhisparse::gpu_page{pages[t / page_positions]},
                                         static_cast<std::uint32_t>(t % page_positions));
    bool same = at >= 0;
    for (int layer = 0; same && layer < p.n_layers; ++layer) {
        const auto a = p.rows[layer][std::int64_t{at} * 32 + lane];
        const auto b = p.original_rows[layer][std::int64_t{original} * 32 + lane];
        same = __all_sync(0xFFFFFFFF, a.x == b.x && a.y == b.y);
    }
    if (lane == 0) atomicAdd(p.wrong_right + same, 1ull);
}

} // namespace decode
