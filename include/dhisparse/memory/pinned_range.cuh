/// The host tier of the CUDA backend.
#pragma once

#include <dhisparse/core/cuda_check.cuh>
#include <dhisparse/memory/pinned_range.hpp>
#include <dhisparse/memory/resource.hpp>

namespace dhisparse {

/// Registers host memory so that every device reads it at the host's addresses. Consumes the errors of its calls.
struct cuda_host_driver {
    std::byte* map(std::int64_t bytes) const { return map_touched(bytes, std::max(1u, std::thread::hardware_concurrency())); }
    void unmap(std::byte* at, std::int64_t bytes) const { dhisparse::unmap(at, bytes); }
    std::string pin(std::byte* at, std::int64_t bytes) const {
        const auto status = cudaHostRegister(at, static_cast<std::size_t>(bytes), cudaHostRegisterMapped | cudaHostRegisterPortable);
        if (status != cudaSuccess) return failure(status);
        void* device = nullptr;
        const auto found = cudaHostGetDevicePointer(&device, at, 0);
        if (found == cudaSuccess && device == at) return {};
        unpin(at);
        return found == cudaSuccess ? "the device knows it at another address" : failure(found);
    }
    bool unpin(std::byte* at) const {
        if (cudaHostUnregister(at) == cudaSuccess) return true;
        cudaGetLastError();
        return false;
    }

private:
    static std::string failure(cudaError_t status) {
        cudaGetLastError(); // consumed: it may not surface at somebody else's call
        return cudaGetErrorString(status);
    }
};

using pinned_range = basic_pinned_range<cuda_host_driver>;
static_assert(memory_resource<pinned_range>);

} // namespace dhisparse
