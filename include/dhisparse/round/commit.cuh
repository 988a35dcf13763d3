/// The last step of a round on the device: round/commit.hpp, a block a request and group; cuda/round.cu launches it.
#pragma once

#include <dhisparse/copy/row_copy.cuh>
#include <dhisparse/round/launch.cuh>

namespace dhisparse {

inline constexpr int commit_threads = 128;

namespace detail {

/// Copies, or only counts, the rows of positions [from, to) that both tiers have a page for.
template <bool Copy>
__device__ inline void back_up_on_device(const commit_params& p, int g, std::int32_t slot, std::int32_t from, std::int32_t to) {
    const auto& group = p.step.tiers.groups[g];
    const auto* map = p.step.tables.page_map(slot);
    const auto* host = p.step.tables.host_map(slot);
    std::int32_t copied = 0;
    for (auto row = from / group.positions_per_row + static_cast<std::int32_t>(threadIdx.x / 32); row < to / group.positions_per_row; row += commit_threads / 32) {
        const auto page = group.rows_per_page.quotient(static_cast<std::uint32_t>(row));
        if (map[page] < 0 || host[page] < 0) continue;
        ++copied;
        if constexpr (!Copy) continue;
        const auto in_page = group.rows_per_page.remainder(static_cast<std::uint32_t>(row), page);
        copy_group_row_warp(p.step.tiers, group, group.at(gpu_page{map[page]}, in_page),
                            p.step.tiers.host + group.host_offset(host_page{host[page]}, p.step.tiers.host_page_bytes, in_page), direction::to_host);
    }
    if (!Copy && threadIdx.x % 32 == 0 && copied) atomicAdd(reinterpret_cast<unsigned long long*>(&p.step.counts->backed_up_rows), static_cast<unsigned long long>(copied));
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

/// What one request's group keeps of the round.
struct retained {
    std::int32_t slot = -1;
    std::int32_t from = 0, to = 0; // positions that settle
    std::int32_t next = 0, end = 0; // the new frontier; the round's positions end here
};

/// The tables still say what was before, since other groups' blocks read them.
__device__ inline retained retained_of(const commit_params& p, std::int32_t r, int g) {
    const auto slot = p.round.slots[r];
    if (slot < 0) return {};
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
    if (g == 0 && threadIdx.x == 0) p.next[r] = {next, still_open};
    return {slot, settled, next - still_open, next, n + width};
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
    // A warp a number, a lane a shard: the loads of all numbers are on their way at once.
    __shared__ tally sums;
    const auto* from = reinterpret_cast<const std::uint64_t*>(p.step.counts);
    constexpr auto numbers = static_cast<unsigned>(sizeof(tally) / 8), warps = static_cast<unsigned>(commit_threads / 32);
    const auto warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    constexpr auto each = (numbers + warps - 1) / warps;
    std::uint64_t mine[each];
#pragma unroll
    for (unsigned i = 0; i < each; ++i) mine[i] = warp + i * warps < numbers && lane < static_cast<unsigned>(p.n_shards) ? __ldcg(from + lane * numbers + warp + i * warps) : 0;
#pragma unroll
    for (unsigned i = 0; i < each; ++i) {
        for (unsigned o = 16; o > 0; o /= 2) mine[i] += __shfl_xor_sync(0xFFFFFFFF, mine[i], o);
        if (lane == 0 && warp + i * warps < numbers) reinterpret_cast<std::uint64_t*>(&sums)[warp + i * warps] = mine[i];
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

/// Counts before it copies, so that the counters need not wait for the link.
static __global__ void __launch_bounds__(commit_threads) commit_kernel(const __grid_constant__ commit_params p) {
    const auto groups = p.step.tiers.n_groups, g = static_cast<std::int32_t>(blockIdx.x) % groups;
    const auto kept = detail::retained_of(p, static_cast<std::int32_t>(blockIdx.x) / groups, g);
    const bool of_pass = kept.slot >= 0 && p.step.tiers.groups[g].of == p.of;
    if (of_pass) detail::back_up_on_device<false>(p, g, kept.slot, kept.from, kept.to);
    if (detail::is_last_block(p)) {
        detail::write_frontiers(p);
        detail::publish_counts(p);
    }
    if (!of_pass) return;
    detail::back_up_on_device<true>(p, g, kept.slot, kept.from, kept.to);
    if constexpr (DHISPARSE_CHECKS) detail::poison_rejected_on_device(p, g, kept.slot, kept.next, kept.end);
}

} // namespace dhisparse
