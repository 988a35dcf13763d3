// The CUDA resolver inside a graph, with fresh selections for every resolve: microseconds a resolve beside
// the target. k = 2048, B = 4096, group of four 576-byte lanes, history 32,768, host tier scattered over its range.
// DHISPARSE_BENCH_HOST_GIB (a compile definition, default 24) is the host tier's size.
#include <dhisparse/cuda_backend.cuh>
#include <dhisparse/hierarchy.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#ifndef DHISPARSE_BENCH_HOST_GIB
#define DHISPARSE_BENCH_HOST_GIB 24
#endif

namespace {
namespace dh = dhisparse;

constexpr int k = 2048, page = 64, entries = 4096, history = 32768, per_graph = 24;

dh::model_shape groups_of_four(int groups) {
    dh::model_shape shape{.name = "four lanes", .layers = 4 * groups, .k = k, .page_positions = page};
    for (int layer = 0; layer < 4 * groups; ++layer) shape.sources.push_back({.layer = layer, .row_bytes = 576});
    for (int g = 0; g < groups; ++g) {
        shape.groups.push_back({4 * g, 4 * g + 1, 4 * g + 2, 4 * g + 3});
        shape.announcements.push_back({.layer = 4 * g, .group = g, .consumers = shape.groups.back()});
    }
    return shape;
}

/// Where a selected row is to be found.
struct mix {
    double pages = 0, missed = 0; // shares; the rest is hot
};

/// R requests with their history imported; `mapped` of each one's pages stay on the GPU.
class session {
public:
    session(int requests, double mapped, int groups, std::int32_t positions, std::int64_t host_gib)
        : requests_(requests), positions_(positions), groups_(groups), kv_(config(requests, mapped, groups, positions, host_gib)) {
        dh::cuda_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
        scatter_host_pages();
        for (int r = 0; r < requests; ++r) admit();
        const auto resident = static_cast<std::int32_t>(mapped * (positions_ / page) + 0.5);
        for (const auto slot : slots_) import(slot, 0, resident); // takes what the pool has to spare
        for (const auto slot : slots_) import(slot, resident, positions_ / page);
        for (const auto slot : slots_) kv_.finish_import(slot);
        settle();
        settle();
        for (const auto slot : slots_) tables_.push_back(kv_.ledger().page_table(slot));
        std::vector<std::int32_t> slots;
        for (const auto& slot : slots_) slots.push_back(slot.index);
        batch_ = dh::array_of<std::int32_t>(slots);
        round_ = kv_.append(stream_, {batch_.data(), nullptr, requests_});
        recent_.resize(static_cast<std::size_t>(groups_ * requests));
        for (auto& order : recent_) {
            order.resize(static_cast<std::size_t>(positions_));
            std::iota(order.begin(), order.end(), 0);
            std::shuffle(order.begin(), order.end(), random_);
        }
        rows_ = dh::array_of<std::int32_t>(std::int64_t{per_graph} * requests_ * k);
        staged_.resize(static_cast<std::size_t>(rows_.size()));
        locations_ = dh::array_of<std::int32_t>(std::int64_t{requests_} * k);
        valid_ = dh::array_of<std::int32_t>(requests_);
    }
    ~session() {
        if (graph_) cudaGraphExecDestroy(graph_);
        if (event_[0]) cudaEventDestroy(event_[0]), cudaEventDestroy(event_[1]);
        cudaStreamSynchronize(stream_);
        cudaStreamDestroy(stream_);
    }

    /// Seconds of per_graph resolves, the groups in turn.
    double run(const mix& shares, bool cold) {
        fill(shares);
        if (!graph_) capture(cold);
        dh::cuda_check(cudaEventRecord(event_[0], stream_), "event");
        dh::cuda_check(cudaGraphLaunch(graph_, stream_), "graph");
        dh::cuda_check(cudaEventRecord(event_[1], stream_), "event");
        dh::cuda_check(cudaEventSynchronize(event_[1]), "event");
        float ms = 0;
        cudaEventElapsedTime(&ms, event_[0], event_[1]);
        return ms * 1e-3;
    }
    dh::tally counts() {
        kv_.commit(stream_, round_); // K = 1: publishes the counters
        dh::cuda_check(cudaStreamSynchronize(stream_), "counters");
        return kv_.counts();
    }
    double cold_seconds() const { return cold_seconds_; }

private:
    static dh::hierarchy_config config(int requests, double mapped, int groups, std::int32_t positions, std::int64_t host_gib) {
        const auto pages = positions / page;
        const auto required = requests * (entries / page + 3);
        dh::hierarchy_config out{.shape = groups_of_four(groups)};
        out.pool_pages = required + static_cast<std::int32_t>(mapped * pages + 0.5) * requests;
        out.host_bytes = host_gib * dh::GiB;
        out.slots = std::max(requests, 64);
        out.hot_pages = entries / page;
        out.max_requests = requests;
        out.max_positions = positions + 64;
        return out;
    }

