// The ledger's advance() with much and with little held. Arguments: requests, pages of history of each.
#include <dhisparse/ledger/ledger.hpp>
#include <dhisparse/policy/hot_index/dense.hpp>
#include <dhisparse/policy/layout/page_major.hpp>

#include <benchmark/benchmark.h>

#include <vector>

namespace {
namespace dh = dhisparse;

constexpr int page = 64, n_busy = 16; // requests that step

dh::page_layout layout_for(std::int64_t pages) {
    dh::model_shape shape{.name = "one source", .layers = 1, .k = 64, .page_positions = page};
    shape.sources.push_back({.layer = 0, .row_bytes = 128});
    shape.groups = {{0}};
    shape.announcements = {{.layer = 0, .group = 0, .consumers = {0}}};
    return dh::page_layout::make<dh::page_major>(shape, {pages, 1, 1});
}

/// Every request resident, its history durable.
struct loaded {
    loaded(int requests, int pages)
        : layout(layout_for(std::int64_t{requests} * (pages + 32))), it(layout, dh::slot_table_layout::make<dh::dense>(layout, requests + 1, std::int64_t{1} << 40),
              {.host_pages = requests * (pages + 32), .backup_pages_per_step = 1 << 20}) {
        for (int r = 0; r < requests; ++r) {
            slots.push_back(it.try_admit({std::int64_t{pages} * page, 1 << 20}).value());
            it.import_pages(slots.back(), 0, pages);
            it.landed(slots.back(), 0, pages);
            it.finish_import(slots.back());
        }
        for (int i = 0; i < 4; ++i) advance({});
    }
    void advance(std::span<const dh::frontier_report> reports) {
        const auto& plan = it.advance(done, reports);
        done.clear();
        for (const auto& copy : plan.copies) done.push_back(copy.id);
        if (plan.fence != 0) done.push_back(plan.fence);
    }
    dh::page_layout layout;
    dh::ledger it;
    std::vector<dh::slot_id> slots;
    std::vector<dh::ticket> done;
};

void nothing_to_do(benchmark::State& state) {
    loaded l(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
    for (auto _ : state) l.advance({});
}

/// Sixteen requests take a step, whatever the others are: a report, sometimes a page that becomes history and a new one.
void steps(benchmark::State& state) {
    loaded l(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
    int n = static_cast<int>(state.range(1)) * page;
    std::vector<dh::frontier_report> reports;
    for (int r = 0; r < n_busy; ++r) reports.push_back({l.slots[static_cast<std::size_t>(r)], n});
    for (auto _ : state) {
        ++n;
        for (auto& report : reports) report.frontier = n;
        l.advance(reports);
    }
    state.counters["ns_per_report"] = benchmark::Counter(static_cast<double>(state.iterations()) * n_busy * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

/// A prefix of eight pages is kept, reclaimed and dropped, beside whatever the others hold.
void reclaims(benchmark::State& state) {
    loaded l(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
    constexpr int n = 8;
    for (auto _ : state) {
        const auto slot = l.it.try_admit({n * page, 0}).value();
        l.it.import_pages(slot, 0, n);
        l.it.landed(slot, 0, n);
        l.it.finish_import(slot);
        l.advance({});
        const auto prefix = l.it.keep(slot, n * page).value();
        l.it.finish(slot);
        benchmark::DoNotOptimize(l.it.reclaim(n));
        for (int i = 0; i < 3; ++i) l.advance({});
        l.it.drop(prefix);
        l.it.reclaim(0);
        l.advance({});
    }
}

BENCHMARK(nothing_to_do)->Args({16, 100})->Args({256, 1600});
BENCHMARK(reclaims)->Args({16, 100})->Args({256, 1600})->Iterations(1000)->Repetitions(5)->ReportAggregatesOnly();
BENCHMARK(steps)->Args({16, 100})->Args({256, 1600})->Iterations(1000)->Repetitions(5)->ReportAggregatesOnly();

} // namespace
