/// A large range of host memory on huge pages, first touched by many threads: what a host tier is made of
/// before a driver pins it.
#pragma once

#include <dhisparse/core/arithmetic.hpp>
#include <dhisparse/core/error.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <thread>
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

} // namespace dhisparse
