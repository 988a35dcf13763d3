/// The path with misses: each distinct row is given an entry or, where those run out, a staged place, in order of first appearance.
#pragma once

#include <dhisparse/resolve/row_fetch.cuh>

namespace dhisparse {

/// Shared memory of a block that has misses to deal with.
struct bring_back_shared {
    victims_shared victims;
    std::int32_t warp_counts[32 * resolve_max_threads / 32]; // [round][warp]
};

/// Staged: rows beyond the entries that may give way go to staged places.
template <class Index, replacement_policy Replacement, bool Staged>
class bring_back_agent {
public:
    /// missing: bits of the thread's entries; items: of them that neighbour one another.
    __device__ bring_back_agent(const resolve_params& p, resolve_shared& shared, bring_back_shared& mine, const resolve_memory& memory,
                                const resolve_request<Index>& request, std::uint32_t missing, std::int32_t items)
        : p_(p), shared_(shared), mine_(mine), m_(memory), r_(request), missing_bits_(missing), items_(items), thread_(static_cast<std::int32_t>(threadIdx.x)) {}

    /// Leaves the block's news for the others of its request; arrive() follows.
    __device__ void tell() {
        const auto n = __reduce_add_sync(0xFFFFFFFF, static_cast<unsigned>(__popc(missing_bits_)));
        if (thread_ % 32 == 0 && n) atomicAdd(&shared_.missing, static_cast<std::int32_t>(n));
        __syncthreads();
        if (thread_ == 0) p_.news[r_.number * max_cluster + r_.rank] = {shared_.missing, shared_.repeated};
    }

    /// Behind arrive(). lost: bits of the thread's entries that can't be had.
    __device__ void run(std::uint32_t lost) {
        row_fetch<Index, Staged> fetch(p_, shared_, m_, r_.index, r_.slot);
        fetch.copy_lanes();
        n_leaders_ = n_missing_ = list_missing();
        await(p_.tuning); // all blocks' marks, claims, counts and news are visible
        for (; lost; lost &= lost - 1) not_valid(entry_of(__ffs(static_cast<int>(lost)) - 1));
        hear();
        if (repeated_) agree_on_leaders();
        std::int32_t all = 0;
#pragma unroll 1
        for (std::int32_t b = 0; b < p_.tuning.cluster; ++b) {
            const auto n = repeated_ ? shared_.leaders[b] : shared_.news[b].missing;
            all += n;
            if (b < r_.rank) first_rank_ += n;
        }
        const auto entry = r_.first_entry(p_);
        given_ = victim_choice<Replacement>(mine_.victims, m_.marks, r_.used, p_.entered + entry, p_.entries, r_.now)
                     .choose(min(all, p_.entries), first_rank_, n_leaders_, m_.victim_of);
        if constexpr (Staged) tell_staged(all);
        synchronise_cluster(p_.tuning); // all blocks have chosen: the stamps may change
        place();
        if (repeated_) synchronise_cluster(p_.tuning); // a row may have been placed by another block than the one that copies it
        else __syncthreads();
        if (repeated_) follow_leaders();
        const auto copied = __reduce_add_sync(0xFFFFFFFF, static_cast<unsigned>(fetch.finish()));
        if (thread_ % 32 == 0 && copied) atomicAdd(&shared_.copied, static_cast<std::int32_t>(copied));
        __syncthreads();
        if (thread_ == 0) publish_counts();
    }

private:
    // ---- who is missing, in order of first appearance
    __device__ std::int32_t entry_of(std::int32_t bit) const {
        return r_.rank * p_.tuning.block_entries + (bit / items_ * block_threads() + thread_) * items_ + bit % items_;
    }
    __device__ std::int32_t query_of(std::int32_t e) const { return static_cast<std::int32_t>(p_.k.quotient(static_cast<std::uint32_t>(e))); }
    __device__ location& answer(std::int32_t e) const {
        const auto q = query_of(e);
        return p_.out.at[(r_.first_query + q) * p_.out.stride + e - q * p_.selection.k];
    }
    __device__ std::int32_t row_of(std::int32_t e) const {
        const auto q = query_of(e);
        return p_.selection.rows[(r_.first_query + q) * p_.selection.stride + e - q * p_.selection.k];
    }

