// Memory made or lent, and who gives it back.
#include <dhisparse/memory/buffer.hpp>

#include "catch.hpp"
#include "refusal.hpp"
#include "resources.hpp"

#include <limits>
#include <vector>

using namespace dhisparse;
using dhisparse_test::allocation_counts;
using dhisparse_test::counting_resource;
using dhisparse_test::failing_resource;
using dhisparse_test::refusal;

namespace {

using counted = buffer<counting_resource>;

struct alignas(128) lent_memory {
    std::byte bytes[256] = {};
    std::span<std::byte> all() { return bytes; }
};

bool aligned(const std::byte* at, std::uintptr_t to) {
    return reinterpret_cast<std::uintptr_t>(at) % to == 0;
}

} // namespace

TEST_CASE("a buffer takes what it was asked for and gives it back", "[buffer]") {
    allocation_counts counts;
    {
        const counted made({&counts}, 1000, 128, {}, "pool");
        CHECK(counts.live_bytes == 1000);
        CHECK(counts.last_alignment == 128);
        CHECK(made.bytes() == 1000);
        CHECK(aligned(made.data(), 128));
    }
    CHECK(counts.allocations == 1);
    CHECK(counts.live_bytes == 0);
}

TEST_CASE("a buffer of lent memory allocates nothing", "[buffer]") {
    allocation_counts counts;
    lent_memory lent;
    {
        const counted borrowed({&counts}, 200, 128, lent.all(), "pool");
        CHECK(borrowed.data() == lent.bytes);
        CHECK(borrowed.bytes() == 200);
    }
    CHECK(counts.allocations == 0);
    CHECK(counts.live_bytes == 0);
}

TEST_CASE("a buffer of no bytes allocates nothing", "[buffer]") {
    allocation_counts counts;
    const counted empty({&counts}, 0, 128, {}, "host");
    CHECK(empty.bytes() == 0);
    CHECK(empty.data() == nullptr);
    CHECK(counts.allocations == 0);
    CHECK(counted().bytes() == 0);
}

TEST_CASE("lent memory that is too small is refused with both sizes", "[buffer]") {
    lent_memory lent;
    allocation_counts counts;
    CHECK(refusal([&] { counted({&counts}, 257, 128, lent.all(), "pool"); }) ==
          "pool memory holds 256 bytes, needed: 257");
    CHECK(counts.allocations == 0);
}

TEST_CASE("lent memory that is not aligned is refused", "[buffer]") {
    lent_memory lent;
    allocation_counts counts;
    CHECK(refusal([&] { counted({&counts}, 100, 128, lent.all().subspan(16), "host"); }) ==
          "host memory is not aligned to 128 bytes");
    CHECK(refusal([&] { counted({&counts}, 100, 16, lent.all().subspan(16), "host"); }).empty());
}

TEST_CASE("a moved buffer has one owner", "[buffer]") {
    allocation_counts counts;
    {
        counted first({&counts}, 512, 64, {}, "pool");
        auto* const at = first.data();
        counted second(std::move(first));
        CHECK(second.data() == at);
        CHECK(second.bytes() == 512);
        counted third({&counts}, 64, 64, {}, "host");
        third = std::move(second);
        CHECK(third.data() == at);
        CHECK(counts.live_bytes == 576);
    }
    CHECK(counts.allocations == 2);
    CHECK(counts.live_bytes == 0);
}

TEST_CASE("what a resource refuses reaches the caller", "[buffer]") {
    using failing = buffer<failing_resource>;
    CHECK_NOTHROW(failing({1}, 100, 64, {}, "pool"));
    CHECK(refusal<out_of_capacity>([] { failing({0}, 100, 64, {}, "pool"); }) ==
          "100 bytes are refused");
}

TEST_CASE("host memory has the alignment that was asked for", "[resource]") {
    host_resource resource;
    for (const std::int64_t alignment : {8, 16, 128, 4096}) {
        CAPTURE(alignment);
        auto* at = resource.allocate(alignment + 1, alignment);
        CHECK(aligned(at, static_cast<std::uintptr_t>(alignment)));
        at[alignment] = std::byte{1}; // the last byte is there
        resource.deallocate(at, alignment + 1, alignment);
    }
}

#if !defined(__SANITIZE_ADDRESS__) // which ends the program on sizes that can't be had
TEST_CASE("host memory that can't be had is refused with its size", "[resource]") {
    host_resource resource;
    const auto huge = std::numeric_limits<std::int64_t>::max() - 4096;
    CHECK(refusal<out_of_capacity>([&] { resource.allocate(huge, 128); }) ==
          "host memory: 9223372036854771711 bytes could not be allocated");
}
#endif

TEST_CASE("a size that can't be rounded up to its alignment is refused", "[resource]") {
    host_resource resource;
    CHECK_THROWS_AS(resource.allocate(std::numeric_limits<std::int64_t>::max(), 128),
                    out_of_capacity);
}
