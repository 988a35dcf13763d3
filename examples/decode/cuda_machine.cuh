// How the program reaches the CUDA backend's memory: everything of the model's is on the device
// too.
#pragma once

#include <dhisparse/cuda_backend.cuh>

#include <cstddef>
#include <span>
#include <vector>

namespace decode {

/// Of std::vector, for pinned memory that kernels read and write in place.
template <class T>
struct mapped_allocator {
    using value_type = T;
    mapped_allocator() = default;
    template <class U>
    mapped_allocator(const mapped_allocator<U>&) {}
    T* allocate(std::size_t n) {
        return reinterpret_cast<T*>(dhisparse::mapped_memory{}.allocate(bytes(n), 128));
    }
    void deallocate(T* p, std::size_t n) {
        dhisparse::mapped_memory{}.deallocate(reinterpret_cast<std::byte*>(p), bytes(n), 128);
    }
    bool operator==(const mapped_allocator&) const = default;

private:
    static std::int64_t bytes(std::size_t n) { return static_cast<std::int64_t>(n * sizeof(T)); }
};

struct cuda_machine {
    using backend = dhisparse::cuda_backend;
    template <class T>
    using array = std::vector<T, mapped_allocator<T>>; // given to the step path

    cudaStream_t stream = nullptr;

    cuda_machine() {
        dhisparse::cuda_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    }
    ~cuda_machine() { cudaStreamDestroy(stream); }
    cuda_machine(const cuda_machine&) = delete;
    cuda_machine& operator=(const cuda_machine&) = delete;

    /// Until everything is done that has been given to the stream, and copies beside it.
    void wait() const { dhisparse::cuda_check(cudaDeviceSynchronize(), "decode"); }
    /// Reads an array of the step path, once the stream has written it.
    template <class T>
    void read(const T* from, std::span<T> to) {
        wait();
        dhisparse::cuda_check(cudaMemcpy(to.data(), from, to.size_bytes(), cudaMemcpyDefault),
                              "read from the device");
    }
    /// Writes to the slab while nothing else uses that part of it; whoever reads it next waits
    /// first.
    void write(void* to, const void* from, std::size_t n_bytes) const {
        dhisparse::cuda_check(cudaMemcpy(to, from, n_bytes, cudaMemcpyDefault),
                              "write to the slab");
    }
};

} // namespace decode
