/// Memory at whose edge lies a page that can't be touched, and memory that costs nothing until it
/// is.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace dhisparse_test {

/// A zeroed range of address space; pages of it take memory once they are touched.
class sparse_memory {
public:
    explicit sparse_memory(std::size_t bytes) : bytes_(bytes) {
        auto* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED) throw std::bad_alloc();
        data_ = static_cast<std::byte*>(at);
    }
    sparse_memory(sparse_memory&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    sparse_memory& operator=(sparse_memory&&) = delete;
    ~sparse_memory() {
        if (data_) munmap(data_, bytes_);
    }
    std::byte* data() const { return data_; }

private:
    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
};

/// n elements between two pages that can't be touched: they begin right behind the first one, or
/// end right before the second one.
template <class T>
class guarded_array {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    enum class edge { begins, ends };

    explicit guarded_array(std::size_t n, edge touches = edge::ends)
        : n_(n), inner_((n * sizeof(T) + page() - 1) / page() * page()),
          memory_(inner_ + 2 * page()) {
        auto* first = memory_.data() + page();
        mprotect(memory_.data(), page(), PROT_NONE);
        mprotect(first + inner_, page(), PROT_NONE);
        data_ =
            reinterpret_cast<T*>(touches == edge::begins ? first : first + inner_ - n * sizeof(T));
    }

    T* data() const { return data_; }
    std::span<T> all() const { return {data_, n_}; }
    T& operator[](std::size_t i) const { return data_[i]; }

private:
    static std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }
    std::size_t n_, inner_;
    sparse_memory memory_;
    T* data_ = nullptr;
};

/// Whether the byte can be read, found out without reading it here.
inline bool readable(const void* byte) {
    int ends[2];
    if (pipe(ends) != 0) return false;
    const auto written = write(ends[1], byte, 1);
    close(ends[0]);
    close(ends[1]);
    return written == 1;
}

} // namespace dhisparse_test