    /// Takes every host page and gives them back in random order, so that a request's lie anywhere.
    void scatter_host_pages() {
        std::vector<dh::slot_id> fillers;
        const auto per_filler = std::max(1, kv_.ledger().free_host_pages() / 60);
        while (static_cast<int>(fillers.size()) < std::min(60, kv_.ledger().pages().capacity / (entries / page + 4))) {
            const auto slot = kv_.try_admit({std::int64_t{per_filler} * page / 4, 1});
            if (!slot) break;
            fillers.push_back(*slot);
        }
        std::shuffle(fillers.begin(), fillers.end(), random_);
        for (const auto slot : fillers) kv_.finish(slot);
        settle();
    }
    void settle() {
        for (int i = 0; i < 3; ++i) {
            kv_.advance(stream_, kv_.completed(), {});
            dh::cuda_check(cudaDeviceSynchronize(), "plans");
        }
    }
    void admit() {
        const auto slot = kv_.try_admit({positions_, 1});
        if (!slot) throw dh::out_of_capacity(dh::text("request ", slots_.size(), " was not admitted: ", kv_.fits({positions_, 1}).limit));
        slots_.push_back(*slot);
        settle();
    }
    void import(dh::slot_id slot, std::int32_t at, std::int32_t end) {
        while (at < end) {
            const auto given = static_cast<std::int32_t>(kv_.import_pages(slot, at, end - at).size());
            kv_.landed(slot, at, given);
            at += given;
            kv_.advance(stream_, kv_.completed(), {});
            if (given == 0) dh::cuda_check(cudaDeviceSynchronize(), "import");
        }
    }

    /// Selections for the next graph, made from a model of what is where.
    void fill(const mix& shares) {
        for (int i = 0; i < per_graph; ++i)
            for (int r = 0; r < requests_; ++r) select(shares, i % groups_, r, staged_.data() + (std::int64_t{i} * requests_ + r) * k);
        dh::cuda_check(cudaMemcpy(rows_.data(), staged_.data(), staged_.size() * 4, cudaMemcpyDefault), "selections");
    }
    void select(const mix& shares, int g, int r, std::int32_t* out) {
        auto& order = recent_[static_cast<std::size_t>(g * requests_ + r)]; // unmapped rows, the most recent first, then the mapped
        const auto& table = tables_[static_cast<std::size_t>(r)];
        if (!sorted_) std::stable_partition(order.begin(), order.end(), [&](std::int32_t row) { return table[static_cast<std::size_t>(row / page)] == dh::gpu_page::none; });
        const auto unmapped = static_cast<int>(std::count(table.begin(), table.begin() + positions_ / page, dh::gpu_page::none)) * page;
        const int n_pages = unmapped == 0 ? k : static_cast<int>(shares.pages * k), n_missed = unmapped == 0 ? 0 : whole(shares.missed * k), n_hot = k - n_pages - n_missed;
        // Rows of the last two resolves are certainly in the cache; the least recent certainly are not.
        const int recent = std::min(unmapped, 3000), oldest = unmapped - std::min(unmapped / 4, 8192);
        std::vector<char> taken(order.size());
        const auto draw = [&](int begin, int end, int n, int at) { // n distinct rows out of order[begin, end)
            while (n > 0) {
                const auto i = static_cast<std::size_t>(begin + static_cast<int>(random_() % static_cast<unsigned>(end - begin)));
                if (std::exchange(taken[i], 1)) continue;
                out[at++] = order[i];
                --n;
            }
        };
        draw(0, recent, n_hot, 0);
        if (n_missed) draw(oldest, unmapped, n_missed, n_hot);
        if (n_pages) draw(unmapped, positions_, n_pages, n_hot + n_missed);
        std::vector<std::int32_t> next(out, out + n_hot + n_missed); // what was used comes first, the rest keeps its order
        for (std::size_t i = 0; i < order.size(); ++i)
            if (!taken[i] || i >= static_cast<std::size_t>(unmapped)) next.push_back(order[i]);
        order.swap(next);
        std::shuffle(out, out + k, random_);
    }
    int whole(double n) { return static_cast<int>(n + static_cast<double>(random_() % 1000) / 1000.0); }

