/// The same calls made of a host and a CUDA hierarchy, and everything that both hold compared.
#pragma once

#include "catch.hpp"

#include <dhisparse/cuda_backend.cuh>
#include <dhisparse/hierarchy.hpp>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

namespace dhisparse_test {

namespace dh = dhisparse;

inline bool has_gpu() {
    int n = 0;
    const bool is = cudaGetDeviceCount(&n) == cudaSuccess && n > 0;
    if (!is) cudaGetLastError();
    return is;
}

/// Memory that the host writes in place and kernels read.
template <class T>
using shared_array = dh::array_of<T, dh::mapped_memory>;

/// Position of the first byte of device memory that differs from host memory, or -1.
inline std::int64_t first_difference(const void* host, const void* device, std::int64_t n) {
    std::vector<std::byte> got(static_cast<std::size_t>(n));
    if (n > 0) dh::cuda_check(cudaMemcpy(got.data(), device, got.size(), cudaMemcpyDefault), "read back");
    const auto at = std::mismatch(got.begin(), got.end(), static_cast<const std::byte*>(host)).first;
    return at == got.end() ? -1 : at - got.begin();
}

/// What a round gives and takes, in memory of both.
struct round_memory {
    round_memory(std::int32_t requests, std::int32_t queries, std::int32_t k, std::int32_t announcements)
        : stride((k + 63) / 64 * 64 + 64), slots(requests), widths(requests), accepted(requests), rows(std::int64_t{queries} * k * announcements),
          locations(queries * stride * announcements), valid(std::int64_t{queries} * announcements), host_locations(static_cast<std::size_t>(locations.size())),
          host_valid(static_cast<std::size_t>(valid.size())) {}
    std::int64_t stride;
    shared_array<std::int32_t> slots, widths, accepted, rows, locations, valid;
    std::vector<std::int32_t> host_locations, host_valid;
};

template <class Policies>
class backend_pair {
public:
    /// one_query: batches give no widths, so that every request has one query.
    backend_pair(const dh::hierarchy_config& config, bool in_graph, bool one_query)
        : host(config), cuda(config), requests_(config.max_requests), k_(config.shape.k), in_graph_(in_graph), one_query_(one_query),
          memory_(requests_, requests_ * config.k_max, k_, static_cast<std::int32_t>(config.shape.announcements.size())) {
        dh::cuda_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
        const auto needed = dh::hierarchy<dh::host_backend, Policies>::bytes_needed(config);
        slab_bytes_ = needed.pool;
        host_bytes_ = needed.host;
        std::memset(host.tiers().slab, 0, static_cast<std::size_t>(needed.pool));
        if (needed.host) std::memset(host.tiers().host, 0, static_cast<std::size_t>(needed.host));
        dh::cuda_check(cudaMemset(cuda.tiers().slab, 0, static_cast<std::size_t>(needed.pool)), "slab");
        dh::cuda_check(cudaDeviceSynchronize(), "slab");
    }
    ~backend_pair() {
        if (graph_) cudaGraphExecDestroy(graph_);
        cudaStreamDestroy(stream_);
    }

    /// Writes a row's bytes in both.
    void write(int layer, dh::location at, std::byte value) {
        const auto& lane = host.layout().lanes()[static_cast<std::size_t>(host.layout().lane_of_layer(layer))];
        for (int run = 0; run < lane.n_runs; ++run) {
            const auto bytes = static_cast<std::size_t>(lane.runs[run].bytes);
            std::memset(host.row(layer, at, run), static_cast<int>(value), bytes);
            dh::cuda_check(cudaMemsetAsync(cuda.row(layer, at, run), static_cast<int>(value), bytes, stream_), "row");
        }
    }

    void advance(std::span<const dh::frontier_report> frontiers) {
        dh::cuda_check(cudaDeviceSynchronize(), "everything enqueued");
        std::vector<dh::ticket> a, b;
        for (const auto t : host.completed()) a.push_back(t);
        for (const auto t : cuda.completed()) b.push_back(t);
        std::sort(a.begin(), a.end());
        std::sort(b.begin(), b.end());
        REQUIRE(a == b);
        const auto& wanted = host.advance({}, a, frontiers);
        REQUIRE(cuda.advance(stream_, a, frontiers) == wanted);
    }

    round_memory& memory() { return memory_; }

    /// append, every announcement's resolve, commit: with what memory() holds.
    void run_round(const std::function<void(const dh::round_ref&)>& write_rows) {
        const auto round = host.append({}, batch());
        write_rows(round);
        std::fill_n(memory_.locations.data(), memory_.locations.size(), 123456);
        std::fill_n(memory_.valid.data(), memory_.valid.size(), 123456);
        std::fill(memory_.host_locations.begin(), memory_.host_locations.end(), 123456);
        std::fill(memory_.host_valid.begin(), memory_.host_valid.end(), 123456);
        const auto n = static_cast<std::int64_t>(host.shape().announcements.size());
        for (std::int64_t a = 0; a < n; ++a)
            host.resolve({}, round, host.shape().announcements[static_cast<std::size_t>(a)], selection(a), {memory_.host_locations.data() + a * out_size(), memory_.stride, 0, memory_.host_valid.data() + a * queries()});
        host.commit({}, round, memory_.accepted.data());
        run_device();
        dh::cuda_check(cudaDeviceSynchronize(), "round");
        compare_round(round);
    }

