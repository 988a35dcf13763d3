// The host resolver without misses, beside a bare loop that looks the same rows up in one uint16 array
// as long as the history: k = 2048, four 576-byte lanes. Arguments: history (positions), B (entries).
#include <dhisparse/hierarchy.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace {
namespace dh = dhisparse;

constexpr int k = 2048, page = 64, n_selections = 16;

dh::model_shape group_of_four() {
    dh::model_shape shape{.name = "four lanes", .layers = 4, .k = k, .page_positions = page};
    for (int layer = 0; layer < 4; ++layer) shape.sources.push_back({.layer = layer, .row_bytes = 576});
    shape.groups = {{0, 1, 2, 3}};
    shape.announcements = {{.layer = 0, .group = 0, .consumers = {0, 1, 2, 3}}};
    return shape;
}

/// [n_selections][k] distinct rows each, out of the first `pool` of a random order of [0, history).
std::vector<std::int32_t> selections(std::int32_t history, std::int32_t pool) {
    std::mt19937 random(7);
    std::vector<std::int32_t> rows(static_cast<std::size_t>(history)), out;
    std::iota(rows.begin(), rows.end(), 0);
    std::shuffle(rows.begin(), rows.end(), random);
    rows.resize(static_cast<std::size_t>(pool));
    for (int i = 0; i < n_selections; ++i) {
        std::shuffle(rows.begin(), rows.end(), random);
        out.insert(out.end(), rows.begin(), rows.begin() + k);
    }
    return out;
}

/// One request with its whole history imported; with pool pages for all of it, or for none.
struct session {
    session(std::int32_t history, std::int32_t entries, bool resident)
        : kv({.shape = group_of_four(), .pool_pages = entries / page + 4 + (resident ? history / page : 0), .host_pages = history / page + 1,
              .slots = 1, .hot_pages = entries / page, .max_positions = history + 1}),
          slot(kv.try_admit({history, 1}).value().index), out(2048), valid(1) {
        const dh::slot_id id{slot, 0};
        for (std::int32_t at = 0; at < history / page; kv.advance({}, kv.completed(), {})) {
            const auto given = static_cast<std::int32_t>(kv.import_pages(id, at, history / page - at).size());
            kv.landed(id, at, given);
            at += given;
        }
        kv.finish_import(id);
        for (int i = 0; i < 3; ++i) kv.advance({}, kv.completed(), {});
        round = kv.append({}, {&slot, nullptr, 1});
    }
    void resolve(const std::int32_t* rows) { kv.resolve({}, round, kv.shape().announcements[0], {rows, k, k}, {out.data(), k, k, valid.data()}); }

    dh::hierarchy<> kv;
    std::int32_t slot;
    dh::round_ref round;
    std::vector<dh::location> out;
    std::vector<std::int32_t> valid;
};

void report(benchmark::State& state) {
    state.counters["ns_per_row"] = benchmark::Counter(static_cast<double>(state.iterations()) * k * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void bare_look_up(benchmark::State& state) {
    const auto history = static_cast<std::int32_t>(state.range(0));
    const auto rows = selections(history, static_cast<std::int32_t>(state.range(1)));
    std::vector<std::uint16_t> table(static_cast<std::size_t>(history), 1);
    std::vector<std::int32_t> out(k);
    for (int i = 0; auto _ : state) {
        const auto* selected = rows.data() + (i++ % n_selections) * k;
        for (int j = 0; j < k; ++j) out[static_cast<std::size_t>(j)] = table[static_cast<std::size_t>(selected[j])];
        benchmark::DoNotOptimize(out.data());
        benchmark::ClobberMemory();
    }
    report(state);
}

void resolve_hot(benchmark::State& state) {
    const auto history = static_cast<std::int32_t>(state.range(0)), entries = static_cast<std::int32_t>(state.range(1));
    session s(history, entries, false);
    const auto rows = selections(history, entries);
    for (int round = 0; round < 4; ++round)
        for (int i = 0; i < n_selections; ++i) s.resolve(rows.data() + i * k);
    s.kv.reset_counts();
    for (int i = 0; auto _ : state) s.resolve(rows.data() + (i++ % n_selections) * k);
    if (s.kv.counts().host != 0) state.SkipWithError("a row was missing");
    report(state);
}

void resolve_pages(benchmark::State& state) {
    const auto history = static_cast<std::int32_t>(state.range(0));
    session s(history, static_cast<std::int32_t>(state.range(1)), true);
    const auto rows = selections(history, history);
    for (int i = 0; auto _ : state) s.resolve(rows.data() + (i++ % n_selections) * k);
    if (s.kv.counts().host != 0) state.SkipWithError("a row was missing");
    report(state);
}

void sizes(benchmark::internal::Benchmark* bench) {
    for (const auto history : {4096, 32768, 262144, 1048576}) bench->Args({history, 4096});
    for (const auto entries : {2048, 8192, 16384}) bench->Args({32768, entries});
}
BENCHMARK(bare_look_up)->Apply(sizes);
BENCHMARK(resolve_hot)->Apply(sizes);
BENCHMARK(resolve_pages)->Apply(sizes);

} // namespace
