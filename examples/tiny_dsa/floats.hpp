// Vectors of floats on cache-line boundaries, so that no vector load of a kernel crosses one.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace tiny_dsa {

template <class T>
struct line_allocator {
    using value_type = T;
    static constexpr std::align_val_t alignment{64};

    line_allocator() = default;
    template <class U>
    line_allocator(const line_allocator<U>&) {}

    T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), alignment)); }
    void deallocate(T* p, std::size_t) { ::operator delete(p, alignment); }
    bool operator==(const line_allocator&) const = default;
};

using floats = std::vector<float, line_allocator<float>>;

/// Makes room for n floats; what is there is kept only if it fits.
inline float* at_least(floats& v, std::size_t n) {
    if (v.size() < n) {
        v.resize(n);
    }
    return v.data();
}

} // namespace tiny_dsa