    /// Every byte of both tiers, and every live slot's tables.
    void compare_everything() {
        dh::cuda_check(cudaDeviceSynchronize(), "copies beside the step path");
        CHECK(first_difference(host.tiers().slab, cuda.tiers().slab, slab_bytes_) == -1);
        if (host_bytes_) CHECK(first_difference(host.tiers().host, cuda.tiers().host, host_bytes_) == -1);
        const auto &h = host.tables(), &c = cuda.tables();
        REQUIRE(first_difference(h.records, c.records, h.n_slots * static_cast<std::int64_t>(sizeof(dh::slot_record))) == -1);
        for (std::int32_t s = 0; s < h.n_slots; ++s) {
            if (!h.live(s)) continue;
            const auto n = h.entries_per_slot * std::int64_t{4};
            for (int part = 0; part < 3; ++part) {
                const auto at = (std::int64_t{part} * h.n_slots + s) * h.entries_per_slot;
                CHECK(first_difference(h.entry_state + at, c.entry_state + at, n) == -1);
            }
            for (std::int32_t g = 0; g < h.n_groups; ++g) CHECK(dh::cuda_backend::step_path<Policies>::read(c.clocks + s * h.n_groups + g) == h.clocks[s * h.n_groups + g] * dh::device_clock_step);
            CHECK(first_difference(h.hot_pages + s * h.hot_pages_per_slot, c.hot_pages + s * h.hot_pages_per_slot, 4 * h.hot_pages_per_slot) == -1);
            const auto& last = host.step().groups[h.n_groups - 1];
            const auto run = h.hot_index(s, last) + h.records[s].n_pages * 2 * static_cast<std::int64_t>(host.layout().groups().back().rows_per_page.divisor) - h.region;
            const auto begin = h.records[s].run_bytes;
            CHECK(first_difference(h.region + begin, c.region + begin, run - begin) == -1);
        }
    }

    dh::hierarchy<dh::host_backend, Policies> host;
    dh::hierarchy<dh::cuda_backend, Policies> cuda;

private:
    dh::batch_ref batch() const { return {memory_.slots.data(), one_query_ ? nullptr : memory_.widths.data(), requests_}; }
    std::int64_t queries() const { return std::int64_t{requests_} * host.layout().limits().k_max; }
    std::int64_t out_size() const { return queries() * memory_.stride; }
    dh::selection_ref selection(std::int64_t a) const { return {memory_.rows.data() + a * queries() * k_, k_, k_}; }

    void enqueue() {
        device_round_ = cuda.append(stream_, batch());
        const auto& announcements = cuda.shape().announcements;
        for (std::int64_t a = 0; a < static_cast<std::int64_t>(announcements.size()); ++a)
            cuda.resolve(stream_, device_round_, announcements[static_cast<std::size_t>(a)], selection(a), {memory_.locations.data() + a * out_size(), memory_.stride, 0, memory_.valid.data() + a * queries()});
        cuda.commit(stream_, device_round_, memory_.accepted.data());
    }

    void run_device() {
        if (!in_graph_) return enqueue();
        if (!graph_) {
            cudaGraph_t graph{};
            dh::cuda_check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "capture");
            enqueue();
            dh::cuda_check(cudaStreamEndCapture(stream_, &graph), "capture");
            dh::cuda_check(cudaGraphInstantiate(&graph_, graph, 0), "graph");
            cudaGraphDestroy(graph);
        }
        dh::cuda_check(cudaGraphLaunch(graph_, stream_), "graph");
    }

    void compare_round(const dh::round_ref& round) {
        const auto same = [](const std::int32_t* a, const std::int32_t* b, std::int64_t n) { return first_difference(a, b, 4 * n); };
        REQUIRE(same(round.slots, device_round_.slots, round.n_requests) == -1);
        REQUIRE(same(round.frontiers, device_round_.frontiers, round.n_requests) == -1);
        REQUIRE(same(round.first_query, device_round_.first_query, round.n_requests + 1) == -1);
        REQUIRE(same(round.query_slots, device_round_.query_slots, round.n_queries) == -1);
        REQUIRE(same(round.query_positions, device_round_.query_positions, round.n_queries) == -1);
        for (int g = 0; g < host.layout().n_groups(); ++g) REQUIRE(same(round.group_locations(g), device_round_.group_locations(g), round.n_queries) == -1);
        for (int i = 0; i < host.layout().index().n_sources; ++i) REQUIRE(same(round.source_blocks(i), device_round_.source_blocks(i), round.n_queries) == -1);
        REQUIRE(same(memory_.host_locations.data(), memory_.locations.data(), memory_.locations.size()) == -1);
        REQUIRE(same(memory_.host_valid.data(), memory_.valid.data(), memory_.valid.size()) == -1);
        const dh::tally wanted = host.counts(), got = cuda.counts();
        CHECK(std::memcmp(&wanted, &got, sizeof(dh::tally)) == 0);
        for (int v = 0; v < dh::n_violations; ++v) CHECK(wanted.violations[v] == got.violations[v]);
        CHECK(wanted.host_rows == got.host_rows);
        CHECK(wanted.selected == got.selected);
    }

    std::int32_t requests_, k_;
    bool in_graph_, one_query_;
    round_memory memory_;
    cudaStream_t stream_{};
    cudaGraphExec_t graph_{};
    dh::round_ref device_round_;
    std::int64_t slab_bytes_ = 0, host_bytes_ = 0;
};

} // namespace dhisparse_test
