#include "cuda_accept.cuh"

#include <dhisparse/core/cuda_check.cuh>
#include <dhisparse/round/acceptance.hpp>

namespace decode {
namespace {

__global__ void accept_kernel(const dhisparse::round_ref round, const std::uint8_t* tokens,
                              const std::uint8_t* next, std::int32_t* accepted) {
    for (auto r = static_cast<std::int32_t>(threadIdx.x); r < round.n_requests;
         r += static_cast<std::int32_t>(blockDim.x)) {
        const auto first = round.first_query[r], k = round.first_query[r + 1] - first;
        accepted[r] =
            k == 0 ? 0
                   : dhisparse::accept_greedy(tokens + first + 1, next + first, k - 1).accepted;
    }
}

} // namespace

void launch_accept(const dhisparse::round_ref& round, const std::uint8_t* tokens,
                   const std::uint8_t* next, std::int32_t* accepted, cudaStream_t stream) {
    accept_kernel<<<1, 128, 0, stream>>>(round, tokens, next, accepted);
    dhisparse::cuda_check(cudaGetLastError(), "acceptance");
}

} // namespace decode