    /// Calls f(bit, place) for each set one of the thread's bits, places counted by groups of `width` bits, then
    /// thread by thread; returns how many are set in the block.
    template <class F>
    __device__ std::int32_t compact(std::uint32_t bits, std::int32_t width, std::int32_t n_bits, F f) {
        const auto warp = thread_ / 32, lane = thread_ % 32;
        const auto warps = block_threads() / 32;
        const auto mask = (2u << (width - 1)) - 1;
        const auto rounds = (n_bits + width - 1) / width;
#pragma unroll 1
        for (std::int32_t i = 0; i < rounds; ++i) {
            const auto n = __reduce_add_sync(0xFFFFFFFF, static_cast<unsigned>(__popc(bits >> i * width & mask)));
            if (lane == 0) mine_.warp_counts[i * warps + warp] = static_cast<std::int32_t>(n);
        }
        __syncthreads();
        if (thread_ < 32) sum_counts(rounds * warps);
        __syncthreads();
#pragma unroll 1
        for (std::int32_t i = 0; i < rounds; ++i) {
            auto some = bits >> i * width & mask;
            const auto n = static_cast<std::uint32_t>(__popc(some));
            if (!__any_sync(0xFFFFFFFF, some != 0)) continue;
            auto at = mine_.warp_counts[i * warps + warp] + static_cast<std::int32_t>(warp_inclusive_sum(n) - n);
            for (; some; some &= some - 1) f(i * width + __ffs(static_cast<int>(some)) - 1, at++);
        }
        __syncthreads();
        return mine_.victims.total;
    }
    __device__ void sum_counts(std::int32_t n) {
        std::int32_t carry = 0;
#pragma unroll 1
        for (std::int32_t base = 0; base < n; base += 32) {
            const auto i = base + thread_;
            const auto x = i < n ? mine_.warp_counts[i] : 0;
            const auto inclusive = static_cast<std::int32_t>(warp_inclusive_sum(static_cast<std::uint32_t>(x)));
            if (i < n) mine_.warp_counts[i] = carry + inclusive - x;
            carry += __shfl_sync(0xFFFFFFFF, inclusive, 31);
        }
        if (thread_ == 0) mine_.victims.total = carry;
    }
    __device__ static std::int32_t rounds_of(std::int32_t n) { return (n + block_threads() - 1) / block_threads(); }

    __device__ std::int32_t list_missing() {
        return compact(missing_bits_, items_, rounds_of(p_.tuning.block_entries), [&](std::int32_t bit, std::int32_t at) { m_.missing[at] = {entry_of(bit), row_of(entry_of(bit))}; });
    }

    /// What the blocks of the request have told.
    __device__ void hear() {
        if (thread_ < p_.tuning.cluster) {
            const auto news = __ldcg(reinterpret_cast<const int2*>(p_.news) + r_.number * max_cluster + thread_);
            shared_.news[thread_] = {news.x, news.y};
        }
        __syncthreads();
#pragma unroll 1
        for (std::int32_t b = 0; b < p_.tuning.cluster; ++b) repeated_ |= shared_.news[b].repeated != 0;
    }

    /// A row's first appearance is the entry whose claim stood; blocks tell each other how many they have.
    __device__ void agree_on_leaders() {
        std::uint32_t bits = 0;
#pragma unroll 1
        for (std::int32_t it = 0; it < rounds_of(n_missing_); ++it) {
            const auto i = it * block_threads() + thread_;
            const bool leads = i < n_missing_ && r_.index.find(m_.missing[i].row) == p_.entries + m_.missing[i].entry;
            bits |= static_cast<std::uint32_t>(leads) << it;
        }
        n_leaders_ = compact(bits, 1, rounds_of(n_missing_), [&](std::int32_t it, std::int32_t at) { m_.leader_at[at] = static_cast<std::uint16_t>(it * block_threads() + thread_); });
        auto* leaders = p_.leaders + r_.number * max_cluster;
        if (thread_ == 0) leaders[r_.rank] = n_leaders_;
        synchronise_cluster(p_.tuning);
        if (thread_ < p_.tuning.cluster) shared_.leaders[thread_] = shared_.news[thread_].missing ? __ldcg(leaders + thread_) : 0; // the others have left
        __syncthreads();
    }
    __device__ const missing_entry& leader(std::int32_t i) const { return m_.missing[repeated_ ? m_.leader_at[i] : i]; }

