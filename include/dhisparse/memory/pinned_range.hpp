/// A large range of host memory on huge pages, first touched by many threads and registered with a driver
/// chunk by chunk: what a host tier is made of. The driver is a parameter: memory/pinned_range.cuh has CUDA's.
#pragma once

#include <dhisparse/core/arithmetic.hpp>
#include <dhisparse/core/error.hpp>

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace dhisparse {

inline constexpr std::int64_t huge_page_bytes = std::int64_t{2} << 20;

/// Maps bytes (rounded up to huge pages) and touches each page by one of `threads` threads, which is
/// also what places pages on the NUMA node those threads run on. Throws out_of_capacity.
inline std::byte* map_touched(std::int64_t bytes, unsigned threads) {
    const auto size = static_cast<std::size_t>(round_up(bytes, huge_page_bytes));
    auto* raw = static_cast<std::byte*>(mmap(nullptr, size + huge_page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    require<out_of_capacity>(raw != MAP_FAILED, "host memory: ", bytes, " bytes could not be mapped");
    const auto lead = static_cast<std::size_t>(huge_page_bytes) - reinterpret_cast<std::uintptr_t>(raw) % huge_page_bytes;
    munmap(raw, lead); // so that the range starts on a huge page
    auto* memory = raw + lead;
    munmap(memory + size, huge_page_bytes - lead);
    madvise(memory, size, MADV_HUGEPAGE); // a hint: small pages serve as well
    std::vector<std::jthread> workers;
    const auto share = static_cast<std::size_t>(round_up(ceil_div<std::int64_t>(static_cast<std::int64_t>(size), std::max(threads, 1u)), huge_page_bytes));
    for (std::size_t at = 0; at < size; at += share)
        workers.emplace_back([=] {
            for (auto i = at; i < std::min(size, at + share); i += 4096) memory[i] = std::byte{0};
        });
    return memory;
}

inline void unmap(std::byte* memory, std::int64_t bytes) { munmap(memory, static_cast<std::size_t>(round_up(bytes, huge_page_bytes))); }

/// map: that many bytes (a multiple of huge_page_bytes), touched; throws out_of_capacity. pin: registers a range with the
/// device; an empty text, or why it was refused. unpin: the range that pin was given; false where the driver keeps it.
template <class Driver>
concept host_memory_driver = requires(Driver driver, std::byte* at, std::int64_t bytes) {
    { driver.map(bytes) } -> std::same_as<std::byte*>;
    { driver.unmap(at, bytes) };
    { driver.pin(at, bytes) } -> std::same_as<std::string>;
    { driver.unpin(at) } -> std::same_as<bool>;
};

/// Pinned memory at one contiguous address range. One registration of 512 GiB and more fails on some drivers, and a
/// long one holds a driver-wide lock, hence chunks. All or nothing. Only kernels read across a chunk's end, and they
/// see one range. What the driver still refers to stays mapped.
template <host_memory_driver Driver>
class basic_pinned_range {
public:
    static constexpr std::int64_t usual_chunk_bytes = std::int64_t{16} << 30;

    basic_pinned_range() = default;
    /// chunk_bytes: a multiple of huge_page_bytes.
    explicit basic_pinned_range(Driver driver, std::int64_t chunk_bytes = usual_chunk_bytes) : driver_(std::move(driver)), chunk_bytes_(chunk_bytes) {}

    /// Throws out_of_capacity, naming the bytes asked for and permitted, and what the driver says.
    std::byte* allocate(std::int64_t bytes, std::int64_t /*alignment*/) {
        const auto size = round_up(bytes, huge_page_bytes);
        auto* memory = driver_.map(size);
        for (std::int64_t at = 0; at < size; at += chunk_bytes_) {
            const auto why = driver_.pin(memory + at, chunk(size, at));
            if (why.empty()) continue;
            const auto kept = release(memory, size, at);
            throw out_of_capacity(text("host (pinned) memory: the driver refused ", chunk(size, at), " of ", bytes, " bytes (host_bytes): ", why, "; locked memory (ulimit -l) is ", permitted(),
                                       kept > 0 ? text("; it also keeps ", kept, " bytes registered, which stay mapped") : std::string()));
        }
        return memory;
    }
    void deallocate(std::byte* memory, std::int64_t bytes, std::int64_t /*alignment*/) {
        const auto size = round_up(bytes, huge_page_bytes);
        release(memory, size, size);
    }

private:
    std::int64_t chunk(std::int64_t size, std::int64_t at) const { return std::min(chunk_bytes_, size - at); }

    /// Unpins the chunks of [0, pinned), last first, and unmaps all that the driver lets go of. Returns the bytes that it keeps.
    std::int64_t release(std::byte* memory, std::int64_t size, std::int64_t pinned) {
        std::int64_t kept = 0;
        for (auto at = (size - 1) / chunk_bytes_ * chunk_bytes_; at >= 0; at -= chunk_bytes_) {
            if (at < pinned && !driver_.unpin(memory + at)) kept += chunk(size, at);
            else driver_.unmap(memory + at, chunk(size, at));
        }
        return kept;
    }
    static std::string permitted() {
        rlimit limit{};
        getrlimit(RLIMIT_MEMLOCK, &limit);
        return limit.rlim_cur == RLIM_INFINITY ? std::string("unlimited") : text(limit.rlim_cur, " bytes");
    }

    Driver driver_{};
    std::int64_t chunk_bytes_ = usual_chunk_bytes;
};

} // namespace dhisparse
