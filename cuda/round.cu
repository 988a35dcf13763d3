// The launches of a round's first and last step.
#include <dhisparse/core/cuda_check.cuh>
#include <dhisparse/round/append.cuh>
#include <dhisparse/round/commit.cuh>

namespace dhisparse {

void launch_append(const append_params& params, cudaStream_t stream) {
    append_kernel<<<1, append_threads, 0, stream>>>(params);
    cuda_check(cudaGetLastError(), "append");
}

void launch_commit(const commit_params& params, cudaStream_t stream) {
    if (params.round.n_requests == 0) return;
    const auto blocks = params.round.n_requests * params.step.tiers.n_groups;
    commit_kernel<<<static_cast<unsigned>(blocks), commit_threads, 0, stream>>>(params);
    cuda_check(cudaGetLastError(), "commit");
}

} // namespace dhisparse
