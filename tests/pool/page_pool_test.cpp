// Which pages are free, and how many hold each of the others.
#include <dhisparse/pool/page_pool.hpp>

#include "catch.hpp"
#include "refusal.hpp"

#include <algorithm>
#include <random>
#include <set>
#include <vector>

using namespace dhisparse;
using dhisparse_test::refusal;
using pool = page_pool<gpu_page>;

namespace {

std::set<std::int32_t> take_all(pool& pages) {
    std::set<std::int32_t> taken;
    while (const auto page = pages.take())
        taken.insert(number(*page));
    return taken;
}

/// A pool and its model: how many hold each page.
struct checked_pool {
    explicit checked_pool(std::int32_t n) : pages(n), holders(static_cast<std::size_t>(n), 0) {}

    void take() {
        const auto page = pages.take();
        const auto n_held =
            std::count_if(holders.begin(), holders.end(), [](int h) { return h > 0; });
        REQUIRE(page.has_value() == (n_held < pages.capacity()));
        if (!page) return;
        auto& count = of(*page);
        REQUIRE(count == 0);
        count = 1;
    }
    void hold(gpu_page page) {
        if (of(page) == 0)
            REQUIRE_THROWS_AS(pages.hold(page), invalid_argument);
        else {
            pages.hold(page);
            ++of(page);
        }
    }
    void release(gpu_page page) {
        if (of(page) == 0)
            REQUIRE_THROWS_AS(pages.release(page), invalid_argument);
        else
            REQUIRE(pages.release(page) == (--of(page) == 0));
    }
    int& of(gpu_page page) { return holders[static_cast<std::size_t>(number(page))]; }

    pool pages;
    std::vector<int> holders;
};

} // namespace

TEST_CASE("a pool gives each of its pages once, page 0 first", "[pool]") {
    pool pages(5);
    CHECK(pages.capacity() == 5);
    CHECK(pages.take() == gpu_page{0});
    CHECK(pages.n_free() == 4);
    CHECK(take_all(pages) == std::set<std::int32_t>{1, 2, 3, 4});
    CHECK(pages.n_free() == 0);
}

// There is no null page here: what is not mapped is -1.
TEST_CASE("PP-08: page 0 is an ordinary page and no page is -1", "[pool]") {
    pool pages(3);
    CHECK(take_all(pages) == std::set<std::int32_t>{0, 1, 2});
    CHECK(pages.release(gpu_page{0}));
    CHECK(pages.holders(gpu_page::none) == 0);
    CHECK_THROWS_AS(pages.release(gpu_page::none), invalid_argument);
}

TEST_CASE("a full pool refuses the next page", "[pool]") {
    pool pages(1);
    CHECK(pages.take().has_value());
    CHECK_FALSE(pages.take().has_value());
    CHECK_FALSE(pool(0).take().has_value());
}

TEST_CASE("PP-05: with every page held there is none to take, until one is released", "[pool]") {
    pool pages(8);
    take_all(pages);
    CHECK_FALSE(pages.take().has_value());
    CHECK(pages.n_free() == 0);
    for (std::int32_t page = 0; page < 8; ++page)
        CHECK(pages.holders(gpu_page{page}) == 1);
    CHECK(pages.release(gpu_page{5}));
    CHECK(pages.take() == gpu_page{5});
}

// Host pages are never evicted for one another: the page that came back last is given next.
TEST_CASE("PP-04: the page that was given back is taken next, and the others keep their holders",
          "[pool]") {
    pool pages(4);
    take_all(pages);
    pages.release(gpu_page{2});
    CHECK(pages.take() == gpu_page{2});
    for (const std::int32_t page : {0, 1, 3})
        CHECK(pages.holders(gpu_page{page}) == 1);
}

TEST_CASE("pages come back in the reverse order of their giving back", "[pool]") {
    pool pages(6);
    take_all(pages);
    for (const std::int32_t page : {2, 5, 0})
        pages.release(gpu_page{page});
    CHECK(pages.take() == gpu_page{0});
    CHECK(pages.take() == gpu_page{5});
    CHECK(pages.take() == gpu_page{2});
}

TEST_CASE("a page is free once its last holder has released it", "[pool]") {
    pool pages(2);
    const auto page = *pages.take();
    pages.hold(page);
    pages.hold(page);
    CHECK(pages.holders(page) == 3);
    CHECK_FALSE(pages.release(page));
    CHECK_FALSE(pages.release(page));
    CHECK(pages.n_free() == 1);
    CHECK(pages.release(page));
    CHECK(pages.n_free() == 2);
    CHECK(pages.holders(page) == 0);
}

TEST_CASE("PP-11: releasing a free page is refused and repairs nothing", "[pool]") {
    pool pages(4);
    const auto page = *pages.take();
    CHECK(pages.release(page));
    CHECK(refusal([&] { pages.release(page); }) == "release: page 0 is free");
    CHECK(refusal([&] { pages.hold(page); }) == "hold: page 0 is free");
    CHECK(pages.holders(page) == 0);
    CHECK(pages.n_free() == 4);
    CHECK(take_all(pages).size() == 4); // it is not in the free list twice
}

TEST_CASE("a page of another pool is refused by its number", "[pool]") {
    pool pages(4);
    CHECK(refusal([&] { pages.release(gpu_page{4}); }) == "release: page 4 is not in [0, 4)");
    CHECK(refusal([&] { pages.hold(gpu_page{-1}); }) == "hold: page -1 is not in [0, 4)");
    CHECK(pages.holders(gpu_page{4}) == 0);
    CHECK(refusal([] { pool(-1); }) == "pages of a pool is -1, permitted: 0 to 2147483647");
}

TEST_CASE("PP-11: a pool counts holders as a model does over 100,000 random steps", "[pool]") {
    CAPTURE(dhisparse_test::seed());
    std::mt19937_64 random(dhisparse_test::seed());
    checked_pool both(24);
    for (int i = 0; i < 100'000; ++i) {
        const gpu_page page{static_cast<std::int32_t>(random() % 24)};
        switch (random() % 5) {
        case 0:
            both.hold(page);
            break;
        case 1:
        case 2:
            both.take();
            break;
        default:
            both.release(page);
        }
    }
    for (std::int32_t page = 0; page < 24; ++page) {
        REQUIRE(both.pages.holders(gpu_page{page}) == both.of(gpu_page{page}));
        while (both.of(gpu_page{page}) > 0)
            both.release(gpu_page{page});
    }
    CHECK(both.pages.n_free() == both.pages.capacity());
    CHECK(take_all(both.pages).size() == 24);
}

TEST_CASE("a page has the class that it was taken or reclassified as until it is free again", "[pool]") {
    pool pages(4);
    const auto hot = *pages.take(page_class::hot), tail = *pages.take(page_class::tail);
    CHECK(pages.class_of(hot) == page_class::hot);
    CHECK(pages.n_of(page_class::free) == 2);
    pages.reclassify(tail, page_class::history);
    CHECK(pages.n_of(page_class::tail) == 0);
    CHECK(pages.n_of(page_class::history) == 1);
    pages.hold(tail);
    pages.release(tail);
    CHECK(pages.class_of(tail) == page_class::history);
    pages.release(tail);
    CHECK(pages.class_of(tail) == page_class::free);
    CHECK_THROWS_AS(pages.reclassify(tail, page_class::hot), dhisparse::invalid_argument);
    CHECK(pages.n_of(page_class::free) == 3);
}
