#include "cuda_check_rows.cuh"

#include <dhisparse/core/cuda_check.cuh>

namespace decode {
namespace {

__device__ int request_of(const dhisparse::round_ref& round, int query) {
    int r = 0;
    while (round.first_query[r + 1] <= query)
        ++r;
    return r;
}

/// A warp a selection entry: every layer's row of 256 bytes.
__global__ void check_rows_kernel(const check_params p) {
    const auto query = static_cast<int>(blockIdx.y);
    if (p.round.query_slots[query] < 0) return;
    const auto lane = threadIdx.x % 32, e = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const auto entry = blockIdx.y * static_cast<unsigned>(tiny_dsa::top_k) + e;
    const auto t = p.selected[entry], at = p.at[entry];
    if (t < 0) return;
    const auto r = request_of(p.round, query);
    const auto anchor = p.round.frontiers[r];
    bool same = at >= 0;
    if (t > anchor)
        same = at == p.new_rows[p.round.first_query[r] + t - anchor];
    else {
        const auto* pages = p.originals.page_map(p.slots[r]);
        const auto original = p.placement.at(dhisparse::gpu_page{pages[t / page_positions]},
                                             static_cast<std::uint32_t>(t % page_positions));
        for (int layer = 0; same && layer < p.n_layers; ++layer) {
            const auto a = p.rows[layer][std::int64_t{at} * 32 + lane];
            const auto b = p.original_rows[layer][std::int64_t{original} * 32 + lane];
            same = __all_sync(0xFFFFFFFF, a.x == b.x && a.y == b.y);
        }
    }
    if (lane == 0) atomicAdd(p.wrong_right + same, 1ull);
}

} // namespace

void launch_check_rows(const check_params& params, cudaStream_t stream) {
    constexpr int threads = 256, warps = threads / 32;
    check_rows_kernel<<<dim3(tiny_dsa::top_k / warps, static_cast<unsigned>(params.round.n_queries)), threads,
                        0, stream>>>(params);
    dhisparse::cuda_check(cudaGetLastError(), "check of rows");
}

} // namespace decode
