// Admission: the ledger's answers, and that it takes all or nothing.
#include "catch.hpp"
#include "ledger_rig.hpp"
#include "refusal.hpp"

#include <type_traits>

using namespace dhisparse_test;
using dh::verdict;

namespace {

// With p = 4, one hot page, k_max = 1 and steps_ahead = 1 a request needs 1 hot and 3 tail pages.
constexpr int one_request = 4;

bool is(const dh::fit& got, verdict answer, const std::string& limit, std::int64_t pages = 0) {
    return got.answer == answer && got.limit == limit && got.pages == pages;
}

/// Whether a pool of GPU pages and a copy's GPU side take it.
template <class Page>
concept is_gpu_page = requires(dh::page_pool<dh::gpu_page> pool, dh::page_copy copy, Page page) { pool.release(page); copy.gpu = page; };

} // namespace

TEST_CASE("a request that fits is admitted", "[ledger]") {
    ledger_rig rig({.pool_pages = one_request});
    CHECK(is(rig.fits(30), verdict::now, ""));
    CHECK(rig.it.required_pages({30, 0}) == one_request);
    CHECK(rig.it.tail_pages() == 3);
    CHECK(rig.it.try_admit({30, 0}));
    CHECK(rig.it.pages().required == one_request);
    CHECK(rig.it.pages().promised == 3);
    CHECK(rig.it.free_host_pages() == 64 - 8); // none beyond the reserved length
}

TEST_CASE("a demand larger than what there is at all never fits, and the limit is named", "[ledger]") {
    SECTION("GPU pages: without a host tier every page is required") {
        ledger_rig rig({.pool_pages = 11, .host_pages = 0});
        CHECK(is(rig.fits(40), verdict::now, ""));
        CHECK(is(rig.fits(41), verdict::never, "GPU pages"));
        CHECK_FALSE(rig.it.try_admit({41, 0}));
    }
    SECTION("GPU pages: index keys stay on the GPU") {
        ledger_rig rig({.pool_pages = 8, .host_pages = 1000, .shape = {.row_bytes = 32, .index_key_bytes = 32}});
        const auto blocks = rig.layout.index().blocks_per_page * 4; // pages of positions that 4 index pages serve
        CHECK(is(rig.fits(blocks * 4), verdict::now, ""));
        CHECK(is(rig.fits(blocks * 4 + 1), verdict::never, "GPU pages"));
    }
    SECTION("host pages: the prompt and the steps ahead") {
        ledger_rig rig({.host_pages = 10});
        CHECK(is(rig.fits(40), verdict::now, ""));
        CHECK(is(rig.fits(41), verdict::never, "host pages"));
        CHECK(is(rig.fits(38, 2), verdict::now, ""));
        CHECK(is(rig.fits(39, 2), verdict::never, "host pages"));
    }
    SECTION("metadata: the whole reserved length") {
        ledger_rig rig({.metadata_runs = 1});
        CHECK(is(rig.fits(0, 32), verdict::now, ""));
        CHECK(is(rig.fits(0, 33), verdict::never, "metadata"));
    }
}

TEST_CASE("a demand that only a finish can help is told to wait, and the limit is named", "[ledger]") {
    SECTION("slots") {
        ledger_rig rig({.slots = 1});
        rig.start(5);
        CHECK(is(rig.fits(5), verdict::later, "slots"));
    }
    SECTION("host pages") {
        ledger_rig rig({.host_pages = 10});
        rig.start(32);
        CHECK(is(rig.fits(8), verdict::now, ""));
        CHECK(is(rig.fits(9), verdict::later, "host pages"));
    }
    SECTION("metadata") {
        ledger_rig rig({.metadata_runs = 2});
        rig.start(0, 32);
        CHECK(is(rig.fits(0, 32), verdict::now, ""));
        CHECK(is(rig.fits(0, 64), verdict::later, "metadata"));
    }
    SECTION("metadata in pieces: enough bytes, but no run as long") {
        ledger_rig rig({.metadata_runs = 3});
        const auto first = rig.start(1), middle = rig.start(1), last = rig.start(1);
        rig.it.finish(first);
        rig.it.finish(last);
        rig.advance();
        rig.advance();
        CHECK(is(rig.fits(0, 64), verdict::later, "metadata"));
        rig.it.finish(middle);
        CHECK(is(rig.fits(0, 64), verdict::now, ""));
    }
    SECTION("GPU pages") {
        ledger_rig rig({.pool_pages = 8, .hot_pages = 4});
        const auto slot = rig.start(5);
        CHECK(is(rig.fits(5), verdict::later, "GPU pages"));
        rig.it.finish(slot);
        CHECK(is(rig.fits(5), verdict::later, "GPU pages")); // leaving: the fence has not passed
        rig.advance();
        CHECK(is(rig.fits(5), verdict::later, "GPU pages"));
        rig.advance();
        CHECK(is(rig.fits(5), verdict::now, ""));
    }
}