    void enqueue(bool cold, bool resolve) {
        for (int i = 0; i < per_graph; ++i) {
            if (cold) dh::cuda_check(cudaMemsetAsync(flush_.data(), i, static_cast<std::size_t>(flush_.size()), stream_), "flush");
            if (resolve)
                kv_.resolve(stream_, round_, kv_.shape().announcements[static_cast<std::size_t>(i % groups_)], {rows_.data() + std::int64_t{i} * requests_ * k, k, k}, {locations_.data(), k, k, valid_.data()});
        }
    }
    cudaGraphExec_t graph_of(bool cold, bool resolve) {
        cudaGraph_t graph{};
        cudaGraphExec_t out{};
        dh::cuda_check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "capture");
        enqueue(cold, resolve);
        dh::cuda_check(cudaStreamEndCapture(stream_, &graph), "capture");
        dh::cuda_check(cudaGraphInstantiate(&out, graph, 0), "graph");
        cudaGraphDestroy(graph);
        return out;
    }
    void capture(bool cold) {
        cudaEventCreate(&event_[0]);
        cudaEventCreate(&event_[1]);
        if (cold) {
            flush_ = dh::array_of<std::byte>(256 * dh::MiB);
            auto alone = graph_of(true, false);
            std::vector<float> ms(9);
            for (auto& t : ms) {
                cudaEventRecord(event_[0], stream_);
                cudaGraphLaunch(alone, stream_);
                cudaEventRecord(event_[1], stream_);
                cudaEventSynchronize(event_[1]);
                cudaEventElapsedTime(&t, event_[0], event_[1]);
            }
            std::sort(ms.begin(), ms.end());
            cold_seconds_ = ms[4] * 1e-3;
            cudaGraphExecDestroy(alone);
        }
        graph_ = graph_of(cold, true);
    }

    int requests_;
    std::int32_t positions_;
    int groups_;
    bool sorted_ = false;
    dh::hierarchy<dh::cuda_backend> kv_;
    cudaStream_t stream_{};
    cudaGraphExec_t graph_{};
    cudaEvent_t event_[2] = {};
    double cold_seconds_ = 0;
    std::mt19937 random_{11};
    std::vector<dh::slot_id> slots_;
    std::vector<std::vector<dh::gpu_page>> tables_;
    std::vector<std::vector<std::int32_t>> recent_; // [groups][requests]
    dh::array_of<std::int32_t> batch_, rows_, locations_, valid_;
    dh::array_of<std::byte> flush_;
    std::vector<std::int32_t> staged_;
    dh::round_ref round_;

public:
    void start(const mix& shares) { // fills the caches; from here on `order` is kept by recency
        run(shares, false);
        sorted_ = true;
        for (int i = 0; i < 3; ++i) run(shares, false);
    }
    void drop_graph() {
        if (graph_) cudaGraphExecDestroy(graph_);
        graph_ = nullptr;
    }
};

void resolve(benchmark::State& state, mix shares, double target, bool cold, int groups, std::int32_t positions) {
    const auto requests = static_cast<int>(state.range(0));
    session s(requests, shares.pages, groups, positions, groups > 1 ? 16 : DHISPARSE_BENCH_HOST_GIB);
    s.start({shares.pages, 0.0});
    s.run(shares, false);
    s.drop_graph();
    s.run(shares, cold);
    const auto before = s.counts();
    std::int64_t resolves = 0;
    for (auto _ : state) {
        state.SetIterationTime((s.run(shares, cold) - s.cold_seconds()) / per_graph);
        resolves += per_graph;
    }
    const auto after = s.counts();
    state.counters["missed_rows"] = static_cast<double>(after.host_rows - before.host_rows) / static_cast<double>(resolves);
    state.counters["missed_percent"] = 100.0 * static_cast<double>(after.host - before.host) / static_cast<double>(after.selected - before.selected);
    state.counters["target_us"] = target;
    for (int v = 0; v < dh::n_violations; ++v)
        if (after.violations[v] != before.violations[v]) state.SkipWithError("a precondition was broken");
}

void add(const std::string& name, mix shares, std::vector<double> targets, bool cold = false, int groups = 1, std::int32_t positions = history) {
    const int requests[] = {1, 8, 32, 64, 128};
    for (std::size_t i = 0; i < targets.size(); ++i)
        benchmark::RegisterBenchmark((name + (cold ? "/cold" : groups > 1 ? "/rotating" : "/warm")).c_str(),
                                     [=](benchmark::State& state) { resolve(state, shares, targets[i], cold, groups, positions); })
            ->Arg(requests[i])->Iterations(10)->Repetitions(1)->UseManualTime()->Unit(benchmark::kMicrosecond);
}

} // namespace

int main(int argc, char** argv) {
    add("all_hot", {0, 0}, {2.5, 2.8, 4.3, 6, 9.5});
    add("all_pages", {1, 0}, {1.8, 1.9, 2.2, 2.6, 3.2});
    add("pages_70", {0.7, 0}, {2.2, 2.4, 3.3, 4.5, 6});
    add("missed_0.1", {0, 0.001}, {8, 9, 12, 17, 26});
    add("missed_1", {0, 0.01}, {10, 16, 39, 70, 132});
    add("missed_5", {0, 0.05}, {14, 46, 158, 308, 608});
    add("missed_20", {0, 0.2}, {28, 157, 606, 1196, 2385});
    add("all_hot", {0, 0}, {0, 0, 0, 0, 0}, true);
    add("missed_0.1", {0, 0.001}, {0, 0, 0}, true);
    add("all_hot", {0, 0}, {0, 0, 0}, false, 21, 8192);
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
}
