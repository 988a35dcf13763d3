/// The last step of a round on the device: round/commit.hpp, a block a request and group; cuda/round.cu launches it.
#pragma once

#include <dhisparse/copy/row_copy.cuh>
#include <dhisparse/round/launch.cuh>

namespace dhisparse {

inline constexpr int commit_copy_warps = 4; // a piece of each row a warp
inline constexpr int commit_threads = (commit_copy_warps + 1) * 32; // the last warp keeps the books while the others copy

namespace detail {

/// The rows of positions [from, to) that both tiers have a page for. By a copy warp: its piece of each of them.
/// page_map, host_map: the slot's.
template <class F>
__device__ inline void for_settled_rows(const group_placement& group, const std::int32_t* page_map, const std::int32_t* host_map, std::int32_t from, std::int32_t to, F f) {
    for (auto row = from / group.positions_per_row; row < to / group.positions_per_row; ++row) {
        const auto page = group.rows_per_page.quotient(static_cast<std::uint32_t>(row));
        const auto gpu = page_map[page], host = host_map[page];
        if (gpu >= 0 && host >= 0) f(gpu_page{gpu}, host_page{host}, group.rows_per_page.remainder(static_cast<std::uint32_t>(row), page));
    }
}
__device__ inline void back_up_on_device(const commit_params& p, const group_placement& group, const std::int32_t* page_map, const std::int32_t* host_map, std::int32_t from, std::int32_t to) {
    const auto piece = (group.host_row_bytes + commit_copy_warps * 16 - 1) / (commit_copy_warps * 16) * 16;
    const auto begin = static_cast<std::int64_t>(threadIdx.x / 32) * piece, end = min(begin + piece, group.host_row_bytes);
    for_settled_rows(group, page_map, host_map, from, to, [&](gpu_page gpu, host_page host, std::uint32_t in_page) {
        copy_group_row_warp(p.step.tiers, group, group.at(gpu, in_page), p.step.tiers.host + group.host_offset(host, p.step.tiers.host_page_bytes, in_page), direction::to_host, begin, end);
    });
}

/// With DHISPARSE_CHECKS: overwrites the rows that hold no position below `from` and one below `to`: rejected ones.
__device__ inline void poison_rejected_on_device(const commit_params& p, int g, std::int32_t slot, std::int32_t from, std::int32_t to) {
    const auto& group = p.step.tiers.groups[g];
    const auto* map = p.step.tables.page_map(slot);
    const auto m = group.positions_per_row, end = (min(to, p.step.tables.records[slot].positions) + m - 1) / m;
    for (auto row = (from + m - 1) / m + static_cast<std::int32_t>(threadIdx.x / 32); row < end; row += commit_copy_warps) {
        const auto page = group.rows_per_page.quotient(static_cast<std::uint32_t>(row));
        if (map[page] >= 0) poison_group_row_warp(p.step.tiers, group, group.at(gpu_page{map[page]}, group.rows_per_page.remainder(static_cast<std::uint32_t>(row), page)));
    }
}

/// What one request's group keeps of the round.
struct retained {
    std::int32_t slot = -1;
    std::int32_t from = 0, to = 0; // positions that settle
    std::int32_t next = 0, end = 0; // the new frontier; the round's positions end here
    bool corrected = false;         // accepted was out of range
};

/// The tables still say what was before, since other groups' blocks read them.
__device__ inline retained retained_of(const commit_params& p, std::int32_t r) {
    const auto slot = p.round.slots[r];
    if (slot < 0) return {};
    const auto width = p.round.first_query[r + 1] - p.round.first_query[r];
    const auto frontier = p.step.tables.frontier(slot, p.of);
    const auto open = p.step.tables.passes[slot].unsettled[static_cast<int>(p.of)];
    auto n = frontier, next = frontier;
    bool corrected = false;
    if (width > 0) {
        n = p.round.frontiers[r];
        const auto asked = p.accepted ? p.accepted[r] : width - 1;
        const auto a = min(max(asked, 0), width - 1);
        corrected = a != asked;
        next = placed_until(p.step, slot, n, n + a + 1);
    }
    const auto settled = min(n, frontier) - open;
    const auto still_open = max(0, min(p.unsettled, next - settled));
    return {slot, settled, next - still_open, next, n + width, corrected};
}

/// By the last block's last warp.
__device__ inline void write_frontiers(const commit_params& p) {
    for (auto r = static_cast<std::int32_t>(threadIdx.x % 32); r < p.round.n_requests; r += 32) {
        const auto slot = p.round.slots[r];
        if (slot < 0) continue;
        const auto next = __ldcg(reinterpret_cast<const int2*>(p.next) + r);
        p.step.tables.frontier(slot, p.of) = next.x;
        p.step.tables.passes[slot].unsettled[static_cast<int>(p.of)] = next.y;
    }
}

/// The last block copies the counters to where the host can read them without waiting. By a warp, a lane a shard: the
/// loads of all numbers are on their way at once.
__device__ inline void publish_counts(const commit_params& p) {
    constexpr auto numbers = static_cast<unsigned>(sizeof(tally) / 8);
    const auto* from = reinterpret_cast<const std::uint64_t*>(p.step.counts);
    const auto lane = threadIdx.x % 32;
    std::uint64_t mine[numbers];
#pragma unroll
    for (unsigned i = 0; i < numbers; ++i) mine[i] = lane < static_cast<unsigned>(p.n_shards) ? __ldcg(from + lane * numbers + i) : 0;
#pragma unroll
    for (unsigned i = 0; i < numbers; ++i)
        for (unsigned o = 16; o > 0; o /= 2) mine[i] += __shfl_xor_sync(0xFFFFFFFF, mine[i], o);
    auto& sums = reinterpret_cast<tally&>(mine);
    sums.selected = sums.tail + sums.history + sums.hot + sums.host; // resolvers don't count it
#pragma unroll
    for (unsigned i = 0; i < numbers; ++i)
        if (lane == i % 32) reinterpret_cast<volatile std::uint64_t*>(p.snapshot)[i] = mine[i];
    if (lane == 0) *p.blocks_done = 0;
}

/// What a block adds to the counters, and the round's end by the last block. By one warp, once all of the block have
/// read the tables.
__device__ inline void keep_books(const commit_params& p, std::int32_t r, int g, const retained& kept, std::int32_t backed_up) {
    bool last = false;
    if (threadIdx.x % 32 == 0) {
        auto& counts = *p.step.counts;
        if (backed_up) atomicAdd(reinterpret_cast<unsigned long long*>(&counts.backed_up_rows), static_cast<unsigned long long>(backed_up));
        if (g == 0 && kept.corrected) atomicAdd(reinterpret_cast<unsigned long long*>(&counts.violations[static_cast<int>(violation::accepted_out_of_range)]), 1ull);
        if (g == 0 && kept.slot >= 0) p.next[r] = {kept.next, kept.next - kept.to};
        __threadfence();
        last = atomicAdd(p.blocks_done, 1u) == gridDim.x - 1;
        __threadfence();
    }
    if (!__any_sync(0xFFFFFFFF, last)) return;
    write_frontiers(p);
    publish_counts(p);
}

} // namespace detail

static __global__ void __launch_bounds__(commit_threads) commit_kernel(const __grid_constant__ commit_params p) {
    const auto groups = p.step.tiers.n_groups, r = static_cast<std::int32_t>(blockIdx.x) / groups, g = static_cast<std::int32_t>(blockIdx.x) % groups;
    const auto kept = detail::retained_of(p, r);
    const auto& group = p.step.tiers.groups[g];
    const bool of_pass = kept.slot >= 0 && group.of == p.of;
    const auto& record = p.round.records[r]; // its run stays where it is while a round lasts
    const auto* page_map = reinterpret_cast<const std::int32_t*>(p.step.tables.region + record.run_bytes);
    const auto* host_map = page_map + record.n_pages;
    __syncthreads(); // the last block writes what all blocks have read
    if (threadIdx.x / 32 == commit_copy_warps) {
        std::int32_t n = 0;
        if (of_pass) detail::for_settled_rows(group, page_map, host_map, kept.from, kept.to, [&](auto, auto, auto) { ++n; });
        return detail::keep_books(p, r, g, kept, n);
    }
    if (!of_pass) return;
    detail::back_up_on_device(p, group, page_map, host_map, kept.from, kept.to);
    if constexpr (DHISPARSE_CHECKS) detail::poison_rejected_on_device(p, g, kept.slot, kept.next, kept.end);
}

} // namespace dhisparse