TEST_CASE("optional pages that could be reclaimed are counted in the answer", "[ledger]") {
    ledger_rig rig({.pool_pages = 11});
    rig.start(28);
    REQUIRE(rig.it.pages().optional == 7);
    CHECK(is(rig.fits(5), verdict::after_reclaiming, "GPU pages", 4));
    CHECK_FALSE(rig.it.try_admit({5, 0}));
    SECTION("but not where all of them would not do") {
        ledger_rig few({.pool_pages = 7});
        few.start(28);
        REQUIRE(few.it.pages().optional == 3);
        CHECK(is(few.fits(5), verdict::later, "GPU pages"));
    }
}

TEST_CASE("a demand of nothing, or below zero, is refused", "[ledger]") {
    ledger_rig rig({});
    CHECK(refusal([&] { (void)rig.fits(0, 0); }) == "demand of no position at all");
    CHECK(refusal([&] { (void)rig.fits(-1, 5); }).find("demand of -1 positions") == 0);
    CHECK(refusal([&] { (void)rig.fits(5, -1); }).find("-1 growth, permitted: 0 to 1073741824") != std::string::npos);
}

TEST_CASE("PP-13 an admission takes all of its pages in both tiers, or none", "[ledger]") {
    SECTION("host pages in plenty, GPU pages lacking") {
        ledger_rig rig({.pool_pages = one_request + 2, .host_pages = 10});
        rig.start(4);
        const ledger_state before(rig.it);
        CHECK_FALSE(rig.it.try_admit({12, 0}));
        CHECK(ledger_state(rig.it) == before);
        CHECK(rig.it.free_host_pages() == 9);
        CHECK(rig.advance().edits.empty());
    }
    SECTION("GPU pages in plenty, host pages lacking") {
        ledger_rig rig({.host_pages = 10});
        rig.start(28);
        const ledger_state before(rig.it);
        CHECK_FALSE(rig.it.try_admit({16, 0}));
        CHECK(ledger_state(rig.it) == before);
        CHECK(rig.advance().edits.empty());
    }
}

TEST_CASE("PP-05 a full pool refuses one more request, unchanged, until a page comes back", "[ledger]") {
    ledger_rig rig({.pool_pages = 2 * one_request});
    const auto first = rig.start(3);
    rig.start(3);
    const ledger_state before(rig.it);
    CHECK(rig.it.pages().free == 0);
    CHECK_FALSE(rig.it.try_admit({1, 0}));
    CHECK(ledger_state(rig.it) == before);
    rig.it.finish(first);
    rig.advance(); // the fence
    rig.advance(); // has passed
    CHECK(rig.it.try_admit({1, 0}));
}

TEST_CASE("PP-11 what has been given back once is refused a second time", "[ledger]") {
    SECTION("a request") {
        ledger_rig rig({});
        const auto slot = rig.start(5);
        rig.it.finish(slot);
        CHECK(refusal([&] { rig.it.finish(slot); }) == "finish: slot 0 of generation 0 has ended");
        rig.advance();
        rig.advance();
        CHECK(rig.it.pages().free == 16);
        CHECK(rig.it.free_slots() == 4);
    }
    SECTION("a page") {
        dh::page_pool<dh::gpu_page> pool(2);
        const auto page = pool.take().value();
        CHECK(pool.release(page));
        CHECK(refusal([&] { pool.release(page); }) == "release: page 0 is free");
        CHECK(pool.n_free() == 2);
    }
}

TEST_CASE("AD-02 a request that can never fit is told so at once, and the next one is admitted", "[ledger]") {
    ledger_rig rig({.pool_pages = 100, .host_pages = 0, .hot_pages = 0, .shape = {.page_positions = 1}});
    CHECK(is(rig.fits(101), verdict::never, "GPU pages"));
    CHECK_FALSE(rig.it.try_admit({101, 0}));
    CHECK(rig.it.try_admit({10, 0}));
}

