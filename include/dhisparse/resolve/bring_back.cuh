/// The path with misses: each distinct row is given an entry, in order of first appearance.
#pragma once

#include <dhisparse/resolve/row_fetch.cuh>

namespace dhisparse {

/// Shared memory of a block that has misses to deal with.
struct bring_back_shared {
    victims_shared victims;
    std::int32_t warp_counts[32 * resolve_threads / 32]; // [iteration][warp]
};

template <class Index, replacement_policy Replacement>
class bring_back_agent {
public:
    __device__ bring_back_agent(const resolve_params& p, resolve_shared& shared, bring_back_shared& mine, const resolve_memory& memory,
                                const resolve_request<Index>& request, std::uint32_t missing_bits)
        : p_(p), shared_(shared), mine_(mine), m_(memory), r_(request), missing_bits_(missing_bits), thread_(static_cast<std::int32_t>(threadIdx.x)) {}

    /// Returns how many rows this thread has seen copied.
    __device__ std::int32_t run(row_fetch<Index>& fetch) {
        fetch.copy_lanes();
        n_leaders_ = n_missing_ = list_missing();
        std::int32_t all = 0;
#pragma unroll 1
        for (std::int32_t b = 0; b < p_.tuning.cluster; ++b) repeated_ |= shared_.news[b].repeated != 0;
        if (repeated_) agree_on_leaders();
#pragma unroll 1
        for (std::int32_t b = 0; b < p_.tuning.cluster; ++b) {
            const auto n = repeated_ ? shared_.leaders[b] : shared_.news[b].missing;
            all += n;
            if (b < r_.rank) first_rank_ += n;
        }
        const auto entry = r_.first_entry(p_);
        given_ = victim_choice<Replacement>(mine_.victims, r_.used, p_.entered + entry, p_.entries, r_.now)
                     .choose(min(all, p_.entries), first_rank_, n_leaders_, m_.victim_of);
        meet_cluster(p_.tuning); // all blocks have chosen: the stamps may change
        place();
        if (repeated_) synchronise_cluster(p_.tuning); // a row may have been placed by another block than the one that copies it
        else __syncthreads();
        if (repeated_) follow_leaders();
        const auto copied = fetch.finish();
        __syncthreads();
        return copied;
    }

private:
    // ---- who is missing, in order of first appearance
    __device__ std::int32_t entry_of(std::int32_t it) const { return r_.rank * p_.tuning.block_entries + it * resolve_threads + thread_; }
    __device__ location& answer(std::int32_t e) const {
        const auto q = p_.k.quotient(static_cast<std::uint32_t>(e));
        return p_.out.at[(r_.first_query + static_cast<std::int32_t>(q)) * p_.out.stride + p_.k.remainder(static_cast<std::uint32_t>(e), q)];
    }
    __device__ std::int32_t row_of(std::int32_t e) const {
        const auto q = p_.k.quotient(static_cast<std::uint32_t>(e));
        return p_.selection.rows[(r_.first_query + static_cast<std::int32_t>(q)) * p_.selection.stride + p_.k.remainder(static_cast<std::uint32_t>(e), q)];
    }