    // ---- the maps
    __device__ location hot_location(std::int32_t entry) const { return m_.hot_bases[p_.rows_per_page.quotient(static_cast<std::uint32_t>(entry))] + entry; }

    /// Leaves how many rows the request stages: by the block that has the last of them.
    __device__ void tell_staged(std::int32_t all) const {
        const auto n = min(all - given_, p_.staging.rows_per_slot);
        if (n <= 0 || n_leaders_ == 0 || first_rank_ + n_leaders_ != all || thread_ != 0) return;
        p_.staged[r_.slot] = {p_.group_number, n, 0};
        add(counts_of_block(p_).staged_rows, n);
    }
    /// Gives a leader the i-th staged place. Its code names it until the promotions are planned: to other entries of the
    /// row, to the block that copies it, and to the plan.
    __device__ void stage(const missing_entry& at, std::int32_t i) {
        p_.staged_rows[std::int64_t{r_.slot} * p_.staged_stride + i] = at.row;
        r_.index.set(at.row, static_cast<hot_code>(p_.entries + i));
        found(at.entry, p_.staging.at(p_.rows_per_page, r_.slot, i));
    }

    /// Gives each leader its entry.
    __device__ void place() {
        auto* rows = p_.rows + r_.first_entry(p_);
        auto* entered = p_.entered + r_.first_entry(p_);
#pragma unroll 1
        for (auto i = thread_; i < n_leaders_; i += block_threads()) {
            const auto at = leader(i);
            if (first_rank_ + i >= given_) {
                if constexpr (Staged)
                    if (const auto s = first_rank_ + i - given_; s < p_.staging.rows_per_slot) {
                        stage(at, s);
                        continue;
                    }
                r_.index.erase(at.row);
                count_violation(p_, violation::selection_too_wide);
                not_valid(at.entry);
                continue;
            }
            const auto entry = static_cast<std::int32_t>(m_.victim_of[i]);
            const auto had = rows[entry];
            if (had >= 0) r_.index.erase(had);
            rows[entry] = at.row;
            r_.used[entry] = entered[entry] = r_.now;
            r_.index.set(at.row, static_cast<hot_code>(entry));
            found(at.entry, hot_location(entry));
        }
    }
    __device__ void found(std::int32_t e, location at) {
        answer(e) = at;
        atomicAdd(&shared_.from_host, 1);
    }
    /// An entry that was visible and gets no location: behind the stores of its query's valid count.
    __device__ void not_valid(std::int32_t e) const {
        if (p_.out.valid) atomicSub(&p_.out.valid[r_.first_query + query_of(e)], 1);
    }

    /// Repeats of a missing row take the place that its first appearance was given.
    __device__ void follow_leaders() {
#pragma unroll 1
        for (auto i = thread_; i < n_leaders_; i += block_threads()) m_.missing[m_.leader_at[i]].row = -1;
        __syncthreads();
#pragma unroll 1
        for (auto i = thread_; i < n_missing_; i += block_threads()) {
            if (m_.missing[i].row < 0) continue;
            const auto code = r_.index.find(m_.missing[i].row);
            if (const auto at = location_of_code<Staged>(p_, m_.hot_bases, r_.slot, code); at != no_location) found(m_.missing[i].entry, at);
            else not_valid(m_.missing[i].entry);
        }
    }

    __device__ void publish_counts() const {
        auto& counts = counts_of_block(p_);
        add(counts.host, shared_.from_host);
        add(counts.host_rows, shared_.copied);
        add(counts.host_bytes, shared_.copied * p_.group.n_lanes * p_.row_bytes);
    }

    const resolve_params& p_;
    resolve_shared& shared_;
    bring_back_shared& mine_;
    const resolve_memory& m_;
    const resolve_request<Index>& r_;
    const std::uint32_t missing_bits_;
    const std::int32_t items_, thread_;
    std::int32_t n_missing_ = 0, n_leaders_ = 0, first_rank_ = 0, given_ = 0;
    bool repeated_ = false; // some row is missing in more than one entry
};

} // namespace dhisparse
