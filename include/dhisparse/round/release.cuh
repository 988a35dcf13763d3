/// The end of a resolve's locations on the device: round/release.hpp as one kernel, a block a request.
#pragma once

#include <dhisparse/cache/device_index.cuh>
#include <dhisparse/copy/row_copy.cuh>
#include <dhisparse/resolve/params.hpp>

namespace dhisparse {

inline constexpr int release_threads = 512;

struct release_params {
    step_ref step;
    const std::int32_t* slots = nullptr; // [n_requests]
};

namespace detail {

/// Promoted rows were in no entry, and those that give way were: no two threads write the same.
template <class Index>
__device__ void promote_on_device(const step_ref& step, std::int32_t slot, const staged_slot& staged) {
    const auto& group = step.tiers.groups[staged.group];
    const auto& parts = step.groups[staged.group];
    const device_index<Index> index{Index::at(step.tables.hot_index(slot, parts), parts.codes)};
    const auto now = step.tables.clocks[std::int64_t{slot} * step.tables.n_groups + staged.group] / device_clock_step;
    const auto* hot_pages = step.tables.hot_pages + std::int64_t{slot} * step.tables.hot_pages_per_slot;
    auto *used = step.tables.used(slot, parts), *entered = step.tables.entered(slot, parts);
    auto* rows = step.tables.rows(slot, parts);
    for (auto i = static_cast<std::int32_t>(threadIdx.x / 32); i < staged.n_promotions; i += release_threads / 32) {
        const auto one = step.staging.of(slot)[i];
        const auto page = group.rows_per_page.quotient(static_cast<std::uint32_t>(one.entry));
        const auto to = group.at(gpu_page{hot_pages[page]}, group.rows_per_page.remainder(static_cast<std::uint32_t>(one.entry), page));
        move_group_row_warp(step.tiers, group, step.staging.groups[staged.group].at(group.rows_per_page, slot, one.staged), to);
        if (threadIdx.x % 32 != 0) continue;
        if (rows[one.entry] >= 0) index.erase(rows[one.entry]);
        rows[one.entry] = one.row;
        used[one.entry] = entered[one.entry] = now;
        index.set(one.row, static_cast<hot_code>(one.entry));
    }
    if (threadIdx.x == 0) atomicAdd(reinterpret_cast<unsigned long long*>(&step.counts->promoted_rows), static_cast<unsigned long long>(staged.n_promotions));
}

/// With DHISPARSE_CHECKS: whoever still reads a staged row finds no row's bytes.
__device__ inline void poison_staged_on_device(const step_ref& step, std::int32_t slot, const staged_slot& staged) {
    const auto& group = step.tiers.groups[staged.group];
    for (auto i = static_cast<std::int32_t>(threadIdx.x / 32); i < staged.n_rows; i += release_threads / 32)
        poison_group_row_warp(step.tiers, group, step.staging.groups[staged.group].at(group.rows_per_page, slot, i));
}

} // namespace detail

template <class Index>
__global__ void __launch_bounds__(release_threads) release_kernel(const __grid_constant__ release_params p) {
    const auto slot = p.slots[blockIdx.x];
    if (slot < 0) return;
    const auto staged = p.step.staging.slots[slot];
    if (staged.n_rows == 0) return;
    if (staged.n_promotions > 0) detail::promote_on_device<Index>(p.step, slot, staged);
    __syncthreads();
    if constexpr (DHISPARSE_CHECKS) detail::poison_staged_on_device(p.step, slot, staged);
    if (threadIdx.x == 0) p.step.staging.slots[slot] = {};
}

} // namespace dhisparse
