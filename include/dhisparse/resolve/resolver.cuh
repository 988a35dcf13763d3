/// The CUDA resolver of one pair of policies, as calls: what needs no nvcc. dhisparse::cuda has the pairs
/// named below; nvcc compiles any other where it is used, from resolver_impl.cuh.
#pragma once

#include <dhisparse/policy/hot_index/dense.hpp>
#include <dhisparse/policy/replacement/fifo.hpp>
#include <dhisparse/policy/replacement/lru.hpp>
#include <dhisparse/resolve/params.hpp>

#include <cuda_runtime_api.h>

#include <cstdint>

namespace dhisparse {

template <hot_index_policy Index, replacement_policy Replacement>
struct resolver {
    /// Shared memory of a block.
    static std::int64_t shared_bytes(const resolve_tuning& tuning, std::int64_t n_lanes, std::int64_t hot_pages, std::int64_t k_max, std::int32_t entries);
    /// What its code was compiled for: 80, 90, …; see core/compiled_arch.cuh. Below 90 a resolve has one block a request.
    static int compiled_arch();
    /// Permits the kernels that much of it: the most that any resolve of a shape needs. Once a device.
    static void prepare(std::int64_t shared_bytes);
    /// Enqueues a resolve; neither allocates nor synchronises. one_query: every request has one. Throws cuda_error.
    static void launch(const resolve_params& params, std::int32_t n_requests, bool one_query, cudaStream_t stream);
};

extern template struct resolver<dense, lru>; // each is a line of CMakeLists.txt, too
extern template struct resolver<dense, fifo>;

} // namespace dhisparse

#ifdef __CUDACC__
#include <dhisparse/resolve/resolver_impl.cuh>
#endif
