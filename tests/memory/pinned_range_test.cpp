// Host memory registered chunk by chunk with a driver that refuses what a test tells it to.
#include <dhisparse/core/types.hpp>
#include <dhisparse/memory/pinned_range.hpp>
#include <dhisparse/memory/resource.hpp>

#include "catch.hpp"
#include "refusal.hpp"

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

using namespace dhisparse;
using dhisparse_test::refusal;
using Catch::Matchers::ContainsSubstring;

namespace {

/// What a driver has been asked for, by offsets from its one mapping; nothing is mapped.
struct driver_log {
    std::map<std::int64_t, std::int64_t> mapped = {}, pinned = {}; // [offset] bytes
    std::vector<std::int64_t> pins = {}, unpins = {};    // offsets, in order
    std::int64_t largest_pin_bytes = 0;
    std::int64_t refused_bytes = INT64_MAX;          // a registration of so many or more is refused
    std::int64_t refused_at = -1, kept_at = -1;      // the chunk that is refused, and the one that is kept
    std::int64_t available_bytes = INT64_MAX;        // to be pinned in all
    std::string reason = "out of memory";
};

struct mock_driver {
    driver_log* log;
    static std::byte* base() { return reinterpret_cast<std::byte*>(std::uintptr_t{1} << 40); }

    std::byte* map(std::int64_t bytes) {
        log->mapped[0] = bytes;
        return base();
    }
    void unmap(std::byte* at, std::int64_t bytes) {
        const auto offset = at - base();
        CHECK(log->pinned.count(offset) == 0);
        log->mapped[offset] -= bytes; // -bytes where the mapping does not begin
    }
    std::string pin(std::byte* at, std::int64_t bytes) {
        const auto offset = at - base();
        CHECK(bytes > 0);
        log->pins.push_back(offset);
        log->largest_pin_bytes = std::max(log->largest_pin_bytes, bytes);
        std::int64_t all = bytes;
        for (const auto& [other, n] : log->pinned) all += n;
        if (bytes >= log->refused_bytes || offset == log->refused_at || all > log->available_bytes) return log->reason;
        log->pinned[offset] = bytes;
        return {};
    }
    bool unpin(std::byte* at) {
        const auto offset = at - base();
        CHECK(log->pinned.count(offset) == 1);
        log->unpins.push_back(offset);
        return offset != log->kept_at && log->pinned.erase(offset) == 1;
    }
};

using range = basic_pinned_range<mock_driver>;
static_assert(memory_resource<basic_pinned_range<mock_driver>> && host_memory_driver<mock_driver>);

std::int64_t pinned_bytes(const driver_log& log) {
    std::int64_t sum = 0;
    for (const auto& [offset, bytes] : log.pinned) sum += bytes;
    return sum;
}
std::int64_t mapped_bytes(const driver_log& log) {
    std::int64_t sum = 0;
    for (const auto& [offset, bytes] : log.mapped) sum += bytes;
    return sum;
}

constexpr auto chunk = 4 * MiB;
using offsets = std::vector<std::int64_t>;

} // namespace

TEST_CASE("HM-01 600 GiB are registered in chunks that every driver takes", "[pinned_range]") {
    driver_log log{.refused_bytes = std::int64_t{1} << 39};
    range memory({&log});
    auto* const at = memory.allocate(600 * GiB, 128);
    CHECK(pinned_bytes(log) == 600 * GiB);
    CHECK(log.largest_pin_bytes <= 64 * GiB);
    std::int64_t next = 0;
    for (const auto& [offset, bytes] : log.pinned) {
        CHECK(offset == next); // contiguous: no chunk shows above
        CHECK(bytes % huge_page_bytes == 0);
        next = offset + bytes;
    }
    memory.deallocate(at, 600 * GiB, 128);
    CHECK(log.pinned.empty());
    CHECK(mapped_bytes(log) == 0);
}

TEST_CASE("HM-02 a rollback that fails too is reported, and unmaps nothing that is registered", "[pinned_range]") {
    driver_log log{.refused_at = 3 * chunk, .kept_at = chunk};
    range memory({&log}, chunk);
    const auto said = refusal<out_of_capacity>([&] { memory.allocate(5 * chunk, 128); });
    CHECK_THAT(said, ContainsSubstring("refused 4194304 of 20971520 bytes (host_bytes): out of memory"));
    CHECK_THAT(said, ContainsSubstring("keeps 4194304 bytes registered"));
    CHECK(log.unpins == offsets{2 * chunk, chunk, 0});
    CHECK(log.pinned == std::map<std::int64_t, std::int64_t>{{chunk, chunk}});
    CHECK(mapped_bytes(log) == chunk);
    CHECK(log.mapped.count(chunk) == 0); // that one was never unmapped
}

TEST_CASE("HM-05 HM-06 where any chunk is refused nothing is left, neither pinned nor mapped", "[pinned_range]") {
    const int refused = GENERATE(0, 2, 4);
    driver_log log{.refused_at = refused * chunk};
    range memory({&log}, chunk);
    CHECK_THROWS_AS(memory.allocate(5 * chunk, 128), out_of_capacity);
    CHECK(log.pinned.empty());
    CHECK(mapped_bytes(log) == 0);
    CHECK(log.pins.size() == static_cast<std::size_t>(refused + 1));
}

TEST_CASE("HM-07 chunks meet at whole huge pages, so that a row may lie across their ends in one range", "[pinned_range]") {
    driver_log log;
    range memory({&log}, chunk);
    memory.allocate(1000 * 656 * 64, 128); // pages that divide no chunk
    std::int64_t next = 0;
    for (const auto& [offset, bytes] : log.pinned) {
        CHECK(offset == next);
        CHECK(offset % huge_page_bytes == 0);
        CHECK(bytes % huge_page_bytes == 0);
        next += bytes;
    }
    CHECK(next >= 1000 * 656 * 64);
    CHECK(log.pinned.size() == log.pins.size()); // each once
}

