// What the ends of a round cost inside a graph: append, and commit with the backup of the new rows. R = 32, K = 1.
#include "cuda_session.cuh"

#include <benchmark/benchmark.h>

namespace {
using namespace dhisparse_bench;

enum class what { append, append_and_commit };

void round_ends(benchmark::State& state, conditions c, what part, double target) {
    c.growth = 4096;
    session<> s(c);
    auto graph = s.graph_of([&](int) {
        const auto round = s.append();
        if (part == what::append_and_commit) s.commit(round);
    });
    std::vector<double> times;
    auto frontier = c.positions;
    for (auto _ : state) {
        times.push_back(time_graph(graph, s.stream(), 1).front() / c.per_graph);
        state.SetIterationTime(times.back());
        if (part == what::append_and_commit) s.report(frontier += c.per_graph);
    }
    cudaGraphExecDestroy(graph);
    std::sort(times.begin(), times.end());
    state.counters["median_us"] = times[times.size() / 2] * 1e6;
    state.counters["target_us"] = target;
    if (part == what::append_and_commit) {
        const auto counts = s.counts();
        state.counters["backed_up_rows"] = static_cast<double>(counts.backed_up_rows) / (static_cast<double>(times.size()) * c.per_graph);
        if (counts.backed_up_rows != times.size() * static_cast<std::size_t>(c.per_graph * c.requests * c.groups)) state.SkipWithError("rows were not backed up");
    }
}

void add(const std::string& name, const conditions& c, what part, double target) {
    benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { round_ends(state, c, part, target); })->Iterations(12)->UseManualTime()->Unit(benchmark::kMicrosecond);
}

} // namespace

int main(int argc, char** argv) {
    const conditions one{.requests = 32, .positions = 4096}, step{.requests = 32, .groups = 21, .positions = 4096};
    add("append/one_group", one, what::append, 0);
    add("append_and_commit/one_group", one, what::append_and_commit, 0);
    add("append/21_groups", step, what::append, 0);
    add("append_and_commit/21_groups", step, what::append_and_commit, 0);
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
}
