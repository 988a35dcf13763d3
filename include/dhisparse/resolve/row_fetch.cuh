/// The bytes of missing rows. A row's copy starts where it is first claimed, long before its place is
/// known, and is finished by the same block once the hot index has it.
#pragma once

#include <dhisparse/copy/row_copy.cuh>
#include <dhisparse/resolve/block_state.cuh>

namespace dhisparse {

/// Copies the claimed rows of departing pages to their places, a warp a row. Out of line, as it is rare.
template <class Index, bool Staged>
__device__ __noinline__ void move_departing(const resolve_params& p, const resolve_shared& shared, std::byte* dynamic, device_index<Index> index, std::int32_t slot) {
    const auto m = resolve_memory::at(p, dynamic);
#pragma unroll 1
    for (auto i = static_cast<std::int32_t>(threadIdx.x / 32); i < shared.claimed; i += block_threads() / 32) {
        const auto [row, from] = m.claimed[i];
        if (!is_departing(from)) continue;
        const auto code = index.find(row);
        if (Staged ? code == no_code : code >= p.entries) continue; // it has no place
        const auto in_page = p.rows_per_page.remainder(static_cast<std::uint32_t>(row), p.rows_per_page.quotient(static_cast<std::uint32_t>(row)));
        move_group_row_warp(p.tiers, p.group, p.group.at(departing_page(from), in_page), location_of_code<Staged>(p, m.hot_bases, slot, code));
    }
}

/// Staged: rows may be given staged places.
template <class Index, bool Staged = false>
class row_fetch {
public:
    __device__ row_fetch(const resolve_params& p, resolve_shared& shared, const resolve_memory& memory, const device_index<Index>& index, std::int32_t slot = -1)
        : p_(p), shared_(shared), m_(memory), index_(index), slot_(slot) {}

    /// By the thread that has claimed the row. The order in which a block's threads come decides which
    /// slot of shared memory a row passes through, and nothing else.
    __device__ void start(std::int32_t row, std::int32_t from) {
        const auto i = atomicAdd(&shared_.claimed, 1);
        m_.claimed[i] = {row, from};
        if (is_departing(from)) atomicExch(&shared_.departing, 1);
#if DHISPARSE_BULK
        if (parts() > 1 || i >= p_.tuning.copy_slots) return;
        bulk::init(&m_.barriers[i]);
        if (is_departing(from)) return;
        bulk::load(slot(i), host_row(m_.claimed[i]), static_cast<std::uint32_t>(p_.group.host_row_bytes), &m_.barriers[i]);
#endif
    }

    /// Lanes' placements into shared memory: scattering reads them row by row. By all threads, before finish().
    __device__ void copy_lanes() const {
        constexpr auto words = static_cast<std::int32_t>(sizeof(source_placement) / 8);
        const auto* from = reinterpret_cast<const std::uint64_t*>(p_.tiers.lanes + p_.group.first_lane);
#pragma unroll 1
        for (auto i = static_cast<std::int32_t>(threadIdx.x); i < p_.group.n_lanes * words; i += block_threads()) reinterpret_cast<std::uint64_t*>(m_.lanes)[i] = from[i];
    }

