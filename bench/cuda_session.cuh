// Requests with an imported history on a CUDA hierarchy, and graphs of resolves with fresh selections.
#pragma once

#include <dhisparse/cuda_backend.cuh>
#include <dhisparse/hierarchy.hpp>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#ifndef DHISPARSE_BENCH_HOST_GIB // a compile definition: the host tier's size
#define DHISPARSE_BENCH_HOST_GIB 24
#endif

namespace dhisparse_bench {

namespace dh = dhisparse;

inline constexpr int k = 2048, page = 64;

/// One benchmark's conditions.
struct conditions {
    int requests = 1;
    int queries = 1;      // K of every request
    int k_max = 0;        // K_max; 0: K
    bool widths = false;  // K comes from device memory, also where it is 1
    bool disjoint = false; // no query selects what another one does: each has its part of the pool
    double pages = 0;     // share of the selected rows that lie in mapped pages
    double missed = 0;    // share that is nowhere on the GPU; the rest is hot
    int pool = 3000;      // rows that hot selections are drawn from
    int entries = 4096;   // B
    int groups = 1;       // of four lanes of 576 bytes, used in turn
    std::int32_t positions = 32768;
    std::int32_t growth = 1;
    bool cold = false;    // caches overwritten before every resolve
    int per_graph = 24;
};

inline dh::model_shape groups_of_four(int groups) {
    dh::model_shape shape{.name = "four lanes", .layers = 4 * groups, .k = k, .page_positions = page};
    for (int layer = 0; layer < 4 * groups; ++layer) shape.sources.push_back({.layer = layer, .row_bytes = 576});
    for (int g = 0; g < groups; ++g) {
        shape.groups.push_back({4 * g, 4 * g + 1, 4 * g + 2, 4 * g + 3});
        shape.announcements.push_back({.layer = 4 * g, .group = g, .consumers = shape.groups.back()});
    }
    return shape;
}

/// One host tier for all benchmarks of the program: pinning it takes seconds.
inline std::span<std::byte> host_tier() {
    static dh::buffer<dh::pinned_range> memory({}, std::int64_t{DHISPARSE_BENCH_HOST_GIB} * dh::GiB, 128, {}, "host");
    return {memory.data(), static_cast<std::size_t>(memory.bytes())};
}

/// Seconds that a graph takes, `n` times.
inline std::vector<double> time_graph(cudaGraphExec_t graph, cudaStream_t stream, int n) {
    std::vector<double> out;
    cudaEvent_t event[2];
    for (auto& e : event) dh::cuda_check(cudaEventCreate(&e), "event");
    for (int i = 0; i < n; ++i) {
        cudaEventRecord(event[0], stream);
        dh::cuda_check(cudaGraphLaunch(graph, stream), "graph");
        cudaEventRecord(event[1], stream);
        dh::cuda_check(cudaEventSynchronize(event[1]), "graph");
        float ms = 0;
        cudaEventElapsedTime(&ms, event[0], event[1]);
        out.push_back(ms * 1e-3);
    }
    for (auto& e : event) cudaEventDestroy(e);
    return out;
}

class session {
public:
    explicit session(const conditions& c) : c_(c), kv_(config(c)) {
        dh::cuda_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
        scatter_host_pages();
        for (int r = 0; r < c.requests; ++r) admit();
        for (const auto slot : slots_) import(slot, 0, resident_pages(c)); // takes what the pool has to spare
        for (const auto slot : slots_) import(slot, resident_pages(c), c.positions / page);
        for (const auto slot : slots_) kv_.finish_import(slot);
        settle();
        settle();
        std::vector<std::int32_t> slots, widths(static_cast<std::size_t>(c.requests), c.queries);
        for (const auto& slot : slots_) slots.push_back(slot.index);
        slot_memory_ = dh::array_of<std::int32_t>(slots);
        widths_ = dh::array_of<std::int32_t>(widths);
        round_ = append();
        for (int r = 0; r < c.requests; ++r) sort_rows(r);
        rows_ = dh::array_of<std::int32_t>(std::int64_t{c.per_graph} * queries() * k);
        staged_.resize(static_cast<std::size_t>(rows_.size()));
        locations_ = dh::array_of<std::int32_t>(queries() * k);
        valid_ = dh::array_of<std::int32_t>(queries());
        warm_up();
    }
    ~session() {
        cudaStreamSynchronize(stream_);
        if (graph_) cudaGraphExecDestroy(graph_);
        cudaStreamDestroy(stream_);
    }
    session(const session&) = delete;

