/// Where memory comes from: the resource concept, and ordinary host memory.
#pragma once

#include <dhisparse/core/arithmetic.hpp>
#include <dhisparse/core/error.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace dhisparse {

/// allocate(bytes, alignment): memory of at least that many bytes, contents undefined; throws
/// out_of_capacity. deallocate takes what allocate gave, with the same numbers.
template <class Resource>
concept memory_resource = requires(Resource resource, std::byte* memory, std::int64_t n) {
    { resource.allocate(n, n) } -> std::same_as<std::byte*>;
    { resource.deallocate(memory, n, n) };
};

/// Ordinary host memory.
struct host_resource {
    std::byte* allocate(std::int64_t bytes, std::int64_t alignment) {
        constexpr std::int64_t most = std::int64_t{1} << 48; // beyond any address space
        auto* memory = bytes <= most && alignment <= most
                           ? std::aligned_alloc(static_cast<std::size_t>(alignment), static_cast<std::size_t>(round_up(bytes, alignment)))
                           : nullptr;
        require<out_of_capacity>(memory != nullptr, "host memory: ", bytes, " bytes could not be allocated");
        return static_cast<std::byte*>(memory);
    }
    void deallocate(std::byte* memory, std::int64_t /*bytes*/, std::int64_t /*alignment*/) { std::free(memory); }
};
static_assert(memory_resource<host_resource>);

} // namespace dhisparse
