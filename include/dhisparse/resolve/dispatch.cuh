/// Launches the CUDA resolver: one kernel, one graph node.
#pragma once

#include <dhisparse/core/cuda_check.cuh>
#include <dhisparse/resolve/kernel.cuh>

#include <algorithm>

namespace dhisparse {

namespace detail {

/// Calls f with the kernel for this number of queries a request and entries a thread. Those that stage rows take any number.
template <hot_index_policy Index, replacement_policy Replacement, class F>
void with_resolve_kernel(bool one_query, std::int32_t items, bool staged, F f) {
    if (staged && items == 1) return f(resolve_kernel<Index, Replacement, false, 1, true>);
    if (staged) return f(resolve_kernel<Index, Replacement, false, 4, true>);
    if (one_query && items == 1) return f(resolve_kernel<Index, Replacement, true, 1>);
    if (one_query) return f(resolve_kernel<Index, Replacement, true, 4>);
    if (items == 1) return f(resolve_kernel<Index, Replacement, false, 1>);
    f(resolve_kernel<Index, Replacement, false, 4>);
}

} // namespace detail

/// Lets the kernels use as much shared memory as the largest resolve of a shape needs, and what an earlier shape was let
/// use. Call once a device.
template <hot_index_policy Index, replacement_policy Replacement>
void prepare_resolve(std::int64_t shared_bytes) {
    const auto allow = [&](auto kernel) {
        cudaFuncAttributes now{};
        cuda_check(cudaFuncGetAttributes(&now, kernel), "resolve: attributes of its kernel");
        cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, std::max(static_cast<int>(shared_bytes), now.maxDynamicSharedSizeBytes)),
                   text("resolve: ", shared_bytes, " bytes of shared memory a block").c_str());
    };
    for (const std::int32_t items : {1, 4})
        for (const bool staged : {true, false})
            for (const bool one_query : {true, false}) detail::with_resolve_kernel<Index, Replacement>(one_query, items, staged, allow);
}

/// Enqueues the resolve on the stream; neither allocates nor synchronises. one_query: every request has one.
template <hot_index_policy Index, replacement_policy Replacement>
void launch_resolve(const resolve_params& params, std::int32_t n_requests, bool one_query, cudaStream_t stream) {
    if (n_requests == 0) return;
    cudaLaunchAttribute cluster{};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {static_cast<unsigned>(params.tuning.cluster), 1, 1};
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(n_requests * params.tuning.cluster));
    config.blockDim = dim3(static_cast<unsigned>(params.tuning.threads));
    config.dynamicSmemBytes = static_cast<std::size_t>(resolve_memory::bytes(params.tuning, params.group.n_lanes, params.hot_pages_per_slot, params.k_max, params.entries));
    config.stream = stream;
    config.attrs = &cluster;
    config.numAttrs = params.tuning.cluster > 1 ? 1 : 0;
    detail::with_resolve_kernel<Index, Replacement>(one_query, params.tuning.items, params.staging.rows_per_slot > 0, [&](auto kernel) { cuda_check(cudaLaunchKernelEx(&config, kernel, params), "resolve"); });
}

} // namespace dhisparse
