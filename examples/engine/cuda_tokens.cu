#include "cuda_tokens.cuh"

#include <dhisparse/core/cuda_check.cuh>

namespace engine {
namespace {

constexpr int threads = 256; // a slot each: --slots permits no more

__global__ void take_anchors(cuda_tokens of) {
    if (const int r = static_cast<int>(threadIdx.x); r < of.n) of.next[r] = of.anchors[r];
}

__global__ void keep_tokens(cuda_tokens of) {
    const int r = static_cast<int>(threadIdx.x);
    if (r < of.n && of.slots[r] >= 0) of.said[r] = of.anchors[r] = of.next[r];
}

} // namespace

void launch_take_anchors(const cuda_tokens& of, cudaStream_t stream) {
    take_anchors<<<1, threads, 0, stream>>>(of);
    dhisparse::cuda_check(cudaGetLastError(), "take_anchors");
}

void launch_keep_tokens(const cuda_tokens& of, cudaStream_t stream) {
    keep_tokens<<<1, threads, 0, stream>>>(of);
    dhisparse::cuda_check(cudaGetLastError(), "keep_tokens");
}

} // namespace engine
