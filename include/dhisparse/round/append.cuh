/// Step 1 of a round on the device: round/append.hpp as one small kernel, which cuda/round.cu launches.
#pragma once

#include <dhisparse/round/launch.cuh>

#include <cub/block/block_scan.cuh>

#include <cstdint>

namespace dhisparse {

inline constexpr int append_threads = 512;

namespace detail {

__device__ inline void count_on_device(tally& counts, violation what) {
    atomicAdd(reinterpret_cast<unsigned long long*>(&counts.violations[static_cast<int>(what)]), 1ull);
}

/// Which requests name a live slot that no earlier request of the batch names.
__device__ inline void find_first_uses(const append_params& p) {
    for (auto r = static_cast<std::int32_t>(threadIdx.x); r < p.batch.n_requests; r += append_threads)
        if (p.step.tables.live(p.batch.slots[r])) p.seen[p.batch.slots[r]] = INT32_MAX;
    __syncthreads();
    for (auto r = static_cast<std::int32_t>(threadIdx.x); r < p.batch.n_requests; r += append_threads)
        if (p.step.tables.live(p.batch.slots[r])) atomicMin(&p.seen[p.batch.slots[r]], r);
    __syncthreads();
}

__device__ inline std::int32_t slot_of_request(const append_params& p, std::int32_t r) {
    const auto slot = p.batch.slots[r];
    if (slot == -1) return -1;
    if (!p.step.tables.live(slot)) return count_on_device(*p.step.counts, violation::slot_not_live), -1;
    if (p.seen[slot] != r) return count_on_device(*p.step.counts, violation::slot_repeated), -1;
    return slot;
}

__device__ inline std::int32_t width_of_request(const append_params& p, std::int32_t r) {
    const auto width = p.batch.widths ? p.batch.widths[r] : 1;
    const auto taken = min(max(width, 0), p.step.k_max);
    if (taken != width) count_on_device(*p.step.counts, violation::width_out_of_range);
    return taken;
}

__device__ inline void lay_out_request(const append_params& p, std::int32_t r, std::int32_t slot, std::int32_t first, std::int32_t width) {
    const auto n = slot < 0 ? 0 : p.step.tables.frontier(slot, p.batch.of);
    if (slot >= 0 && p.step.staging.any()) p.step.staging.slots[slot] = {};
    p.round.slots[r] = slot;
    p.round.records[r] = slot < 0 ? slot_record{} : p.step.tables.records[slot];
    p.round.records[r].slot = slot;
    p.round.records[r].frontier = n; // of the pass: what a resolve of one query each reads
    p.round.frontiers[r] = n;
    p.round.first_query[r] = first;
    for (std::int32_t j = 0; j < width; ++j) {
        p.round.query_slots[first + j] = slot;
        p.round.query_positions[first + j] = slot < 0 ? -1 : n + j;
    }
}

/// Part `part` (a group, then the sources with index keys) of where query q's position goes.
__device__ inline void place_query(const append_params& p, std::int32_t part, std::int32_t q) {
    const auto& round = p.round;
    const auto slot = round.query_slots[q], t = round.query_positions[q];
    const auto groups = p.step.tiers.n_groups;
    std::int32_t page = 0, gpu = -1;
    if (slot >= 0) {
        page = static_cast<std::int32_t>(p.step.page_positions.quotient(static_cast<std::uint32_t>(t)));
        if (t < p.step.tables.records[slot].positions) gpu = p.step.tables.page_map(slot)[page];
        if (gpu < 0 && part == 0) count_on_device(*p.step.counts, violation::position_not_mapped);
    }
    if (part < groups) {
        const auto& group = p.step.tiers.groups[part];
        const auto in_page = p.step.page_positions.remainder(static_cast<std::uint32_t>(t), static_cast<std::uint32_t>(page));
        round.locations[std::int64_t{part} * round.max_queries + q] =
            gpu < 0 ? no_location : group.at(gpu_page{gpu}, in_page / static_cast<std::uint32_t>(group.positions_per_row));
    } else
        round.index_blocks[std::int64_t{part - groups} * round.max_queries + q] = gpu < 0 ? -1 : p.step.tables.index_table(slot, part - groups)[page];
}

} // namespace detail

static __global__ void __launch_bounds__(append_threads) append_kernel(const __grid_constant__ append_params p) {
    using scan = cub::BlockScan<std::int32_t, append_threads>;
    __shared__ typename scan::TempStorage storage;
    detail::find_first_uses(p);
    std::int32_t n_queries = 0;
    for (std::int32_t base = 0; base < p.batch.n_requests; base += append_threads) {
        const auto r = base + static_cast<std::int32_t>(threadIdx.x);
        const bool is = r < p.batch.n_requests;
        const auto slot = is ? detail::slot_of_request(p, r) : -1;
        const auto width = is ? detail::width_of_request(p, r) : 0;
        std::int32_t first = 0, all = 0;
        scan(storage).ExclusiveSum(width, first, all);
        if (is) detail::lay_out_request(p, r, slot, n_queries + first, width);
        n_queries += all;
        __syncthreads();
    }
    if (threadIdx.x == 0) p.round.first_query[p.batch.n_requests] = n_queries;
    const auto most = p.round.n_queries; // those behind the last one belong to nobody: a graph's grids are of this size
    for (auto q = n_queries + static_cast<std::int32_t>(threadIdx.x); q < most; q += append_threads) p.round.query_slots[q] = p.round.query_positions[q] = -1;
    __syncthreads();
    const auto parts = p.step.tiers.n_groups + p.step.n_index_sources;
    for (auto i = static_cast<std::int32_t>(threadIdx.x); i < parts * most; i += append_threads) detail::place_query(p, i / most, i % most);
}

} // namespace dhisparse