    /// Calls f(iteration, place) for each marked one of the thread's iterations, places counted iteration
    /// by iteration, then thread by thread; returns how many are marked in the block.
    template <class F>
    __device__ std::int32_t compact(std::uint32_t bits, std::int32_t iterations, F f) {
        const auto warp = thread_ / 32, lane = thread_ % 32;
        constexpr auto warps = resolve_threads / 32;
#pragma unroll 1
        for (std::int32_t it = 0; it < iterations; ++it) {
            const auto ballot = __ballot_sync(0xFFFFFFFF, bits >> it & 1);
            if (lane == 0) mine_.warp_counts[it * warps + warp] = __popc(ballot);
        }
        __syncthreads();
        if (thread_ < 32) sum_counts(iterations * warps);
        __syncthreads();
#pragma unroll 1
        for (std::int32_t it = 0; it < iterations; ++it) {
            const auto ballot = __ballot_sync(0xFFFFFFFF, bits >> it & 1);
            if (bits >> it & 1) f(it, mine_.warp_counts[it * warps + warp] + __popc(ballot & ((1u << lane) - 1)));
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
    __device__ static std::int32_t iterations_of(std::int32_t n) { return (n + resolve_threads - 1) / resolve_threads; }

    __device__ std::int32_t list_missing() {
        return compact(missing_bits_, iterations_of(p_.tuning.block_entries), [&](std::int32_t it, std::int32_t at) { m_.missing[at] = {entry_of(it), row_of(entry_of(it))}; });
    }

    /// A row's first appearance is the entry whose claim stood; blocks tell each other how many they have.
    __device__ void agree_on_leaders() {
        std::uint32_t bits = 0;
#pragma unroll 1
        for (std::int32_t it = 0; it < iterations_of(n_missing_); ++it) {
            const auto i = it * resolve_threads + thread_;
            const bool leads = i < n_missing_ && r_.index.find(m_.missing[i].row) == p_.entries + m_.missing[i].entry;
            bits |= static_cast<std::uint32_t>(leads) << it;
        }
        n_leaders_ = compact(bits, iterations_of(n_missing_), [&](std::int32_t it, std::int32_t at) { m_.leader_at[at] = static_cast<std::uint16_t>(it * resolve_threads + thread_); });
        if (thread_ < p_.tuning.cluster) in_block(p_.tuning, &shared_, thread_)->leaders[r_.rank] = n_leaders_;
        synchronise_cluster(p_.tuning);
    }
    __device__ const missing_entry& leader(std::int32_t i) const { return m_.missing[repeated_ ? m_.leader_at[i] : i]; }

    // ---- the maps
    __device__ location hot_location(std::int32_t entry) const { return m_.hot_bases[p_.rows_per_page.quotient(static_cast<std::uint32_t>(entry))] + entry; }

    /// Gives each leader its entry.
    __device__ void place() {
        auto* rows = p_.rows + r_.first_entry(p_);
        auto* entered = p_.entered + r_.first_entry(p_);
#pragma unroll 1
        for (auto i = thread_; i < n_leaders_; i += resolve_threads) {
            const auto at = leader(i);
            if (first_rank_ + i >= given_) {
                r_.index.erase(at.row);
                add(p_.counts->violations[static_cast<int>(violation::selection_too_wide)], 1);
                continue;
            }
            const auto entry = static_cast<std::int32_t>(m_.victim_of[i]);
            if (rows[entry] >= 0) r_.index.erase(rows[entry]);
            rows[entry] = at.row;
            r_.used[entry] = entered[entry] = r_.now;
            r_.index.set(at.row, static_cast<hot_code>(entry));
            found(at.entry, entry);
        }
    }
    __device__ void found(std::int32_t e, std::int32_t entry) {
        answer(e) = hot_location(entry);
        atomicAdd(&m_.by_query[p_.k.quotient(static_cast<std::uint32_t>(e))], 1);
        atomicAdd(&shared_.from_host, 1);
    }

    /// Repeats of a missing row take the place that its first appearance was given.
    __device__ void follow_leaders() {
#pragma unroll 1
        for (auto i = thread_; i < n_leaders_; i += resolve_threads) m_.missing[m_.leader_at[i]].row = -1;
        __syncthreads();
#pragma unroll 1
        for (auto i = thread_; i < n_missing_; i += resolve_threads) {
            if (m_.missing[i].row < 0) continue;
            const auto code = r_.index.find(m_.missing[i].row);
            if (code < p_.entries) found(m_.missing[i].entry, code);
        }
    }

    const resolve_params& p_;
    resolve_shared& shared_;
    bring_back_shared& mine_;
    const resolve_memory& m_;
    const resolve_request<Index>& r_;
    const std::uint32_t missing_bits_;
    const std::int32_t thread_;
    std::int32_t n_missing_ = 0, n_leaders_ = 0, first_rank_ = 0, given_ = 0;
    bool repeated_ = false; // some row is missing in more than one entry
};

} // namespace dhisparse