    /// Seconds of one resolve, the mean of a graph of them, each with a selection of its own.
    double run() {
        fill(c_.missed);
        if (!graph_) graph_ = graph_of([&](int i) { flush(i), resolve(i); });
        return (time_graph(graph_, stream_, 1).front() - flush_seconds_) / c_.per_graph;
    }
    /// A graph of per_graph times what f(i) enqueues.
    template <class F>
    cudaGraphExec_t graph_of(F f) {
        cudaGraph_t graph{};
        cudaGraphExec_t out{};
        dh::cuda_check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "capture");
        for (int i = 0; i < c_.per_graph; ++i) f(i);
        dh::cuda_check(cudaStreamEndCapture(stream_, &graph), "capture");
        dh::cuda_check(cudaGraphInstantiate(&out, graph, 0), "graph");
        cudaGraphDestroy(graph);
        return out;
    }
    dh::round_ref append() { return kv_.append(stream_, {slot_memory_.data(), c_.queries > 1 || c_.widths ? widths_.data() : nullptr, c_.requests}); }
    void commit(const dh::round_ref& round) { kv_.commit(stream_, round); }
    void resolve(int i) {
        kv_.resolve(stream_, round_, kv_.shape().announcements[static_cast<std::size_t>(i % c_.groups)], {rows_.data() + i * queries() * k, k, k}, {locations_.data(), k, k, valid_.data()});
    }
    /// The counters of all resolves so far.
    dh::tally counts() {
        if (c_.growth > 1) return kv_.counts();
        auto nothing = round_; // a commit of no position publishes them
        nothing.slots = dead_slots();
        kv_.commit(stream_, nothing);
        dh::cuda_check(cudaStreamSynchronize(stream_), "counters");
        return kv_.counts();
    }
    /// Tells the ledger where every request has come to, so that the next positions are mapped.
    void report(std::int32_t frontier) {
        std::vector<dh::frontier_report> reports;
        for (const auto slot : slots_) reports.push_back({slot, frontier});
        for (int i = 0; i < 3; ++i) {
            kv_.advance(stream_, kv_.completed(), reports);
            dh::cuda_check(cudaDeviceSynchronize(), "plans");
        }
    }
    cudaStream_t stream() const { return stream_; }

private:
    static std::int32_t resident_pages(const conditions& c) { return static_cast<std::int32_t>(c.pages * (c.positions / page) + 0.5); }
    static dh::hierarchy_config config(const conditions& c) {
        dh::hierarchy_config out{.shape = groups_of_four(c.groups)};
        out.k_max = std::max(c.queries, c.k_max);
        out.hot_pages = c.entries / page;
        out.pool_pages = c.requests * (out.hot_pages + 4 + resident_pages(c));
        out.host_memory = host_tier();
        out.host_bytes = static_cast<std::int64_t>(out.host_memory.size());
        out.slots = std::max(c.requests, 64);
        if (c.growth > 1) out.steps_ahead = c.per_graph; // a graph of rounds runs without an advance between them
        out.max_requests = c.requests;
        out.max_positions = c.positions + c.growth + 64;
        out.metadata_bytes = 512 * dh::MiB; // a million positions and 21 groups
        return out;
    }
    std::int64_t queries() const { return std::int64_t{c_.requests} * c_.queries; }

