/// What a block of a resolve works with: its shared memory, its place in the cluster, its request.
#pragma once

#include <dhisparse/cache/device_index.cuh>
#include <dhisparse/cache/victims.cuh>
#include <dhisparse/copy/bulk.cuh>
#include <dhisparse/resolve/params.hpp>

#include <cooperative_groups.h>

namespace dhisparse {

/// What each block of a cluster tells the others: eight bytes, sent at once.
struct block_news {
    std::uint16_t missing = 0;  // entries
    std::uint16_t repeated = 0; // 1: some of them met another's claim
    std::uint32_t found = 0;    // entries with a location
};
static_assert(sizeof(block_news) == 8);

/// Static shared memory of a block.
struct resolve_shared {
    std::uint64_t news_barrier;
    block_news news[8];          // [cluster] every block sends its own to all
    std::int32_t leaders[8];     // [cluster] distinct missing rows that first appear in each block, where rows repeat
    std::uint32_t found_mapped;  // entries found (low half), in mapped pages (high half)
    std::uint32_t tail_bad;      // in the tail (low half), out of range (high half)
    std::int32_t missing, repeated; // of this block, as in its news
    std::int32_t claimed;           // distinct missing rows that this block copies
    std::int32_t copied;
    std::int32_t from_host;         // entries brought back
    std::int32_t unreachable;
};

/// One missing entry of a block.
struct missing_entry {
    std::int32_t entry; // of the request: query · k + column
    std::int32_t row;
};

/// A row that a block copies.
struct claimed_row {
    std::int32_t row;
    std::int32_t host; // host page
};

/// Dynamic shared memory.
struct resolve_memory {
    std::byte* slots;          // [copy_slots][copy_slot_bytes]
    std::uint64_t* barriers;   // [copy_slots]
    source_placement* lanes;   // [n_lanes] of the group
    missing_entry* missing;    // [block_entries]
    claimed_row* claimed;      // [block_entries]
    location* hot_bases;       // [hot pages a slot] an entry's location is its page's base + the entry
    std::int32_t* by_query;    // [k_max] locations of each query, where a request has several
    std::uint16_t* victim_of;  // [block_entries] the entry that each leader is given
    std::uint16_t* leader_at;  // [block_entries] a leader's place in `missing`, where rows repeat

    __device__ static resolve_memory at(const resolve_params& p, std::byte* memory) {
        const auto n = p.tuning.block_entries;
        resolve_memory out;
        out.barriers = reinterpret_cast<std::uint64_t*>(memory + slots_bytes(p.tuning));
        out.slots = memory;
        out.lanes = reinterpret_cast<source_placement*>(out.barriers + p.tuning.copy_slots);
        out.missing = reinterpret_cast<missing_entry*>(out.lanes + p.group.n_lanes);
        out.claimed = reinterpret_cast<claimed_row*>(out.missing + n);
        out.hot_bases = reinterpret_cast<location*>(out.claimed + n);
        out.by_query = out.hot_bases + p.hot_pages_per_slot;
        out.victim_of = reinterpret_cast<std::uint16_t*>(out.by_query + p.k_max);
        out.leader_at = out.victim_of + n;
        return out;
    }
    static __host__ __device__ std::int32_t slots_bytes(const resolve_tuning& tuning) { return tuning.copy_slots * tuning.copy_slot_bytes; }
    static std::int64_t bytes(const resolve_tuning& tuning, std::int64_t n_lanes, std::int64_t hot_pages, std::int64_t k_max) {
        return slots_bytes(tuning) + 8 * std::int64_t{tuning.copy_slots} + n_lanes * static_cast<std::int64_t>(sizeof(source_placement)) + tuning.block_entries * (static_cast<std::int64_t>(sizeof(missing_entry) + sizeof(claimed_row)) + 4) + 4 * (hot_pages + k_max);
    }
};

/// Waits for all blocks of the cluster; what they wrote is then visible to it.
__device__ inline void synchronise_cluster(const resolve_tuning& tuning) {
#if DHISPARSE_BULK
    if (tuning.cluster > 1) return cooperative_groups::this_cluster().sync();
#endif
    __syncthreads();
}

/// Waits for all blocks of the cluster, ordering no memory between them.
__device__ inline void meet_cluster(const resolve_tuning& tuning) {
#if DHISPARSE_BULK
    if (tuning.cluster > 1) {
        bulk::arrive_cluster();
        return bulk::wait_cluster();
    }
#endif
    __syncthreads();
}

/// The block of `rank`'s shared object that lies where `mine` lies in this block.
template <class T>
__device__ T* in_block(const resolve_tuning& tuning, T* mine, int rank) {
#if DHISPARSE_BULK
    if (tuning.cluster > 1) return cooperative_groups::this_cluster().map_shared_rank(mine, static_cast<unsigned>(rank));
#endif
    return mine;
}

/// The request that a block serves.
template <class Index>
struct resolve_request {
    std::int32_t slot = -1, rank = 0, first_query = 0, n_queries = 1;
    slot_record record;
    stamp now = 0;
    stamp* used = nullptr;
    device_index<Index> index;

    __device__ void load_record(const slot_record* at) {
        const auto low = reinterpret_cast<const int4*>(at)[0], high = reinterpret_cast<const int4*>(at)[1]; // two loads, not eight
        record.n_pages = low.y;
        record.positions = low.z;
        record.frontier = low.w;
        record.tail_page = high.x;
        slot = high.y;
        record.run_bytes = static_cast<std::int64_t>(std::uint64_t{static_cast<std::uint32_t>(high.w)} << 32 | static_cast<std::uint32_t>(high.z));
    }
    __device__ const std::int32_t* page_map(const resolve_params& p) const { return reinterpret_cast<const std::int32_t*>(p.region + record.run_bytes); }
    __device__ std::int64_t first_entry(const resolve_params& p) const { return std::int64_t{slot} * p.entries_per_slot; }
    __device__ stamp* clock(const resolve_params& p) const { return p.clocks + std::int64_t{slot} * p.n_groups; }
};

__device__ inline void add(std::uint64_t& counter, std::int64_t n) {
    if (n) atomicAdd(reinterpret_cast<unsigned long long*>(&counter), static_cast<unsigned long long>(n));
}

} // namespace dhisparse
