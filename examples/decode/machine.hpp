// How the program reaches a backend's memory. The model runs on the CPU: its threads write rows
// into the slab and read them there.
#pragma once

#include <dhisparse/hierarchy.hpp>

#include <algorithm>
#include <span>
#include <vector>

namespace decode {

/// Everything is ordinary memory. A machine for another backend lends the hierarchy memory that CPU
/// threads can reach, too, uses such memory for `array`, and waits for its stream in wait().
struct host_machine {
    using backend = dhisparse::host_backend;
    template <class T>
    using array = std::vector<T>; // given to the step path

    dhisparse::host_stream stream{};

    void lend(dhisparse::hierarchy_config&) {}
    /// Until everything is done that has been given to the stream.
    void wait() {}
    /// Reads an array of the step path, once the stream has written it.
    template <class T>
    void read(const T* from, std::span<T> to) {
        std::copy_n(from, to.size(), to.data());
    }
};

} // namespace decode