    /// Takes every host page and gives them back in random order, so that a request's lie anywhere.
    void scatter_host_pages() {
        std::vector<dh::slot_id> fillers;
        const auto per_filler = std::max(1, kv_.ledger().free_host_pages() / 60);
        while (static_cast<int>(fillers.size()) < std::min(60, kv_.ledger().pages().capacity / (c_.entries / page + 4))) {
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
        const dh::demand wanted{c_.positions, c_.growth};
        const auto slot = kv_.try_admit(wanted);
        if (!slot) throw dh::out_of_capacity(dh::text("request ", slots_.size(), " was not admitted: ", kv_.fits(wanted).limit));
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

    /// What selections of a request are drawn from.
    struct row_set {
        std::vector<std::int32_t> mapped, hot, others; // rows of mapped pages; `pool` others; the rest
        std::size_t next = 0;                          // of `others`: each is missed once in a long while
        std::mt19937 random;
    };
    void sort_rows(int r) {
        auto& set = sets_.emplace_back();
        set.random.seed(static_cast<unsigned>(7 + r));
        const auto table = kv_.ledger().page_table(slots_[static_cast<std::size_t>(r)]);
        std::vector<std::int32_t> rows;
        for (std::int32_t row = 0; row < c_.positions; ++row)
            (table[static_cast<std::size_t>(row / page)] == dh::gpu_page::none ? rows : set.mapped).push_back(row);
        std::shuffle(rows.begin(), rows.end(), set.random);
        const auto n = std::min(rows.size(), static_cast<std::size_t>(c_.pool));
        set.hot.assign(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(n));
        set.others.assign(rows.begin() + static_cast<std::ptrdiff_t>(n), rows.end());
    }
    /// n distinct rows of a set, in random order.
    static void draw(std::vector<std::int32_t>& from, int n, std::mt19937& random, std::int32_t* out) {
        for (int i = 0; i < n; ++i) {
            std::swap(from[static_cast<std::size_t>(i)], from[static_cast<std::size_t>(i) + random() % (from.size() - static_cast<std::size_t>(i))]);
            out[i] = from[static_cast<std::size_t>(i)];
        }
    }
    /// Selections of a request's queries: for K > 1 all queries draw from one pool that holds the missed rows too.
    void select(row_set& set, double missed, std::int32_t* out) {
        if (set.hot.empty()) {
            for (int q = 0; q < c_.queries; ++q) draw(set.mapped, k, set.random, out + q * k);
            return;
        }
        const auto n_pages = static_cast<int>(c_.pages * k);
        const auto union_rows = c_.queries == 1 ? k : c_.pool;
        const auto n_missed = static_cast<int>(missed * (c_.disjoint ? c_.queries * k : union_rows) + static_cast<double>(set.random() % 1000) / 1000.0);
        std::vector<std::int32_t> fresh;
        for (int i = 0; i < n_missed; ++i) fresh.push_back(set.others[std::exchange(set.next, (set.next + 1) % set.others.size())]);
        if (c_.queries == 1) {
            draw(set.hot, k - n_pages - n_missed, set.random, out);
            std::copy(fresh.begin(), fresh.end(), out + k - n_pages - n_missed);
            if (n_pages) draw(set.mapped, n_pages, set.random, out + k - n_pages);
            return std::shuffle(out, out + k, set.random);
        }
        auto pool = set.hot;
        std::copy(fresh.begin(), fresh.end(), pool.begin());
        if (!c_.disjoint) {
            for (int q = 0; q < c_.queries; ++q) draw(pool, k, set.random, out + q * k);
            return;
        }
        const auto each = pool.size() / static_cast<std::size_t>(c_.queries);
        for (int q = 0; q < c_.queries; ++q) { // the pool's first rows are the missing ones: every query has as many of them
            std::vector<std::int32_t> part;
            for (std::size_t i = static_cast<std::size_t>(q); i < each * static_cast<std::size_t>(c_.queries); i += static_cast<std::size_t>(c_.queries)) part.push_back(pool[i]);
            const auto n = std::min<std::size_t>(part.size(), fresh.size() / static_cast<std::size_t>(c_.queries));
            draw_with(part, n, set.random, out + q * k);
        }
    }
    /// k rows of a set, its first n among them, in random order.
    static void draw_with(std::vector<std::int32_t>& from, std::size_t n, std::mt19937& random, std::int32_t* out) {
        std::vector<std::int32_t> rest(from.begin() + static_cast<std::ptrdiff_t>(n), from.end());
        draw(rest, k - static_cast<int>(n), random, out);
        std::copy_n(from.begin(), n, out + k - static_cast<std::ptrdiff_t>(n));
        std::shuffle(out, out + k, random);
    }
    void fill(double missed) {
        std::vector<std::jthread> workers;
        const auto n = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 16u));
        for (int w = 0; w < n; ++w)
            workers.emplace_back([=, this] {
                for (int r = w; r < c_.requests; r += n)
                    for (int i = 0; i < c_.per_graph; ++i) select(sets_[static_cast<std::size_t>(r)], missed, staged_.data() + (std::int64_t{i} * c_.requests + r) * c_.queries * k);
            });
        workers.clear();
        dh::cuda_check(cudaMemcpy(rows_.data(), staged_.data(), staged_.size() * 4, cudaMemcpyDefault), "selections");
    }
    /// Brings the pools into the hot caches, then lets the least recent entries become what they are in the long run.
    void warm_up() {
        for (const double missed : {0.0, 0.0, c_.missed, c_.missed}) {
            fill(missed);
            for (int i = 0; i < c_.per_graph; ++i) resolve(i);
            dh::cuda_check(cudaStreamSynchronize(stream_), "warm-up");
        }
        if (!c_.cold) return;
        flush_ = dh::array_of<std::byte>(256 * dh::MiB);
        auto alone = graph_of([&](int i) { flush(i); });
        auto times = time_graph(alone, stream_, 9);
        std::sort(times.begin(), times.end());
        flush_seconds_ = times[4];
        cudaGraphExecDestroy(alone);
    }
    void flush(int i) {
        if (c_.cold) dh::cuda_check(cudaMemsetAsync(flush_.data(), i, static_cast<std::size_t>(flush_.size()), stream_), "flush");
    }
    std::int32_t* dead_slots() {
        if (!dead_.size()) dead_ = dh::array_of<std::int32_t>(std::vector<std::int32_t>(static_cast<std::size_t>(c_.requests), -1));
        return dead_.data();
    }

    conditions c_;
    dh::hierarchy<dh::cuda_backend> kv_;
    cudaStream_t stream_{};
    cudaGraphExec_t graph_{};
    double flush_seconds_ = 0;
    std::mt19937 random_{11};
    std::vector<dh::slot_id> slots_;
    std::vector<row_set> sets_;
    dh::array_of<std::int32_t> slot_memory_, widths_, rows_, locations_, valid_, dead_;
    dh::array_of<std::byte> flush_;
    std::vector<std::int32_t> staged_;
    dh::round_ref round_;
};

} // namespace dhisparse_bench
