// The step path allocates nothing once the hierarchy stands: every operator new of this program is counted.
#include "catch.hpp"
#include "engine.hpp"

#include <cstdlib>
#include <new>

namespace {

std::size_t n_allocations = 0;

// Not inlined: GCC would take malloc's and free's pairing with new and delete for a mistake.
[[gnu::noinline]] void* counted(std::size_t bytes, std::size_t alignment) noexcept {
    ++n_allocations;
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

[[gnu::noinline]] void* counted_or_throw(std::size_t bytes, std::size_t alignment) {
    auto* memory = counted(bytes, alignment);
    if (memory == nullptr) throw std::bad_alloc{};
    return memory;
}

[[gnu::noinline]] void give_back(void* memory) noexcept { std::free(memory); }

constexpr std::size_t usual = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

} // namespace

// All forms, so that none of the runtime's own meets a free of ours.
void* operator new(std::size_t bytes) { return counted_or_throw(bytes, usual); }
void* operator new[](std::size_t bytes) { return counted_or_throw(bytes, usual); }
void* operator new(std::size_t bytes, std::align_val_t alignment) { return counted_or_throw(bytes, static_cast<std::size_t>(alignment)); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) { return counted_or_throw(bytes, static_cast<std::size_t>(alignment)); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return counted(bytes, usual); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return counted(bytes, usual); }
void operator delete(void* memory) noexcept { give_back(memory); }
void operator delete[](void* memory) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { give_back(memory); }
void operator delete[](void* memory, std::size_t) noexcept { give_back(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { give_back(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { give_back(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { give_back(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { give_back(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { give_back(memory); }

using namespace dhisparse_test;

namespace {

/// Two requests with most of their history in the host tier, which rows are then brought back from.
struct decoding {
    static constexpr int k = 8, k_max = 2;
    engine e;
    std::vector<std::int32_t> slots, widths{2, 1, 2}, accepted{1, 0, 0};
    std::vector<std::int32_t> rows = std::vector<std::int32_t>(5 * k);
    std::vector<dh::location> at = std::vector<dh::location>(5 * 64);
    std::vector<std::int32_t> valid = std::vector<std::int32_t>(5);

    explicit decoding(int combination) : e(config(), combination) {
        for (const int prompt : {50, 61}) slots.push_back(e.start(prompt, 200).index);
        slots.push_back(-1);
    }
    static dh::hierarchy_config config() {
        auto config = plain_config({.page_positions = 4, .k = k, .lanes = 2, .row_bytes = 32, .index_key_bytes = 8});
        config.k_max = k_max;
        config.hot_pages = 3; // 12 entries: a round of two may be larger
        config.reserve_pages = config.pool_pages; // nothing stays as optional history
        config.slots = 3;
        config.metadata_bytes = 1 << 16;
        return config;
    }
    /// One round; returns what it allocated.
    std::size_t step(int i) {
        for (int n = 0; n < 5 * k; ++n) rows[static_cast<std::size_t>(n)] = n % 3 == 0 ? n : (n * 7 + i * 13) % 53 - 1;
        const auto before = n_allocations;
        const auto round = e.it->append({slots.data(), widths.data(), 3});
        e.it->resolve(round, e.it->layout().shape().announcements[0], {rows.data(), k, k}, {at.data(), 64, 0, valid.data()});
        e.it->commit(round, accepted.data());
        return n_allocations - before;
    }
};

} // namespace

TEST_CASE("ST-06: append, resolve, release and commit allocate nothing after construction", "[allocation]") {
    const int combination = GENERATE(range(0, 8));
    CAPTURE(combination);
    decoding d(combination);
    for (int i = 0; i < 40; ++i) {
        CHECK(d.step(i) == 0);
        d.e.advance();
    }
    CHECK(n_allocations > 100); // it does count
    CHECK(d.e.it->counts().host > 100);
    CHECK(d.e.it->counts().hot > 0);
    CHECK(d.e.it->counts().staged_rows > 100);
    CHECK(d.e.it->counts().backed_up_rows > 0);
}

TEST_CASE("misuse on the step path allocates nothing either", "[allocation]") {
    decoding d(0);
    d.slots[2] = 77;
    d.widths = {9, -3, 1};
    d.accepted = {12, 0, 5};
    CHECK(d.step(0) == 0);
    CHECK(d.e.it->counts().count_of(dh::violation::slot_not_live) == 1);
    CHECK(d.e.it->counts().count_of(dh::violation::width_out_of_range) == 2);
}