TEST_CASE("HM-08 no registration is longer than a chunk, the last one only as long as it must be", "[pinned_range]") {
    driver_log log;
    range memory({&log}, chunk);
    memory.allocate(2 * chunk + 1, 128);
    CHECK(log.pins == offsets{0, chunk, 2 * chunk});
    CHECK(log.largest_pin_bytes == chunk);
    CHECK(log.pinned.at(2 * chunk) == huge_page_bytes);
    CHECK(range::usual_chunk_bytes <= 16 * GiB);
}

TEST_CASE("HM-09 no bytes are no registration", "[pinned_range]") {
    driver_log log;
    range memory({&log}, chunk);
    memory.deallocate(memory.allocate(0, 128), 0, 128);
    CHECK(log.pins.empty());
    CHECK(log.unpins.empty());
}

TEST_CASE("HM-10 a refusal names the bytes, the kind of memory, the limit and the option", "[pinned_range]") {
    rlimit former{};
    REQUIRE(getrlimit(RLIMIT_MEMLOCK, &former) == 0);
    const rlimit low{std::min<rlim_t>(former.rlim_max, 65536), former.rlim_max};
    REQUIRE(setrlimit(RLIMIT_MEMLOCK, &low) == 0);
    driver_log log{.refused_bytes = 0};
    range memory({&log});
    const auto said = refusal<out_of_capacity>([&] { memory.allocate(GiB, 128); });
    setrlimit(RLIMIT_MEMLOCK, &former);
    for (const auto& part : {std::string("host (pinned)"), std::string("1073741824 bytes"), std::string("host_bytes"),
                             "ulimit -l) is " + std::to_string(low.rlim_cur) + " bytes"})
        CHECK_THAT(said, ContainsSubstring(part));
}

TEST_CASE("HM-11 all that the driver has can be had: nothing is kept as a margin", "[pinned_range]") {
    driver_log log{.available_bytes = 4 * GiB};
    range memory({&log});
    auto* const small = memory.allocate(GiB, 128);
    CHECK(pinned_bytes(log) == GiB);
    memory.deallocate(small, GiB, 128);
    memory.deallocate(memory.allocate(4 * GiB, 128), 4 * GiB, 128);
    CHECK(log.pinned.empty());
    CHECK_THROWS_AS(memory.allocate(4 * GiB + 1, 128), out_of_capacity);
    CHECK(log.pinned.empty());
}

TEST_CASE("HM-12 memory lies on the node of the threads that touched it", "[pinned_range]") {
    constexpr std::int64_t bytes = 64 * MiB;
    auto* const at = map_touched(bytes, 2);
    std::ostringstream name;
    name << std::hex << reinterpret_cast<std::uintptr_t>(at);
    std::map<std::string, std::int64_t> pages; // by node
    std::ifstream maps("/proc/self/numa_maps");
    for (std::string line; std::getline(maps, line);) {
        if (line.rfind(name.str() + " ", 0) != 0) continue;
        std::istringstream words(line);
        for (std::string word; words >> word;)
            if (word[0] == 'N' && word.find('=') != std::string::npos) pages[word.substr(0, word.find('='))] += std::stoll(word.substr(word.find('=') + 1));
    }
    unmap(at, bytes);
    const bool one_node = !std::filesystem::exists("/sys/devices/system/node/node1");
    if (pages.empty() || !one_node) return; // the system doesn't tell, or threads may run anywhere
    CHECK(pages.size() == 1);
    CHECK(pages.begin()->first == "N0");
}

TEST_CASE("HM-13 what the driver does not let go of stays mapped", "[pinned_range]") {
    driver_log log{.kept_at = 0};
    range memory({&log}, chunk);
    auto* const at = memory.allocate(3 * chunk, 128);
    memory.deallocate(at, 3 * chunk, 128);
    CHECK(log.unpins == offsets{2 * chunk, chunk, 0});
    CHECK(mapped_bytes(log) == chunk);
    CHECK(log.mapped.at(0) == 3 * chunk); // its own mapping was left alone
}

TEST_CASE("HM-14 memory that a device would know at another address is refused: kernels are given the host's", "[pinned_range]") {
    driver_log log{.refused_at = chunk, .reason = "the device knows it at another address"}; // what the CUDA driver says of such a device
    range memory({&log}, chunk);
    CHECK_THAT(refusal<out_of_capacity>([&] { memory.allocate(3 * chunk, 128); }), ContainsSubstring("the device knows it at another address"));
    CHECK(log.pinned.empty());
    CHECK(mapped_bytes(log) == 0);
}

TEST_CASE("HM-15 any number of threads touches all of the memory, and no more than was asked for", "[pinned_range]") {
    const unsigned threads = GENERATE(0u, 1u, 3u, 64u);
    auto* const at = map_touched(5 * MiB, threads);
    CHECK(reinterpret_cast<std::uintptr_t>(at) % huge_page_bytes == 0);
    std::vector<unsigned char> resident(6 * MiB / 4096); // rounded up to huge pages
    REQUIRE(mincore(at, 6 * MiB, resident.data()) == 0);
    CHECK(std::count_if(resident.begin(), resident.end(), [](unsigned char page) { return (page & 1) == 0; }) == 0);
    CHECK(std::count(at, at + 6 * MiB, std::byte{0}) == 6 * MiB);
    at[6 * MiB - 1] = std::byte{7};
    unmap(at, 5 * MiB);
}
