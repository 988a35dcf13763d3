/// Which staged rows take which hot entries, on the device: the same choice as choose_promotions, by a block a request. It
/// runs behind a resolve of a group that stages rows, and ends at once where that has staged none.
#pragma once

#include <dhisparse/cache/device_index.cuh>
#include <dhisparse/round/plan_params.hpp>

#include <cub/block/block_scan.cuh>

namespace dhisparse {

inline constexpr int plan_threads = 1024;

namespace detail {
using plan_scan = cub::BlockScan<std::int32_t, plan_threads>;

struct plan_shared {
    typename plan_scan::TempStorage scan;
    std::uint32_t most; // worth
};
} // namespace detail

/// Codes: [0, B) are hot entries, [B, B + n) the staged places, as the resolve has left them in the hot index.
template <class Index, promotion_policy Promotion>
class plan_agent {
public:
    __device__ plan_agent(const plan_params& p, detail::plan_shared& shared, std::int32_t r, std::int32_t slot, std::int32_t n_staged)
        : p_(p), shared_(shared), r_(r), slot_(slot), thread_(static_cast<std::int32_t>(threadIdx.x)), n_hot_(p.step.groups[p.group].entries), n_staged_(n_staged),
          index_{Index::at(p.step.tables.hot_index(slot, p.step.groups[p.group]), p.step.groups[p.group].codes)},
          worth_(p.uses + 2 * r * p.uses_stride), first_(worth_ + p.uses_stride), staged_rows_(p.staged_rows + std::int64_t{slot} * p.step.staging.rows_per_slot) {}

    __device__ void run() {
        clear();
        __syncthreads();
        note_uses();
        __syncthreads();
        weigh();
        forget_places();
        __syncthreads();
        choose();
    }

private:
    __device__ void clear() {
        for (auto i = thread_; i < n_hot_ + n_staged_; i += plan_threads) {
            __stcg(worth_ + i, 0u);
            __stcg(first_ + i, 0xFFFFFFFFu);
        }
        if (thread_ == 0) shared_.most = 0;
    }

    /// Counts entries by the code of their row; for now worth_ is how many there are.
    __device__ void note_uses() const {
        const auto& group = p_.step.tiers.groups[p_.group];
        const auto first = p_.round.first_query[r_], k = p_.selection.k, positions = p_.step.tables.records[slot_].positions;
        const auto entries = (p_.round.first_query[r_ + 1] - first) * k;
        for (auto e = thread_; e < entries; e += plan_threads) {
            const auto q = e / k;
            const auto row = p_.selection.rows[(first + q) * p_.selection.stride + (e - q * k)];
            const auto limit = group.visible_rows(min(p_.round.query_positions[first + q] + 1, positions));
            if (static_cast<std::uint32_t>(row) >= static_cast<std::uint32_t>(limit)) continue;
            const std::int32_t code = index_.find(row);
            if (code >= n_hot_ + n_staged_) continue; // in a mapped page, or unreachable
            atomicAdd(worth_ + code, 1u);
            atomicMin(first_ + code, static_cast<std::uint32_t>(q));
        }
    }
    __device__ void weigh() {
        std::uint32_t most = 0;
        for (auto i = thread_; i < n_hot_ + n_staged_; i += plan_threads) {
            const auto n = __ldcg(worth_ + i);
            const auto worth = Promotion::worth({n, n ? __ldcg(first_ + i) : 0}, static_cast<std::uint32_t>(p_.step.k_max));
            __stcg(worth_ + i, worth);
            most = max(most, worth);
        }
        most = __reduce_max_sync(0xFFFFFFFF, most);
        if (thread_ % 32 == 0) atomicMax(&shared_.most, most);
    }
    /// Staged rows are not in the hot index when a resolve is over.
    __device__ void forget_places() const {
        for (auto i = thread_; i < n_staged_; i += plan_threads) index_.erase(staged_rows_[i]);
    }

