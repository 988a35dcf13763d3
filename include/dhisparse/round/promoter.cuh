/// What follows a resolve that has staged rows on the device, as calls: what needs no nvcc. dhisparse::cuda has the
/// pairs named below; nvcc compiles any other where it is used, from promoter_impl.cuh.
#pragma once

#include <dhisparse/policy/hot_index/dense.hpp>
#include <dhisparse/policy/promotion/anchor_first.hpp>
#include <dhisparse/policy/promotion/keep_staged_none.hpp>
#include <dhisparse/policy/promotion/most_selected.hpp>
#include <dhisparse/round/plan_params.hpp>

#include <cuda_runtime_api.h>

namespace dhisparse {

template <hot_index_policy Index, promotion_policy Promotion>
struct promoter {
    /// Chooses which of the rows that the resolve before has staged are promoted, and takes their codes out of the hot index.
    /// Both enqueue one kernel, neither allocate nor synchronise, and throw cuda_error.
    static void plan(const plan_params& params, cudaStream_t stream);
    /// round/release.hpp: moves those rows and gives them their entries; nothing is staged afterwards.
    static void release(const step_ref& step, const round_ref& round, cudaStream_t stream);
};

extern template struct promoter<dense, keep_staged_none>; // each is a line of cuda/promoter.cu, too
extern template struct promoter<dense, most_selected>;
extern template struct promoter<dense, anchor_first>;

} // namespace dhisparse

#ifdef __CUDACC__
#include <dhisparse/round/promoter_impl.cuh>
#endif
