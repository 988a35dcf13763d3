/// Device memory, and small pinned blocks that kernels read in place.
#pragma once

#include <dhisparse/core/cuda_check.cuh>
#include <dhisparse/memory/resource.hpp>

#include <cstring>
#include <utility>
#include <vector>

namespace dhisparse {

/// cudaMalloc of the current device.
struct device_memory {
    std::byte* allocate(std::int64_t bytes, std::int64_t /*alignment*/) {
        void* memory = nullptr;
        const auto status = cudaMalloc(&memory, static_cast<std::size_t>(bytes));
        if (status != cudaSuccess) cudaGetLastError();
        require<out_of_capacity>(status == cudaSuccess, "device memory: ", bytes, " bytes could not be allocated: ", cudaGetErrorString(status));
        return static_cast<std::byte*>(memory);
    }
    void deallocate(std::byte* memory, std::int64_t /*bytes*/, std::int64_t /*alignment*/) { cudaFree(memory); }
};
static_assert(memory_resource<device_memory>);

/// Pinned host memory, mapped: one pointer for the host and the device.
struct mapped_memory {
    std::byte* allocate(std::int64_t bytes, std::int64_t /*alignment*/) {
        void* memory = nullptr;
        const auto status = cudaHostAlloc(&memory, static_cast<std::size_t>(bytes), cudaHostAllocMapped | cudaHostAllocPortable);
        if (status != cudaSuccess) cudaGetLastError();
        require<out_of_capacity>(status == cudaSuccess, "host (pinned) memory: ", bytes, " bytes could not be allocated: ", cudaGetErrorString(status));
        return static_cast<std::byte*>(memory);
    }
    void deallocate(std::byte* memory, std::int64_t /*bytes*/, std::int64_t /*alignment*/) { cudaFreeHost(memory); }
};
static_assert(memory_resource<mapped_memory>);

/// n objects in a resource's memory; move-only.
template <class T, memory_resource Resource = device_memory>
class array_of {
public:
    array_of() = default;
    explicit array_of(std::int64_t n) : n_(n) {
        if (n > 0) data_ = reinterpret_cast<T*>(Resource{}.allocate(n * static_cast<std::int64_t>(sizeof(T)), 128));
    }
    /// A device copy of host data; synchronises.
    explicit array_of(const std::vector<T>& from) : array_of(static_cast<std::int64_t>(from.size())) {
        if (n_ > 0) cuda_check(cudaMemcpy(data_, from.data(), from.size() * sizeof(T), cudaMemcpyDefault), "copy of constants to the device");
    }
    array_of(array_of&& other) noexcept { swap(other); }
    array_of& operator=(array_of&& other) noexcept {
        swap(other);
        return *this;
    }
    ~array_of() {
        if (data_) Resource{}.deallocate(reinterpret_cast<std::byte*>(data_), n_ * static_cast<std::int64_t>(sizeof(T)), 128);
    }
    T* data() const { return data_; }
    std::int64_t size() const { return n_; }

private:
    void swap(array_of& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(n_, other.n_);
    }
    T* data_ = nullptr;
    std::int64_t n_ = 0;
};

} // namespace dhisparse
