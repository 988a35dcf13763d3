/// What a block of a resolve works with: its shared memory, its place in the cluster, its request.
#pragma once

#include <dhisparse/cache/device_index.cuh>
#include <dhisparse/cache/victims.cuh>
#include <dhisparse/copy/bulk.cuh>
#include <dhisparse/resolve/params.hpp>

namespace dhisparse {

__device__ inline std::int32_t block_threads() { return static_cast<std::int32_t>(blockDim.x); }

/// Static shared memory of a block.
struct resolve_shared {
    stamp now;
    std::int32_t missing, repeated; // of this block: entries; 1 where some of them met another's claim
    std::int32_t claimed;           // distinct missing rows that this block copies
    std::int32_t copied;            // group rows
    std::int32_t from_host;         // entries brought back
    std::int32_t departing;         // 1 where some claimed row comes from a departing page
    block_news news[max_cluster];      // [cluster]
    std::int32_t leaders[max_cluster]; // [cluster]
};

/// One missing entry of a block.
struct missing_entry {
    std::int32_t entry; // of the request: query · k + column
    std::int32_t row;
};

/// A row that a block copies.
struct claimed_row {
    std::int32_t row;
    std::int32_t from; // host page; or departing(gpu page)
};

/// Dynamic shared memory.
struct resolve_memory {
    std::byte* slots;          // [copy_slots][copy_slot_bytes]
    std::uint64_t* barriers;   // [copy_slots]
    source_placement* lanes;   // [n_lanes] of the group
    missing_entry* missing;    // [block_entries]
    claimed_row* claimed;      // [block_entries]
    location* hot_bases;       // [hot pages a slot] an entry's location is its page's base + the entry
    std::int32_t* by_query;    // [k_max] locations of each query that this block counts
    std::uint32_t* marks;      // [mark_words(B)] scratch of the choice
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
        out.marks = reinterpret_cast<std::uint32_t*>(out.by_query + p.k_max);
        out.victim_of = reinterpret_cast<std::uint16_t*>(out.marks + mark_words(p.entries));
        out.leader_at = out.victim_of + n;
        return out;
    }
    static __host__ __device__ std::int32_t slots_bytes(const resolve_tuning& tuning) { return tuning.copy_slots * tuning.copy_slot_bytes; }
    static std::int64_t bytes(const resolve_tuning& tuning, std::int64_t n_lanes, std::int64_t hot_pages, std::int64_t k_max, std::int32_t entries) {
        return slots_bytes(tuning) + 8 * std::int64_t{tuning.copy_slots} + n_lanes * static_cast<std::int64_t>(sizeof(source_placement)) + tuning.block_entries * (static_cast<std::int64_t>(sizeof(missing_entry) + sizeof(claimed_row)) + 4) + 4 * (hot_pages + k_max + mark_words(entries));
    }
};

/// The cluster's barrier in halves. What a block wrote before it arrives is visible to blocks that have
/// waited. A block that has arrived may leave: later phases wait for those that have not left.
__device__ inline void arrive(const resolve_tuning& tuning) {
#if DHISPARSE_BULK
    if (tuning.cluster > 1) bulk::arrive_cluster();
#endif
}
__device__ inline void await(const resolve_tuning& tuning) {
#if DHISPARSE_BULK
    if (tuning.cluster > 1) return bulk::wait_cluster();
#endif
    __syncthreads();
}
__device__ inline void synchronise_cluster(const resolve_tuning& tuning) {
    arrive(tuning);
    await(tuning);
}

/// The request that a block serves.
template <class Index>
struct resolve_request {
    std::int32_t number = 0, slot = -1, rank = 0, first_query = 0, n_queries = 1;
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

    /// Rows [0, that) are visible to a query at a position: equation (5).
    __device__ std::uint32_t visible_rows(const resolve_params& p, std::int32_t position) const {
        return p.positions_per_row.quotient(static_cast<std::uint32_t>(max(0, min(position + 1, record.positions)) + p.unfinished));
    }
};

/// Where the row of a code lies once its resolve has placed it. Staged: codes from B on are staged places, until the
/// promotions are planned. no_location: it was given no place.
template <bool Staged>
__device__ __forceinline__ location location_of_code(const resolve_params& p, const location* hot_bases, std::int32_t slot, hot_code code) {
    if (code < p.entries) return hot_bases[p.rows_per_page.quotient(code)] + code;
    if constexpr (Staged)
        if (code != no_code) return p.staging.at(p.rows_per_page, slot, code - p.entries);
    return no_location;
}

__device__ inline void add(std::uint64_t& counter, std::int64_t n) {
    if (n) atomicAdd(reinterpret_cast<unsigned long long*>(&counter), static_cast<unsigned long long>(n));
}
__device__ inline tally& counts_of_block(const resolve_params& p) { return p.counts[blockIdx.x % tally_shards]; }
__device__ inline void count_violation(const resolve_params& p, violation what) { add(counts_of_block(p).violations[static_cast<int>(what)], 1); }

} // namespace dhisparse
