/// The CUDA resolver's kernel. A cluster of blocks serves one request; each block takes a contiguous
/// part of its selection entries, so that first appearance is block, then entry order. A block that misses
/// nothing waits for no other: it leaves its marks and goes.
#pragma once

#include <dhisparse/resolve/bring_back.cuh>
#include <dhisparse/resolve/look_up.cuh>

namespace dhisparse {
namespace detail {

/// Has the kernel's parameters, which are cold, on their way at once instead of line by line: 0.03-0.08 us less on an H200.
static __device__ __forceinline__ void touch(const resolve_params& p) {
    constexpr auto lines = static_cast<unsigned>((offsetof(resolve_params, leaders) + 63) / 64);
    const auto line = min(threadIdx.x / 32, lines - 1);
    asm volatile("" ::"r"(reinterpret_cast<const std::int32_t*>(&p)[line * 16]));
}

/// All of a request's answers -1, by its cluster.
static __device__ __noinline__ void answer_nothing(const resolve_params& p, std::int32_t first_query, std::int32_t n_queries, std::int32_t rank) {
    for (std::int32_t q = 0; q < n_queries; ++q) {
        for (auto i = rank * block_threads() + static_cast<std::int32_t>(threadIdx.x); i < p.out.k_padded; i += p.tuning.cluster * block_threads())
            p.out.at[(first_query + q) * p.out.stride + i] = no_location;
        if (p.out.valid && rank == 0 && threadIdx.x == 0) p.out.valid[first_query + q] = 0;
    }
}

/// Columns [k, k_padded) of a request's queries.
static __device__ __noinline__ void answer_padding(const resolve_params& p, std::int32_t first_query, std::int32_t n_queries) {
    const auto width = p.out.k_padded - p.selection.k;
    for (auto i = static_cast<std::int32_t>(threadIdx.x); i < n_queries * width; i += block_threads())
        p.out.at[(first_query + i / width) * p.out.stride + p.selection.k + i % width] = no_location;
}

/// Has the request's first block rebuild an index that has no room for what the resolve may add.
template <class Index>
__device__ void make_room(const resolve_params& p, const resolve_request<Index>& r) {
    if (!r.index.is_full()) return;
    synchronise_cluster(p.tuning); // all blocks know
    if (r.rank == 0) r.index.rebuild(p.rows + r.first_entry(p), p.entries);
    synchronise_cluster(p.tuning);
}

/// The resolve's stamp and where hot entries lie, into shared memory.
template <class Index>
__device__ void prepare(const resolve_params& p, resolve_shared& shared, const resolve_memory& memory, const resolve_request<Index>& r) {
    const auto thread = static_cast<std::int32_t>(threadIdx.x);
    if (thread == block_threads() - 1) shared.now = atomicAdd(p.clocks + std::int64_t{r.slot} * p.n_groups, device_clock_step >> p.tuning.cluster_shift) / device_clock_step + 1;
#pragma unroll 1
    for (auto h = thread; h < p.hot_pages_per_slot; h += block_threads())
        memory.hot_bases[h] = p.hot_pages[std::int64_t{r.slot} * p.hot_pages_per_slot + h] * p.locations_per_page - h * static_cast<std::int32_t>(p.rows_per_page.divisor);
    if (thread == 0) shared.missing = shared.repeated = shared.claimed = shared.copied = shared.from_host = shared.departing = 0;
    for (auto q = thread; q < r.n_queries; q += block_threads()) memory.by_query[q] = 0;
}

/// Valid counts of the queries that this block counts: query q is block q mod cluster's. The first one's count is under way.
template <bool OneQuery, class Index>
__device__ void count_valid(const resolve_params& p, const resolve_memory& memory, const resolve_request<Index>& r, visible_count<Index>& visible) {
#pragma unroll 1
    for (auto q = r.rank; q < r.n_queries; q += p.tuning.cluster) {
        if (q != r.rank) visible.start(q);
        visible.finish(OneQuery ? r.record.frontier : p.query_positions[r.first_query + q], memory.by_query[q]);
    }
}
template <class Index>
__device__ void publish_valid(const resolve_params& p, const resolve_memory& memory, const resolve_request<Index>& r) {
    for (auto q = r.rank + static_cast<std::int32_t>(threadIdx.x) * p.tuning.cluster; q < r.n_queries; q += block_threads() * p.tuning.cluster)
        p.out.valid[r.first_query + q] = memory.by_query[q];
}

} // namespace detail

/// Staged: of a group that stages rows; the others' kernel has nothing of it.
template <hot_index_policy Index, replacement_policy Replacement, bool OneQuery, int Items, bool Staged = false>
__global__ void __launch_bounds__(resolve_max_threads, 1) resolve_kernel(const __grid_constant__ resolve_params p) {
    extern __shared__ __align__(128) std::byte dynamic[];
    __shared__ resolve_shared shared;
    __shared__ bring_back_shared for_misses;
    detail::touch(p);
    const auto memory = resolve_memory::at(p, dynamic);
    resolve_request<Index> r;
    r.number = static_cast<std::int32_t>(blockIdx.x >> p.tuning.cluster_shift);
    r.rank = static_cast<std::int32_t>(blockIdx.x) & (p.tuning.cluster - 1);
    r.first_query = OneQuery ? r.number : p.first_query[r.number];
    if (!OneQuery) r.n_queries = p.first_query[r.number + 1] - r.first_query;
    if (!OneQuery && r.n_queries == 0) return;
    look_up_agent<Index, OneQuery, Items> look_up(p, shared, memory, r);
    visible_count<Index> visible(p, r);
    look_up.start();
    if (p.out.valid && r.rank < r.n_queries) visible.start(r.rank);
    r.load_record(p.records + r.number);
    if (r.slot < 0) return detail::answer_nothing(p, r.first_query, r.n_queries, r.rank);
    if (p.out.k_padded > p.selection.k && r.rank == 0) detail::answer_padding(p, r.first_query, r.n_queries);
    r.index = {Index::at(p.region + r.record.run_bytes + r.record.n_pages * p.index_page_offset + p.index_fixed_offset, p.codes)};
    r.used = p.used + r.first_entry(p);
    if constexpr (requires { r.index.is_full(); }) detail::make_room(p, r);
    look_up.find_pages();
    detail::prepare(p, shared, memory, r);
    __syncthreads();
    r.now = shared.now;
    if (p.out.valid) detail::count_valid<OneQuery>(p, memory, r, visible);
    look_up.run();
    const bool misses = __syncthreads_or((look_up.missing | look_up.lost) != 0);
    if (p.out.valid) detail::publish_valid(p, memory, r);
    bring_back_agent<Index, Replacement, Staged> bring_back(p, shared, for_misses, memory, r, look_up.missing, Items);
    if (misses) bring_back.tell();
    else if (threadIdx.x == 0 && p.tuning.cluster > 1) p.news[r.number * max_cluster + r.rank] = {};
    arrive(p.tuning);
    if (!misses) return;
    bring_back.run(look_up.lost);
}

} // namespace dhisparse