    /// Once the claimed rows are in the index (those that got no place are not). By all threads; returns
    /// how many rows this thread has seen copied from the host.
    __device__ std::int32_t finish() {
        if (shared_.departing) move_departing<Index, Staged>(p_, shared_, m_.slots, index_, slot_);
#if DHISPARSE_BULK
        return static_cast<std::int32_t>(threadIdx.x) < p_.tuning.copy_slots ? finish_slot(static_cast<std::int32_t>(threadIdx.x)) : 0;
#else
        std::int32_t copied = 0;
        for (auto i = static_cast<std::int32_t>(threadIdx.x / 32); i < shared_.claimed; i += block_threads() / 32) {
            const auto code = index_.find(m_.claimed[i].row);
            if (!has_place(code) || is_departing(m_.claimed[i].from)) continue;
            copy_group_row_warp(p_.tiers, p_.group, location_of(code), host_row(m_.claimed[i]), direction::to_gpu);
            copied += threadIdx.x % 32 == 0;
        }
        return copied;
#endif
    }

private:
    __device__ std::byte* host_row(const claimed_row& at) const {
        const auto page = p_.rows_per_page.quotient(static_cast<std::uint32_t>(at.row));
        return p_.tiers.host + p_.group.host_offset(host_page{at.from}, p_.tiers.host_page_bytes, p_.rows_per_page.remainder(static_cast<std::uint32_t>(at.row), page));
    }
    __device__ bool has_place(hot_code code) const { return Staged ? code != no_code : code < p_.entries; }
    __device__ location location_of(hot_code code) const { return location_of_code<Staged>(p_, m_.hot_bases, slot_, code); }
    __device__ std::int32_t parts() const { return p_.tuning.parts; }

#if DHISPARSE_BULK
    __device__ std::byte* slot(std::int32_t i) const { return m_.slots + i * p_.tuning.copy_slot_bytes; }

    /// One thread a slot. Piece u is part u mod parts of row u / parts.
    __device__ std::int32_t finish_slot(std::int32_t s) {
        const auto pieces = shared_.claimed * parts();
        std::uint32_t parity = 0;
        std::int32_t copied = 0;
        if (parts() > 1 && s < pieces) bulk::init(&m_.barriers[s]);
#pragma unroll 1
        for (auto u = s; u < pieces; u += p_.tuning.copy_slots) {
            const auto i = parts() == 1 ? u : u / parts();
            if (is_departing(m_.claimed[i].from)) continue;
            const auto begin = parts() == 1 ? 0 : std::int64_t{u - i * parts()} * p_.tuning.copy_slot_bytes;
            const auto end = min(begin + p_.tuning.copy_slot_bytes, p_.group.host_row_bytes);
            const bool started = parts() == 1 && u == s;
            if (!started) bulk::load(slot(s), host_row(m_.claimed[i]) + begin, static_cast<std::uint32_t>(end - begin), &m_.barriers[s]);
            const auto code = index_.find(m_.claimed[i].row);
            bulk::wait(&m_.barriers[s], parity);
            parity ^= 1;
            if (!has_place(code)) continue;
            scatter(slot(s), location_of(code), begin, end);
            bulk::wait_stores_read();
            copied += begin == 0;
        }
        return copied; // stores still on their way are done when the kernel is
    }

    __device__ void scatter(const std::byte* from, location to, std::int64_t begin, std::int64_t end) const {
        for_runs(p_.tiers.slab, m_.lanes, p_.group, to, begin, end, [&](std::byte* slab, std::int64_t offset, std::int64_t bytes) {
            const auto* piece = from + (offset - begin);
            if (vector_fit(slab, piece, bytes)) bulk::store(slab, piece, static_cast<std::uint32_t>(bytes));
            else copy_bytes(slab, piece, bytes, 0, 1);
        });
        bulk::commit_stores();
    }
#endif

    const resolve_params& p_;
    resolve_shared& shared_;
    const resolve_memory m_;
    const device_index<Index> index_;
    const std::int32_t slot_; // of the request; Staged alone
};

/// Notes an entry's row as missing and starts its copy, unless another entry has: the one with the lowest
/// number keeps the claim. False where the row has no copy on the host. Out of line, so that the path
/// without misses keeps everything in registers.
template <class Index>
__device__ __noinline__ bool note_missing(const resolve_params& p, resolve_shared& shared, std::byte* dynamic, device_index<Index> index, std::int32_t from, std::int32_t row, std::int32_t entry) {
    if (from == -1) return count_violation(p, violation::row_unreachable), false;
    if (index.claim(row, static_cast<hot_code>(p.entries + entry)) != no_code) atomicExch(&shared.repeated, 1);
    else row_fetch<Index>(p, shared, resolve_memory::at(p, dynamic), index).start(row, from);
    return true;
}

} // namespace dhisparse
