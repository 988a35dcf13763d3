/// What the CUDA resolver asks of a hot index beyond the policy's own concept: look-ups that see other
/// blocks' writes, and a claim that many threads may make at once.
#pragma once

#include <dhisparse/policy/hot_index/dense.hpp>

#include <cuda/atomic>

namespace dhisparse {

template <class Index>
struct device_index; // specialised for each index policy that the CUDA backend has

template <>
struct device_index<dense> {
    dense::ref index;

    __device__ hot_code find(std::int32_t row) const { return __ldcg(index.codes + row); }
    __device__ void set(std::int32_t row, hot_code code) const { __stcg(index.codes + row, code); }
    __device__ void erase(std::int32_t row) const { __stcg(index.codes + row, no_code); }

    /// Lowers the row's code to `code` where it is larger; returns what it was. A 16-bit minimum by
    /// compare-and-swap of the word that holds it; the word's other half may change meanwhile.
    __device__ hot_code claim(std::int32_t row, hot_code code) const {
        auto* word = reinterpret_cast<std::uint32_t*>(index.codes + (row & ~1));
        const auto shift = static_cast<std::uint32_t>(row & 1) * 16;
        cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device> cell(*word);
        auto seen = cell.load(cuda::memory_order_relaxed);
        for (;;) {
            const auto had = static_cast<hot_code>(seen >> shift);
            if (had <= code) return had;
            const auto wanted = (seen & ~(0xFFFFu << shift)) | std::uint32_t{code} << shift;
            if (cell.compare_exchange_weak(seen, wanted, cuda::memory_order_relaxed)) return had;
        }
    }
};

} // namespace dhisparse
