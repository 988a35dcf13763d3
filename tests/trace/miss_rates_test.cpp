// Selections recorded from a real model, fed to the hot cache alone: its miss rates are those that
// examples/tiny_dsa's cache simulator gives for the same trace.
#include "selection_trace.hpp"

#include <dhisparse/cache/hot_cache.hpp>
#include <dhisparse/policy/hot_index/dense.hpp>
#include <dhisparse/policy/hot_index/hashed.hpp>
#include <dhisparse/policy/replacement/fifo.hpp>
#include <dhisparse/policy/replacement/lru.hpp>

#include "catch.hpp"

#include <array>
#include <vector>

using namespace dhisparse;
using dhisparse_test::n_producers;
using dhisparse_test::selection_trace;

namespace {

struct rate {
    std::int64_t missed = 0, selected = 0;

    double percent() const {
        return 100.0 * static_cast<double>(missed) / static_cast<double>(selected);
    }
    void add(const rate& other) {
        missed += other.missed;
        selected += other.selected;
    }
    friend bool operator==(const rate&, const rate&) = default;
};
using rates = std::array<rate, n_producers + 1>; // the last one: all

/// One request and producer through a cache of its own. The first access only fills it; the row
/// that an access computes itself comes in, but is not a miss.
template <class Index, class Replacement>
rate feed(const selection_trace& trace, std::size_t request, std::size_t producer,
          std::int32_t entries) {
    hot_cache<Index, Replacement> cache(8192, entries, entries + trace.k());
    std::vector<std::int32_t> given(static_cast<std::size_t>(trace.k()));
    rate out;
    for (std::size_t step = 0; step < trace.n_steps(request); ++step) {
        const auto access = trace.step(request, step, producer);
        cache.access(access.rows, given,
                     [&](std::int32_t row) { out.missed += step > 0 && row != access.position; });
        if (step > 0) out.selected += trace.k();
    }
    return out;
}

template <class Index, class Replacement>
rates feed_all(const selection_trace& trace, std::int32_t entries) {
    rates out;
    for (std::size_t producer = 0; producer < n_producers; ++producer) {
        for (std::size_t request = 0; request < trace.n_requests(); ++request)
            out[producer].add(feed<Index, Replacement>(trace, request, producer, entries));
        out.back().add(out[producer]);
    }
    return out;
}

/// A line of the table in the traces' README, in percent.
struct line {
    std::int32_t entries;
    double producer[n_producers], all;
};
constexpr line lru_lines[]{{256, {48.86, 25.45, 16.64, 20.30}, 27.81},
                           {512, {25.67, 2.95, 1.37, 4.12}, 8.53},
                           {1024, {8.82, 1.43, 1.18, 2.39}, 3.46}};
constexpr line fifo_lines[]{{256, {48.86, 25.45, 16.64, 20.30}, 27.81},
                            {512, {32.33, 5.92, 2.59, 6.47}, 11.83},
                            {1024, {13.40, 1.43, 1.18, 2.97}, 4.74}};

template <class Replacement>
void compare(const line& expected) {
    CAPTURE(Replacement::name, expected.entries);
    const auto trace = selection_trace::load();
    const auto got = feed_all<dense, Replacement>(trace, expected.entries);
    CHECK(got.back().percent() == Approx(expected.all).margin(0.2));
    for (std::size_t producer = 0; producer < n_producers; ++producer) {
        CAPTURE(producer);
        CHECK(got[producer].percent() == Approx(expected.producer[producer]).margin(0.7));
    }
    CHECK(feed_all<hashed, Replacement>(trace, expected.entries) == got);
}

} // namespace

TEST_CASE("the trace holds three requests of four producers and 128 steps", "[trace]") {
    const auto trace = selection_trace::load();
    CHECK(trace.n_requests() == 3);
    CHECK(trace.k() == 256);
    for (std::size_t request = 0; request < 3; ++request) {
        CHECK(trace.n_steps(request) == 128);
        CHECK(trace.step(request, 127, 3).position == 7127);
    }
}

TEST_CASE("miss rates of lru are those of the table", "[trace]") {
    for (const auto& expected : lru_lines)
        compare<lru>(expected);
}

TEST_CASE("miss rates of fifo are those of the table", "[trace]") {
    for (const auto& expected : fifo_lines)
        compare<fifo>(expected);
}

TEST_CASE("a cache of k rows holds just the selection, so that the policies agree", "[trace]") {
    const auto trace = selection_trace::load();
    CHECK(feed_all<dense, lru>(trace, 256) == feed_all<dense, fifo>(trace, 256));
}
