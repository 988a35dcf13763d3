// The facade's memory: lent or made, known beforehand, refused where it does not serve.
#include "catch.hpp"
#include "engine.hpp"
#include "refusal.hpp"
#include "resources.hpp"

#include <cstdlib>

using namespace dhisparse_test;

namespace {

/// Host memory that counts, one count for each tier and the tables together.
template <int Tier>
struct counted_memory {
    static inline allocation_counts counts;
    std::byte* allocate(std::int64_t bytes, std::int64_t alignment) { return counting_resource{&counts}.allocate(bytes, alignment); }
    void deallocate(std::byte* memory, std::int64_t bytes, std::int64_t alignment) { counting_resource{&counts}.deallocate(memory, bytes, alignment); }
};

struct counting_backend : dh::host_backend {
    using device_memory = counted_memory<0>;
    using host_memory = counted_memory<1>;
};

/// Aligned memory that a test lends.
struct lent_memory {
    explicit lent_memory(std::int64_t n) : bytes(static_cast<std::size_t>(n)), data(static_cast<std::byte*>(std::aligned_alloc(128, (bytes + 127) / 128 * 128))) {}
    ~lent_memory() { std::free(data); }
    lent_memory(const lent_memory&) = delete;
    lent_memory& operator=(const lent_memory&) = delete;
    std::span<std::byte> span() const { return {data, bytes}; }
    std::size_t bytes;
    std::byte* data;
};

dh::hierarchy_config with_keys() { return plain_config({.page_positions = 8, .k = 4, .lanes = 3, .row_bytes = 48, .index_key_bytes = 12}); }

} // namespace

TEST_CASE("bytes_needed is what is allocated, and all of it is given back", "[hierarchy]") {
    using made = dh::hierarchy<counting_backend>;
    auto& device = counted_memory<0>::counts;
    auto& host = counted_memory<1>::counts;
    device = host = {};
    const auto config = with_keys();
    const auto needed = made::bytes_needed(config);
    CHECK(device.allocations + host.allocations == 0); // asking allocates nothing
    {
        const made kv(config);
        CHECK(device.live_bytes == needed.pool + needed.tables);
        CHECK(host.live_bytes == needed.host);
        CHECK(device.allocations == 2);
        CHECK(host.allocations == 1);
        CHECK(needed.pool == 64 * kv.layout().page_bytes());
        CHECK(needed.host == 64 * kv.layout().host_page_bytes());
    }
    CHECK(device.live_bytes + host.live_bytes == 0);
}

TEST_CASE("staging and boundary state are counted before they are allocated", "[hierarchy]") {
    auto config = plain_config({.page_positions = 8, .k = 4, .lanes = 3, .m = 2, .row_bytes = 128});
    config.k_max = 5;
    config.hot_pages = 2; // 8 entries
    config.max_unsettled = 3;
    config.shape.sources[1].boundary_bytes = 20;
    const auto needed = dh::hierarchy<>::bytes_needed(config);
    CHECK(needed.staging == 4 * (5 * 4 - 8) / 4 * 3 * 512); // chunks of four rows, lanes, bytes of a lane's four rows
    CHECK(needed.boundary == 4 * (2 - 1 + 3 + 5) * 32);
    auto& device = counted_memory<0>::counts;
    device = {};
    dh::hierarchy<counting_backend> kv(config);
    CHECK(device.live_bytes == needed.pool + needed.tables + needed.boundary);
    CHECK(needed.pool == 64 * kv.layout().page_bytes() + needed.staging);
    CHECK(kv.boundary(0).base == nullptr);
    CHECK(kv.boundary(1).at(2, 9) == kv.boundary(1).at(2, 0)); // nine entries
    CHECK(kv.boundary(1).at(3, 8) + 32 <= kv.boundary(1).base + needed.boundary);
    config.host_pages = 0; // resident: nothing is ever staged
    CHECK(dh::hierarchy<>::bytes_needed(config).staging == 0);
}

TEST_CASE("sizes in bytes give as many whole pages", "[hierarchy]") {
    auto config = with_keys();
    const dh::hierarchy<> counted(config);
    const auto page = counted.layout().page_bytes(), host_page = counted.layout().host_page_bytes();
    config.pool_pages = config.host_pages = 0;
    config.pool_bytes = 64 * page + page - 1;
    config.host_bytes = 64 * host_page + 5;
    CHECK(dh::hierarchy<>::bytes_needed(config) == dh::hierarchy<>::bytes_needed(with_keys()));
    config.host_bytes = 0;
    CHECK(dh::hierarchy<>::bytes_needed(config).host == 0);
}

TEST_CASE("lent memory is used as it is, and not freed", "[hierarchy]") {
    auto config = with_keys();
    const auto needed = dh::hierarchy<>::bytes_needed(config);
    const lent_memory pool(needed.pool), host(needed.host), tables(needed.tables);
    config.pool_memory = pool.span();
    config.host_memory = host.span();
    config.table_memory = tables.span();
    dh::hierarchy<counting_backend> kv(config);
    CHECK(counted_memory<0>::counts.live_bytes == 0);
    CHECK(counted_memory<1>::counts.live_bytes == 0);
    CHECK(kv.index_base() == pool.data);
    CHECK(kv.tiers().host == host.data);
    CHECK(reinterpret_cast<std::byte*>(kv.tables().records) == tables.data);
    engine e(config); // a second owner of the same memory works the same
    const auto slot = e.start(30, 20);
    e.decode(slot, 20);
    e.check_history(slot);
}

TEST_CASE("lent memory that is too small or not aligned is refused", "[hierarchy]") {
    const auto needed = dh::hierarchy<>::bytes_needed(with_keys());
    const lent_memory memory(std::max({needed.pool, needed.host, needed.tables}) + 64);
    const auto refused = [&](std::span<std::byte> dh::hierarchy_config::*which, std::span<std::byte> lent) {
        auto config = with_keys();
        config.*which = lent;
        return refusal([&] { dh::hierarchy<> kv(config); });
    };
    const auto first = [&](std::int64_t bytes) { return memory.span().first(static_cast<std::size_t>(bytes)); };
    CHECK(refused(&dh::hierarchy_config::pool_memory, first(needed.pool - 1)) == dh::text("pool memory holds ", needed.pool - 1, " bytes, needed: ", needed.pool));
    CHECK(refused(&dh::hierarchy_config::host_memory, first(needed.host - 1)) == dh::text("host memory holds ", needed.host - 1, " bytes, needed: ", needed.host));
    CHECK(refused(&dh::hierarchy_config::table_memory, first(needed.tables - 1)) == dh::text("table memory holds ", needed.tables - 1, " bytes, needed: ", needed.tables));
    CHECK(refused(&dh::hierarchy_config::pool_memory, memory.span().subspan(64)) == "pool memory is not aligned to 128 bytes");
    CHECK(refused(&dh::hierarchy_config::host_memory, memory.span().subspan(16)) == "host memory is not aligned to 128 bytes");
    CHECK(refused(&dh::hierarchy_config::table_memory, memory.span().subspan(8)) == "table memory is not aligned to 128 bytes");
    CHECK(refused(&dh::hierarchy_config::pool_memory, first(needed.pool)).empty());
}