    /// The block's sum of x; before: of the threads before this one. By all threads.
    __device__ std::int32_t sum(std::int32_t x, std::int32_t& before) {
        std::int32_t all = 0;
        detail::plan_scan(shared_.scan).ExclusiveSum(x, before, all);
        __syncthreads();
        return all;
    }
    /// How many of codes [from, to) f(worth) holds for, in the thread's part.
    template <class F>
    __device__ std::int32_t count(std::int32_t from, std::int32_t to, F f) const {
        std::int32_t n = 0;
        for (auto i = from + thread_; i < to; i += plan_threads) n += f(__ldcg(worth_ + i)) ? 1 : 0;
        return n;
    }
    template <class F>
    __device__ std::int32_t count_hot(F f) const { return count(0, n_hot_, f); }
    template <class F>
    __device__ std::int32_t count_staged(F f) const { return count(n_hot_, n_hot_ + n_staged_, f); }

    /// The n-th best staged row is worth more than the n-th worst hot one just where some w lies between them: n =
    /// max over w of min(staged rows above w, hot rows up to w). The former falls with w and the latter rises: they cross
    /// at the least w that has no fewer hot rows than staged ones, and all of either side that ties at w is its last.
    __device__ void choose() {
        std::uint32_t w = 0, last = shared_.most;
        std::int32_t before = 0;
        while (w < last) {
            const auto mid = w + (last - w) / 2;
            const auto more_hot = count_hot([&](std::uint32_t x) { return x <= mid; }) - count_staged([&](std::uint32_t x) { return x > mid; });
            if (sum(more_hot, before) >= 0) last = mid;
            else w = mid + 1;
        }
        const auto better = sum(count_staged([&](std::uint32_t x) { return x > w; }), before);
        const auto worse = sum(count_hot([&](std::uint32_t x) { return x < w; }), before);
        const auto hot_ties = sum(count_hot([&](std::uint32_t x) { return x == w; }), before);
        const auto n = max(better, worse);
        auto* out = p_.step.staging.of(slot_);
        if (n > 0) {
            list(n_hot_, n_staged_, [&](std::uint32_t x) { return x > w; }, w, [&](std::int32_t ties) { return min(ties, n - better); }, // the first of those that tie
                 [&](std::int32_t at, std::int32_t i) { out[at].staged = i, out[at].row = staged_rows_[i]; });
            list(0, n_hot_, [&](std::uint32_t x) { return x < w; }, w, [&](std::int32_t ties) { return max(0, ties - (hot_ties - (n - worse))); }, // the last
                 [&](std::int32_t at, std::int32_t i) { out[at].entry = i; });
        }
        if (thread_ == 0) p_.step.staging.slots[slot_].n_promotions = n;
    }

    /// Calls f(place, i) for those of [0, n) that are surely chosen and, of those worth w, as many as taken(how many
    /// there are up to a point) tells, in ascending order. first: the code of 0.
    template <class Surely, class Taken, class F>
    __device__ void list(std::int32_t first, std::int32_t n, Surely surely, std::uint32_t w, Taken taken, F f) {
        std::int32_t sure = 0, ties = 0;
        for (std::int32_t base = 0; base < n; base += plan_threads) {
            const auto i = base + thread_;
            const auto worth = i < n ? __ldcg(worth_ + first + i) : 0;
            const bool is_sure = i < n && surely(worth), is_tie = i < n && worth == w;
            std::int32_t before = 0;
            const auto all = sum((is_sure ? 1 : 0) + (is_tie ? 1 << 16 : 0), before); // two sums in one
            const auto sure_before = sure + (before & 0xFFFF), ties_before = ties + (before >> 16);
            if (is_sure || (is_tie && taken(ties_before + 1) > taken(ties_before))) f(sure_before + taken(ties_before), i);
            sure += all & 0xFFFF;
            ties += all >> 16;
        }
    }

    const plan_params& p_;
    detail::plan_shared& shared_;
    const std::int32_t r_, slot_, thread_, n_hot_, n_staged_;
    const device_index<Index> index_;
    std::uint32_t* const worth_; // [B + n] by code
    std::uint32_t* const first_; // [B + n] first query
    const std::int32_t* const staged_rows_;
};

template <class Index, promotion_policy Promotion>
__global__ void __launch_bounds__(plan_threads) plan_kernel(const __grid_constant__ plan_params p) {
    __shared__ detail::plan_shared shared;
    const auto r = static_cast<std::int32_t>(blockIdx.x);
    const auto slot = p.round.slots[r];
    if (slot < 0) return;
    const auto n = p.step.staging.slots[slot].n_rows;
    if (n > 0) plan_agent<Index, Promotion>(p, shared, r, slot, n).run();
}

} // namespace dhisparse
