// How the program reaches the host backend's memory. The model runs on the CPU: its threads write
// rows into the slab and read them there. The CUDA backend's machine: cuda_machine.cuh.
#pragma once

#include <dhisparse/hierarchy.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace decode {

/// Everything is ordinary memory, and done when the call returns.
struct host_machine {
    using backend = dhisparse::host_backend;
    template <class T>
    using array = std::vector<T>; // given to the step path

    dhisparse::host_stream stream{};

    /// Until everything is done that has been given to the stream, and copies beside it.
    void wait() {}
    /// Reads an array of the step path, once the stream has written it.
    template <class T>
    void read(const T* from, std::span<T> to) {
        std::copy_n(from, to.size(), to.data());
    }
    /// Writes to the slab while nothing else uses that part of it.
    void write(void* to, const void* from, std::size_t n_bytes) const {
        std::memcpy(to, from, n_bytes);
    }
};

} // namespace decode
