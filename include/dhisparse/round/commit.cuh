/// The last step of a round on the device: round/commit.hpp, a block a request and group; cuda/round.cu launches it.
#pragma once

#include <dhisparse/copy/row_copy.cuh>
#include <dhisparse/round/launch.cuh>

namespace dhisparse {

inline constexpr int commit_threads = 128;

namespace detail {

__device__ inline void back_up_on_device(const commit_params& p, int g, std::int32_t slot, std::int32_t from, std::int32_t to) {
    const auto& group = p.step.tiers.groups[g];
    const auto* map = p.step.tables.page_map(slot);
    const auto* host = p.step.tables.host_map(slot);
    std::int32_t copied = 0;
    for (auto row = from / group.positions_per_row + static_cast<std::int32_t>(threadIdx.x / 32); row < to / group.positions_per_row; row += commit_threads / 32) {
        const auto page = group.rows_per_page.quotient(static_cast<std::uint32_t>(row));
        if (map[page] < 0 || host[page] < 0) continue;
        const auto in_page = group.rows_per_page.remainder(static_cast<std::uint32_t>(row), page);
        copy_group_row_warp(p.step.tiers, group, group.at(gpu_page{map[page]}, in_page),
                            p.step.tiers.host + group.host_offset(host_page{host[page]}, p.step.tiers.host_page_bytes, in_page), direction::to_host);
        ++copied;
    }
    if (threadIdx.x % 32 == 0 && copied) atomicAdd(reinterpret_cast<unsigned long long*>(&p.step.counts->backed_up_rows), static_cast<unsigned long long>(copied));
}

/// With DHISPARSE_CHECKS: overwrites the rows that hold no position below `from` and one below `to`: rejected ones.
__device__ inline void poison_rejected_on_device(const commit_params& p, int g, std::int32_t slot, std::int32_t from, std::int32_t to) {
    const auto& group = p.step.tiers.groups[g];
    const auto* map = p.step.tables.page_map(slot);
    const auto m = group.positions_per_row, end = (min(to, p.step.tables.records[slot].positions) + m - 1) / m;
    for (auto row = (from + m - 1) / m + static_cast<std::int32_t>(threadIdx.x / 32); row < end; row += commit_threads / 32) {
        const auto page = group.rows_per_page.quotient(static_cast<std::uint32_t>(row));
        if (map[page] >= 0) poison_group_row_warp(p.step.tiers, group, group.at(gpu_page{map[page]}, group.rows_per_page.remainder(static_cast<std::uint32_t>(row), page)));
    }
}

/// Rows of one group; the tables still say what was before, since other groups' blocks read them.
__device__ inline void commit_request(const commit_params& p, std::int32_t r, int g) {
    const auto slot = p.round.slots[r];
    if (slot < 0) return;
    const auto width = p.round.first_query[r + 1] - p.round.first_query[r];
    const auto frontier = p.step.tables.frontier(slot, p.of);
    const auto open = p.step.tables.passes[slot].unsettled[static_cast<int>(p.of)];
    auto n = frontier, next = frontier;
    if (width > 0) {
        n = p.round.frontiers[r];
        const auto asked = p.accepted ? p.accepted[r] : width - 1;
        const auto a = min(max(asked, 0), width - 1);
        if (a != asked && g == 0 && threadIdx.x == 0)
            atomicAdd(reinterpret_cast<unsigned long long*>(&p.step.counts->violations[static_cast<int>(violation::accepted_out_of_range)]), 1ull);
        next = placed_until(p.step, slot, n, n + a + 1);
    }
    const auto settled = min(n, frontier) - open;
    const auto still_open = max(0, min(p.unsettled, next - settled));
    if (p.step.tiers.groups[g].of == p.of) {
        back_up_on_device(p, g, slot, settled, next - still_open);
        if constexpr (DHISPARSE_CHECKS) poison_rejected_on_device(p, g, slot, next, n + width);
    }
    if (g == 0 && threadIdx.x == 0) p.next[r] = {next, still_open};
}

/// By the last block.
__device__ inline void write_frontiers(const commit_params& p) {
    for (auto r = static_cast<std::int32_t>(threadIdx.x); r < p.round.n_requests; r += static_cast<std::int32_t>(blockDim.x)) {
        const auto slot = p.round.slots[r];
        if (slot < 0) continue;
        const auto next = __ldcg(reinterpret_cast<const int2*>(p.next) + r);
        p.step.tables.frontier(slot, p.of) = next.x;
        p.step.tables.passes[slot].unsettled[static_cast<int>(p.of)] = next.y;
    }
}

/// The last block copies the counters to where the host can read them without waiting.
__device__ inline void publish_counts(const commit_params& p) {
    __shared__ tally sums;
    const auto* from = reinterpret_cast<const std::uint64_t*>(p.step.counts);
    constexpr auto numbers = static_cast<unsigned>(sizeof(tally) / 8);
    for (auto i = threadIdx.x; i < numbers; i += blockDim.x) {
        std::uint64_t sum = 0;
        for (std::int32_t shard = 0; shard < p.n_shards; ++shard) sum += __ldcg(from + shard * numbers + i);
        reinterpret_cast<std::uint64_t*>(&sums)[i] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) sums.selected = sums.tail + sums.history + sums.hot + sums.host; // resolvers don't count it
    __syncthreads();
    for (auto i = threadIdx.x; i < numbers; i += blockDim.x) reinterpret_cast<volatile std::uint64_t*>(p.snapshot)[i] = reinterpret_cast<const std::uint64_t*>(&sums)[i];
    if (threadIdx.x == 0) *p.blocks_done = 0;
}

/// Whether this block is the last to be done. What the others wrote is visible to it.
__device__ inline bool is_last_block(const commit_params& p) {
    __shared__ bool last;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(p.blocks_done, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    return last;
}

} // namespace detail

static __global__ void __launch_bounds__(commit_threads) commit_kernel(const __grid_constant__ commit_params p) {
    const auto groups = p.step.tiers.n_groups;
    detail::commit_request(p, static_cast<std::int32_t>(blockIdx.x) / groups, static_cast<std::int32_t>(blockIdx.x) % groups);
    if (!detail::is_last_block(p)) return;
    detail::write_frontiers(p);
    detail::publish_counts(p);
}

} // namespace dhisparse
