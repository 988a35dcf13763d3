/// Definitions for resolver.cuh, with the kernels.
#pragma once

#include <dhisparse/core/compiled_arch.cuh>
#include <dhisparse/resolve/dispatch.cuh>
#include <dhisparse/resolve/resolver.cuh>

namespace dhisparse {

template <hot_index_policy Index, replacement_policy Replacement>
std::int64_t resolver<Index, Replacement>::shared_bytes(const resolve_tuning& tuning, std::int64_t n_lanes, std::int64_t hot_pages, std::int64_t k_max, std::int32_t entries) {
    return resolve_memory::bytes(tuning, n_lanes, hot_pages, k_max, entries);
}

template <hot_index_policy Index, replacement_policy Replacement>
int resolver<Index, Replacement>::compiled_arch() {
    return dhisparse::compiled_arch(resolve_kernel<Index, Replacement, true, 1>);
}

template <hot_index_policy Index, replacement_policy Replacement>
void resolver<Index, Replacement>::prepare(std::int64_t shared_bytes) {
    prepare_resolve<Index, Replacement>(shared_bytes);
}

template <hot_index_policy Index, replacement_policy Replacement>
void resolver<Index, Replacement>::launch(const resolve_params& params, std::int32_t n_requests, bool one_query, cudaStream_t stream) {
    launch_resolve<Index, Replacement>(params, n_requests, one_query, stream);
}

} // namespace dhisparse
