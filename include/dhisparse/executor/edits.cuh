/// Applies the ledger's edits to the tables, on the device: executor/edits.hpp as three kernels, which cuda/executor.cu launches.
#pragma once

#include <dhisparse/executor/launch.cuh>

namespace dhisparse {

namespace detail {

__device__ inline void fill_bytes(std::byte* at, std::int64_t bytes, unsigned word) { // bytes: a multiple of 16
    const auto all = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
    for (auto i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < bytes / 16; i += all) reinterpret_cast<uint4*>(at)[i] = {word, word, word, word};
}

__device__ inline void apply_index_page_on_device(const edit_tables& t, const edit& e) {
    for (std::int32_t i = 0; i < t.index.blocks_per_page; ++i) {
        const auto b = std::int64_t{e.index} * t.index.blocks_per_page + i;
        const auto page = b / t.index.n_sources;
        if (page >= t.tables.records[e.slot].n_pages) break;
        t.tables.index_table(e.slot, static_cast<std::int32_t>(b % t.index.n_sources))[page] = t.block_first[i] + static_cast<std::int32_t>(e.value) * t.block_step[i];
    }
}

__device__ inline void apply_edit_on_device(const edit_tables& t, const edit& e) {
    auto& record = t.tables.records[e.slot];
    const auto value = static_cast<std::int32_t>(e.value);
    switch (e.what) {
    case edit::kind::close: record.live = 0; return;
    case edit::kind::positions: record.positions = value; return;
    case edit::kind::frontier: record.frontier = t.tables.passes[e.slot].draft_frontier = value; return;
    case edit::kind::tail_page: record.tail_page = value; return;
    case edit::kind::map: t.tables.page_map(e.slot)[e.index] = value; return;
    case edit::kind::host_map: t.tables.host_map(e.slot)[e.index] = value; return;
    case edit::kind::hot_page: t.tables.hot_pages[std::int64_t{e.slot} * t.tables.hot_pages_per_slot + e.index] = value; return;
    case edit::kind::index_page: return apply_index_page_on_device(t, e);
    default: return; // open and move_run have kernels of their own
    }
}

} // namespace detail

/// Edits of different things, in any order.
static __global__ void edit_kernel(const __grid_constant__ edit_tables t, const edit* edits, std::int32_t n) {
    for (auto i = static_cast<std::int32_t>(blockIdx.x * blockDim.x + threadIdx.x); i < n; i += static_cast<std::int32_t>(gridDim.x * blockDim.x)) detail::apply_edit_on_device(t, edits[i]);
}

/// Makes a slot's tables those of an empty request.
static __global__ void open_kernel(const __grid_constant__ edit_tables t, const edit e) {
    const auto& tables = t.tables;
    detail::fill_bytes(tables.region + e.value, t.run.bytes(e.index), 0xFFFFFFFFu);
    const auto per_slot = std::int64_t{tables.entries_per_slot};
    for (int part = 0; part < 3; ++part)
        detail::fill_bytes(reinterpret_cast<std::byte*>(tables.entry_state + (std::int64_t{part} * tables.n_slots + e.slot) * per_slot), 4 * per_slot, part < 2 ? 0u : 0xFFFFFFFFu);
    if (blockIdx.x != 0) return;
    for (auto g = static_cast<std::int32_t>(threadIdx.x); g < tables.n_groups; g += static_cast<std::int32_t>(blockDim.x)) tables.clocks[std::int64_t{e.slot} * tables.n_groups + g] = 0;
    if (threadIdx.x != 0) return;
    tables.records[e.slot] = {1, e.index, 0, 0, 0, 0, e.value};
    tables.passes[e.slot] = {};
}

/// Moves a slot's run to a longer one. One block.
static __global__ void move_run_kernel(const __grid_constant__ edit_tables t, const edit e) {
    auto& record = t.tables.records[e.slot];
    auto* to = t.tables.region + e.value;
    const auto* from = t.tables.region + record.run_bytes;
    detail::fill_bytes(to, t.run.bytes(e.index), 0xFFFFFFFFu);
    __syncthreads();
    for (std::int32_t i = 0; i < t.run.n_parts(); ++i) {
        const auto part = t.run.part_of(i, record.n_pages, e.index);
        for (auto w = static_cast<std::int64_t>(threadIdx.x); w < part.bytes / 4; w += blockDim.x)
            reinterpret_cast<std::uint32_t*>(to + part.to)[w] = reinterpret_cast<const std::uint32_t*>(from + part.from)[w];
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        record.n_pages = e.index;
        record.run_bytes = e.value;
    }
}

} // namespace dhisparse
