// The CUDA resolver inside a graph, with a fresh selection for every resolve: microseconds a resolve beside the
// target. k = 2048, group of four 576-byte lanes, history 32,768 and B = 4096 unless the name says otherwise, host pages scattered.
#include "cuda_session.cuh"

#include <benchmark/benchmark.h>

namespace {
using namespace dhisparse_bench;

constexpr int graphs = 12; // of 24 resolves each: the median of these is what counts

void resolve(benchmark::State& state, conditions c, double target) {
    session s(c);
    s.run();
    const auto before = s.counts();
    std::vector<double> times;
    for (auto _ : state) {
        times.push_back(s.run());
        state.SetIterationTime(times.back());
    }
    const auto after = s.counts();
    std::sort(times.begin(), times.end());
    const auto resolves = static_cast<double>(times.size()) * c.per_graph;
    const auto median = times[times.size() / 2], rows = static_cast<double>(after.host_rows - before.host_rows) / resolves;
    state.counters["median_us"] = median * 1e6;
    state.counters["target_us"] = target;
    state.counters["missed_rows"] = rows;
    state.counters["missed_percent"] = 100.0 * static_cast<double>(after.host - before.host) / static_cast<double>(after.selected - before.selected);
    if (rows > 0) state.counters["ns_a_row"] = median * 1e9 / rows;
    for (int v = 0; v < dh::n_violations; ++v)
        if (after.violations[v] != before.violations[v]) state.SkipWithError("a precondition was broken");
}

void add(const std::string& name, const conditions& c, double target = 0) {
    benchmark::RegisterBenchmark((name + "/R:" + std::to_string(c.requests)).c_str(), [=](benchmark::State& state) { resolve(state, c, target); })
        ->Iterations(graphs)->UseManualTime()->Unit(benchmark::kMicrosecond);
}
void add_row(const std::string& name, conditions c, const std::vector<double>& targets) {
    const int requests[] = {1, 8, 32, 64, 128};
    for (std::size_t i = 0; i < targets.size(); ++i) {
        c.requests = requests[i];
        add(name, c, targets[i]);
    }
}

} // namespace

int main(int argc, char** argv) {
    add_row("warm/all_hot", {}, {2.5, 2.8, 4.3, 6, 9.5});
    add_row("warm/all_pages", {.pages = 1}, {1.8, 1.9, 2.2, 2.6, 3.2});
    add_row("warm/pages_70", {.pages = 0.7}, {2.2, 2.4, 3.3, 4.5, 6});
    add_row("warm/K4", {.queries = 4, .pool = 5150, .entries = 8192}, {4, 6, 12, 22, 42});
    add_row("warm/K8", {.queries = 8, .pool = 8192, .entries = 8192}, {8, 12, 26, 46, 90});
    add_row("warm/missed_0.1", {.missed = 0.001}, {8, 9, 12, 17, 26});
    add_row("warm/missed_1", {.missed = 0.01}, {10, 16, 39, 70, 132});
    add_row("warm/missed_5", {.missed = 0.05, .pool = 2600}, {14, 46, 158, 308, 608});
    add_row("warm/missed_20", {.missed = 0.2, .pool = 2200}, {28, 157, 606, 1196, 2385});
    add("warm/K4_missed_5", {.requests = 32, .queries = 4, .missed = 0.05, .pool = 4700, .entries = 8192});
    // A round of one query each beside a plain resolve (warm/all_hot), and queries that share no row beside as many requests (warm/*/R:128).
    add_row("round/K1", {.widths = true}, {0, 0, 0, 0, 0});
    add_row("round/K1_of_4", {.k_max = 4}, {0, 0, 0, 0, 0});
    add("round/K4_disjoint", {.requests = 32, .queries = 4, .disjoint = true, .pool = 12000, .entries = 16384});
    add("round/K4_disjoint_missed_5", {.requests = 32, .queries = 4, .disjoint = true, .missed = 0.05, .pool = 10400, .entries = 16384});
    add("round/K4_disjoint_missed_1", {.requests = 32, .queries = 4, .disjoint = true, .missed = 0.01, .pool = 12000, .entries = 16384});
    // Unions larger than B: rows staged, promoted and released, with the release.
    add_row("staged/K4_B_4096", {.queries = 4, .missed = 0.01, .pool = 5150, .entries = 4096}, {0, 0, 0});
    add_row("cold/all_hot", {.cold = true}, {0, 0, 0, 0, 0});
    add_row("cold/missed_1", {.missed = 0.01, .cold = true}, {0, 0, 0});
    add_row("rotating/all_hot", {.groups = 21, .positions = 8192}, {0, 0, 0});
    add_row("rotating/missed_1", {.missed = 0.01, .groups = 21, .positions = 8192}, {0, 0, 0});
    for (const int requests : {1, 2, 4, 8, 16, 32, 64, 128, 256}) add("growth/requests", {.requests = requests});
    for (const int positions : {4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576})
        add("growth/history_" + std::to_string(positions), {.requests = 8, .positions = positions});
    for (const int entries : {2048, 4096, 8192, 16384}) add("growth/B_" + std::to_string(entries), {.requests = 32, .pool = 2048, .entries = entries});
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
}