TEST_CASE("AD-03 a request that can never fit disturbs none of those that run", "[ledger]") {
    ledger_rig rig({.pool_pages = 100, .host_pages = 0, .hot_pages = 0});
    const std::vector slots{rig.start(20, 20), rig.start(21, 20), rig.start(22, 20)};
    CHECK(is(rig.fits(500), verdict::never, "GPU pages"));
    CHECK_FALSE(rig.it.try_admit({500, 0}));
    for (int n = 24; n < 40; ++n) CHECK(rig.advance({{slots[0], n}, {slots[1], n}, {slots[2], n}}).stalled.empty());
    for (const auto slot : slots) rig.it.finish(slot);
    rig.advance();
    rig.advance();
    CHECK(rig.it.pages().free == 100);
}

TEST_CASE("AD-07 admission and allocation agree on the pages of packed rows", "[ledger]") {
    ledger_rig rig({.pool_pages = 32, .host_pages = 16, .shape = {.page_positions = 256, .k = 64, .m = 4}});
    CHECK(rig.layout.group(0).rows_per_page.divisor == 64);
    for (int positions = 1; positions <= 2048; positions += positions < 260 ? 1 : 61) {
        const int pages = (positions + 255) / 256;
        const auto before = rig.it.free_host_pages();
        const auto slot = rig.it.try_admit({positions, 0}).value();
        CHECK(before - rig.it.free_host_pages() == pages);
        const auto given = rig.it.import_pages(slot, 0, pages);
        CHECK(static_cast<int>(given.size()) == pages);
        rig.it.finish(slot);
        rig.advance();
        rig.advance();
        CHECK(rig.it.pages().free == 32);
    }
}

TEST_CASE("AD-12 queries change nothing", "[ledger]") {
    ledger_rig asked({.pool_pages = 2 * one_request}), fresh({.pool_pages = 2 * one_request});
    for (auto* rig : {&asked, &fresh}) rig->start(3);
    const ledger_state before(asked.it);
    for (int i = 0; i < 100; ++i) {
        (void)asked.fits(5);
        (void)asked.fits(5000, 17);
        (void)asked.it.required_pages({60, 0});
        CHECK_FALSE(asked.it.try_admit({5000, 0}));
    }
    CHECK(ledger_state(asked.it) == before);
    CHECK(asked.start(2) == fresh.start(2));
    CHECK(asked.advance() == fresh.advance());
}

TEST_CASE("AD-13 a request longer than the GPU pool is admitted where the host tier holds it", "[ledger]") {
    ledger_rig rig({.pool_pages = 100, .host_pages = 1000, .hot_pages = 8, .shape = {.page_positions = 1, .k = 4}});
    CHECK(is(rig.fits(300), verdict::now, ""));
    CHECK(is(rig.fits(1001), verdict::never, "host pages"));
    rig.start(300);
    CHECK(rig.it.pages().required + rig.it.pages().optional <= 100);
}

TEST_CASE("AD-15 a request of one row that ends without a step leaves nothing behind", "[ledger]") {
    ledger_rig rig({});
    for (int i = 0; i < 1000; ++i) {
        const auto slot = rig.start(1);
        CHECK(slot.generation == static_cast<std::uint32_t>(i));
        rig.it.finish(slot);
        rig.advance();
        rig.advance();
        REQUIRE(rig.it.pages().free == 16);
        REQUIRE(rig.it.free_host_pages() == 64);
        REQUIRE(rig.it.free_slots() == 4);
    }
    CHECK(is(rig.fits(0, 64), verdict::now, ""));
}

TEST_CASE("RM-07 page ids of the two tiers are distinct types, and a copy pairs them by page", "[ledger]") {
    static_assert(!std::is_convertible_v<dh::gpu_page, dh::host_page> && !std::is_convertible_v<dh::host_page, dh::gpu_page>);
    static_assert(!std::is_convertible_v<dh::gpu_page, std::int32_t>);
    static_assert(is_gpu_page<dh::gpu_page> && !is_gpu_page<dh::host_page> && !is_gpu_page<std::int32_t>);
    ledger_rig rig({.pool_pages = one_request});
    const auto slot = rig.it.try_admit({8, 0}).value();
    std::vector<dh::gpu_page> given;
    for (const int page : {1, 0}) given.push_back(rig.it.import_pages(slot, page, 1).front());
    rig.it.landed(slot, 0, 2);
    const auto plan = rig.advance();
    REQUIRE(plan.copies.size() == 2);
    std::vector<dh::host_page> host(2);
    for (const auto& e : plan.edits)
        if (e.what == dh::edit::kind::host_map) host[static_cast<std::size_t>(e.index)] = dh::host_page{static_cast<std::int32_t>(e.value)};
    CHECK(plan.copies[0].gpu == given[1]);
    CHECK(plan.copies[0].host == host[0]);
    CHECK(plan.copies[1].gpu == given[0]);
    CHECK(plan.copies[1].host == host[1]);
}
