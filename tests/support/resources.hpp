/// Memory resources that make hidden costs visible: one counts, one refuses.
#pragma once

#include <dhisparse/memory/resource.hpp>

namespace dhisparse_test {

/// What the counting resources that point here have done.
struct allocation_counts {
    int allocations = 0;
    std::int64_t live_bytes = 0;
    std::int64_t last_alignment = 0;
};

/// Host memory, counted. Without counts it can't allocate.
struct counting_resource {
    allocation_counts* counts = nullptr;

    std::byte* allocate(std::int64_t bytes, std::int64_t alignment) {
        ++counts->allocations;
        counts->live_bytes += bytes;
        counts->last_alignment = alignment;
        return dhisparse::host_resource{}.allocate(bytes, alignment);
    }
    void deallocate(std::byte* memory, std::int64_t bytes, std::int64_t alignment) {
        counts->live_bytes -= bytes;
        dhisparse::host_resource{}.deallocate(memory, bytes, alignment);
    }
};
static_assert(dhisparse::memory_resource<counting_resource>);

/// Host memory that refuses every allocation after the first `left`.
struct failing_resource {
    int left = 0;

    std::byte* allocate(std::int64_t bytes, std::int64_t alignment) {
        dhisparse::require<dhisparse::out_of_capacity>(left-- > 0, bytes, " bytes are refused");
        return dhisparse::host_resource{}.allocate(bytes, alignment);
    }
    void deallocate(std::byte* memory, std::int64_t bytes, std::int64_t alignment) {
        dhisparse::host_resource{}.deallocate(memory, bytes, alignment);
    }
};
static_assert(dhisparse::memory_resource<failing_resource>);

} // namespace dhisparse_test
