/// Definitions for promoter.cuh, with the kernels.
#pragma once

#include <dhisparse/core/cuda_check.cuh>
#include <dhisparse/round/plan.cuh>
#include <dhisparse/round/promoter.cuh>
#include <dhisparse/round/release.cuh>

namespace dhisparse {

template <hot_index_policy Index, promotion_policy Promotion>
void promoter<Index, Promotion>::plan(const plan_params& params, cudaStream_t stream) {
    if (params.round.n_requests == 0) return;
    plan_kernel<Index, Promotion><<<static_cast<unsigned>(params.round.n_requests), plan_threads, 0, stream>>>(params);
    cuda_check(cudaGetLastError(), "plan of promotions");
}

template <hot_index_policy Index, promotion_policy Promotion>
void promoter<Index, Promotion>::release(const step_ref& step, const round_ref& round, cudaStream_t stream) {
    if (round.n_requests == 0) return;
    release_kernel<Index><<<static_cast<unsigned>(round.n_requests), release_threads, 0, stream>>>({step, round.slots});
    cuda_check(cudaGetLastError(), "release");
}

} // namespace dhisparse
