/// The CUDA resolver's kernel. A cluster of blocks serves one request; each block takes a contiguous
/// part of its selection entries, so that first appearance is block, then entry order.
#pragma once

#include <dhisparse/resolve/bring_back.cuh>
#include <dhisparse/resolve/look_up.cuh>

namespace dhisparse {
namespace detail {

/// All of a request's answers -1, by its cluster.
static __device__ __noinline__ void answer_nothing(const resolve_params& p, std::int32_t first_query, std::int32_t n_queries, std::int32_t rank) {
    for (std::int32_t q = 0; q < n_queries; ++q) {
        for (auto i = rank * resolve_threads + static_cast<std::int32_t>(threadIdx.x); i < p.out.k_padded; i += p.tuning.cluster * resolve_threads)
            p.out.at[(first_query + q) * p.out.stride + i] = no_location;
        if (p.out.valid && rank == 0 && threadIdx.x == 0) p.out.valid[first_query + q] = 0;
    }
}

/// Columns [k, k_padded) of a request's queries.
static __device__ __noinline__ void answer_padding(const resolve_params& p, std::int32_t first_query, std::int32_t n_queries) {
    const auto width = p.out.k_padded - p.selection.k;
    for (auto i = static_cast<std::int32_t>(threadIdx.x); i < n_queries * width; i += resolve_threads)
        p.out.at[(first_query + i / width) * p.out.stride + p.selection.k + i % width] = no_location;
}

/// Loads that all entries share; behind it the block's shared numbers are zero and its bases known.
template <bool OneQuery, class Index>
__device__ void prepare(const resolve_params& p, resolve_shared& shared, const resolve_memory& memory, resolve_request<Index>& r) {
    const auto thread = static_cast<std::int32_t>(threadIdx.x);
#pragma unroll 1
    for (auto h = thread; h < p.hot_pages_per_slot; h += resolve_threads)
        memory.hot_bases[h] = p.hot_pages[std::int64_t{r.slot} * p.hot_pages_per_slot + h] * p.locations_per_page - h * static_cast<std::int32_t>(p.rows_per_page.divisor);
#if DHISPARSE_BULK
    if (p.tuning.cluster > 1) {
        if (thread == 0) bulk::init_for(&shared.news_barrier, static_cast<std::uint32_t>(p.tuning.cluster) * 8);
        __syncwarp();
        bulk::arrive_cluster(); // exchange() waits
    }
#endif
    if (thread == 0) shared.found_mapped = shared.tail_bad = 0, shared.missing = shared.repeated = shared.claimed = shared.copied = shared.from_host = shared.unreachable = 0;
#pragma unroll 1
    for (auto q = thread; q < r.n_queries; q += resolve_threads) {
        memory.by_query[q] = 0;
        if (p.out.valid && r.rank == 0) p.out.valid[r.first_query + q] = 0; // the cluster adds to it behind exchange()
    }
    r.index = {Index::at(p.region + r.record.run_bytes + r.record.n_pages * p.index_page_offset + p.index_fixed_offset, p.codes)};
    r.used = p.used + r.first_entry(p);
    r.now = *r.clock(p) + 1;
    __syncthreads();
}

/// Tells the cluster what this block misses; returns the misses of all.
__device__ inline std::int32_t exchange(const resolve_params& p, resolve_shared& shared, std::int32_t rank, std::uint32_t missing) {
    const auto n = __reduce_add_sync(0xFFFFFFFF, static_cast<unsigned>(__popc(missing)));
    if (threadIdx.x % 32 == 0 && n) atomicAdd(&shared.missing, static_cast<std::int32_t>(n));
    __syncthreads();
    const block_news news{static_cast<std::uint16_t>(shared.missing), static_cast<std::uint16_t>(shared.repeated), shared.found_mapped & 0xFFFF};
#if DHISPARSE_BULK
    if (p.tuning.cluster > 1) {
        bulk::wait_cluster(); // every block has readied its barrier
        if (threadIdx.x < static_cast<unsigned>(p.tuning.cluster)) bulk::send(&shared.news[rank], __builtin_bit_cast(std::uint64_t, news), &shared.news_barrier, threadIdx.x);
        bulk::wait(&shared.news_barrier, 0);
    } else
#endif
    {
        if (threadIdx.x == 0) shared.news[0] = news;
        __syncthreads();
    }
    std::int32_t all = 0;
#pragma unroll 1
    for (std::int32_t b = 0; b < p.tuning.cluster; ++b) all += shared.news[b].missing;
    return all;
}

/// Valid counts. Where rows were missing, or requests have several queries, every block of the cluster
/// adds its own to the zeros that exchange() was waited for behind; else the first block knows them all.
template <bool OneQuery, class Index>
__device__ void publish_valid(const resolve_params& p, const resolve_shared& shared, const resolve_memory& memory, const resolve_request<Index>& r, bool missed) {
    if (!OneQuery) {
        for (auto q = static_cast<std::int32_t>(threadIdx.x); q < r.n_queries; q += resolve_threads)
            if (memory.by_query[q]) atomicAdd(&p.out.valid[r.first_query + q], memory.by_query[q]);
    } else if (threadIdx.x == 0 && missed) {
        atomicAdd(&p.out.valid[r.first_query], static_cast<std::int32_t>(shared.found_mapped & 0xFFFF) + shared.from_host);
    } else if (threadIdx.x == 0 && r.rank == 0) {
        std::uint32_t all = 0;
#pragma unroll 1
        for (std::int32_t b = 0; b < p.tuning.cluster; ++b) all += shared.news[b].found;
        p.out.valid[r.first_query] = static_cast<std::int32_t>(all);
    }
}

template <class Index>
__device__ void publish_counts(const resolve_params& p, const resolve_shared& shared, const resolve_request<Index>& r) {
    if (threadIdx.x != 0) return;
    if (r.rank == 0) *r.clock(p) = r.now;
    auto& counts = p.counts[blockIdx.x % tally_shards];
    const std::int32_t found = shared.found_mapped & 0xFFFF, mapped = shared.found_mapped >> 16, tail = shared.tail_bad & 0xFFFF;
    add(counts.selected, found + shared.from_host);
    add(counts.tail, tail);
    add(counts.history, mapped - tail);
    add(counts.hot, found - mapped);
    add(counts.violations[static_cast<int>(violation::row_out_of_range)], shared.tail_bad >> 16);
    add(counts.violations[static_cast<int>(violation::row_unreachable)], shared.unreachable);
    if (shared.claimed == 0 && shared.from_host == 0) return;
    add(counts.host, shared.from_host);
    add(counts.host_rows, shared.copied);
    add(counts.host_bytes, shared.copied * p.group.n_lanes * p.row_bytes);
}

} // namespace detail

template <hot_index_policy Index, replacement_policy Replacement, bool OneQuery, int Items>
__global__ void __launch_bounds__(resolve_threads, 4) resolve_kernel(const __grid_constant__ resolve_params p) {
    extern __shared__ __align__(128) std::byte dynamic[];
    __shared__ resolve_shared shared;
    __shared__ bring_back_shared for_misses;
    const auto memory = resolve_memory::at(p, dynamic);
    resolve_request<Index> r;
    const auto request = static_cast<std::int32_t>(blockIdx.x >> p.tuning.cluster_shift);
    r.rank = static_cast<std::int32_t>(blockIdx.x) & (p.tuning.cluster - 1);
    r.first_query = OneQuery ? request : p.first_query[request];
    if (!OneQuery) r.n_queries = p.first_query[request + 1] - r.first_query;
    if (!OneQuery && r.n_queries == 0) return;
    row_fetch<Index> fetch(p, shared, memory, r);
    look_up_agent<Index, OneQuery, Items> look_up(p, shared, memory, r, fetch);
    look_up.start();
    r.load_record(p.records + request);
    if (r.slot < 0) return detail::answer_nothing(p, r.first_query, r.n_queries, r.rank);
    if (p.out.k_padded > p.selection.k && r.rank == 0) detail::answer_padding(p, r.first_query, r.n_queries);
    detail::prepare<OneQuery>(p, shared, memory, r);
    const auto missing = look_up.run();
    const bool missed = detail::exchange(p, shared, r.rank, missing) > 0;
    if (missed || !OneQuery) synchronise_cluster(p.tuning); // all marks, claims and zeros are visible
    if (missed) {
        const auto copied = bring_back_agent<Index, Replacement>(p, shared, for_misses, memory, r, missing).run(fetch);
        if (copied) atomicAdd(&shared.copied, copied);
        __syncthreads();
    }
    if (p.out.valid) detail::publish_valid<OneQuery>(p, shared, memory, r, missed);
    detail::publish_counts(p, shared, r);
}

} // namespace dhisparse
