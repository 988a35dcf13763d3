// Requests with an imported history on a CUDA hierarchy, and graphs of resolves with fresh selections.
#pragma once

#include "selections.hpp"

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
#define DHISPARSE_BENCH_HOST_GIB 48
#endif

namespace dhisparse_bench {

namespace dh = dhisparse;

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

template <class Policies = dh::default_policies>
class session {
public:
    explicit session(const conditions& c) : c_(c), kv_(config(c)) {
        dh::cuda_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
        scatter_host_pages();
        leased_ = kv_.lease(c.leased).value();
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

    /// Seconds of one resolve, the mean of a graph of them, each with a selection of its own. start(): enqueues what runs beside.
    template <class Start>
    double run(Start start) {
        fill(c_.missed);
        if (!graph_) graph_ = graph_of([&](int i) { flush(i), resolve(i); });
        start();
        return (time_graph(graph_, stream_, 1).front() - flush_seconds_) / c_.per_graph;
    }
    double run() {
        return run([] {});
    }
    /// Copies pages of the host tier to the leased ones, as a refill.
    void refill_leased(cudaStream_t side) {
        if (!copies_.size()) {
            std::vector<dh::page_copy> copies;
            for (std::size_t i = 0; i < leased_.size(); ++i) copies.push_back({.way = dh::direction::to_gpu, .gpu = leased_[i], .host = dh::host_page{static_cast<std::int32_t>(i)}});
            copies_ = dh::array_of<dh::page_copy>(copies);
        }
        dh::launch_page_copies(kv_.tiers(), copies_.data(), static_cast<std::int32_t>(copies_.size()), side);
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
        out.pool_pages = c.requests * (out.hot_pages + 4 + resident_pages(c)) + c.leased;
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

    void sort_rows(int r) {
        auto& set = sets_.emplace_back(c_, r);
        const auto table = kv_.ledger().page_table(slots_[static_cast<std::size_t>(r)]);
        std::vector<std::int32_t> rows;
        for (std::int32_t row = 0; row < c_.positions; ++row)
            (table[static_cast<std::size_t>(row / page)] == dh::gpu_page::none ? rows : set.mapped).push_back(row);
        std::shuffle(rows.begin(), rows.end(), set.random);
        const auto n = std::min(rows.size(), static_cast<std::size_t>(c_.pool));
        set.hot.assign(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(n));
        set.others.assign(rows.begin() + static_cast<std::ptrdiff_t>(n), rows.end());
    }
    void fill(double missed) {
        std::vector<std::jthread> workers;
        const auto n = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 16u));
        for (int w = 0; w < n; ++w)
            workers.emplace_back([=, this] {
                for (int r = w; r < c_.requests; r += n)
                    for (int i = 0; i < c_.per_graph; ++i) sets_[static_cast<std::size_t>(r)].select(missed, staged_.data() + (std::int64_t{i} * c_.requests + r) * c_.queries * k);
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
    dh::hierarchy<dh::cuda_backend, Policies> kv_;
    cudaStream_t stream_{};
    cudaGraphExec_t graph_{};
    double flush_seconds_ = 0;
    std::mt19937 random_{11};
    std::vector<dh::slot_id> slots_;
    std::vector<dh::gpu_page> leased_;
    dh::array_of<dh::page_copy> copies_;
    std::vector<selectable_rows> sets_;
    dh::array_of<std::int32_t> slot_memory_, widths_, rows_, locations_, valid_, dead_;
    dh::array_of<std::byte> flush_;
    std::vector<std::int32_t> staged_;
    dh::round_ref round_;
};

} // namespace dhisparse_bench
