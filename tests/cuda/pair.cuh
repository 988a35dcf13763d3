/// The same calls made of a host and a CUDA hierarchy, and everything that both hold compared.
#pragma once

#include "catch.hpp"

#include <dhisparse/cuda_backend.cuh>
#include <dhisparse/hierarchy.hpp>
#include <dhisparse/policy/hot_index/hashed.hpp>
#include <dhisparse/policy/hot_index/scanned.hpp>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
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
    /// one_query: batches give no widths, so that every request has one query. Commits leave max_unsettled positions unsettled.
    backend_pair(const dh::hierarchy_config& config, bool in_graph, bool one_query)
        : host(config), cuda(config), requests_(config.max_requests), k_(config.shape.k), in_graph_(in_graph), one_query_(one_query), unsettled_(config.max_unsettled),
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
        for (auto* graph : graphs_)
            if (graph) cudaGraphExecDestroy(graph);
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

    bool has_draft() const { return std::find(host.shape().passes.begin(), host.shape().passes.end(), dh::pass::draft) != host.shape().passes.end(); }

    /// Where batches have one query a request, target rounds are the draft pass's too; else that wants its own rounds.
    bool commits_both() const { return has_draft() && one_query_; }

    /// append, every announcement's resolve, now and then a release, commit in the passes there are: with what memory()
    /// holds. Plain calls are made of both step by step, and what is staged compared; a graph holds all of them.
    void run_round(const std::function<void(const dh::round_ref&)>& write_rows, dh::pass of = dh::pass::target) {
        of_ = of;
        const auto round = host.append({}, batch());
        write_rows(round);
        std::fill_n(memory_.locations.data(), memory_.locations.size(), 123456);
        std::fill_n(memory_.valid.data(), memory_.valid.size(), 123456);
        std::fill(memory_.host_locations.begin(), memory_.host_locations.end(), 123456);
        std::fill(memory_.host_valid.begin(), memory_.host_valid.end(), 123456);
        if (!in_graph_) device_round_ = cuda.append(stream_, batch());
        for (std::int64_t a = 0; a < announcements(); ++a) {
            resolve(host, dh::host_stream{}, round, a, memory_.host_locations.data(), memory_.host_valid.data());
            if (in_graph_) continue;
            resolve(cuda, stream_, device_round_, a, memory_.locations.data(), memory_.valid.data());
            compare_staging();
        }
        commit(host, dh::host_stream{}, round);
        in_graph_ ? run_graph() : commit(cuda, stream_, device_round_);
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
        compare_staging();
        for (std::int32_t s = 0; s < h.n_slots; ++s) {
            if (!h.live(s)) continue;
            CHECK(first_difference(h.passes + s, c.passes + s, sizeof(dh::pass_record)) == -1);
            const auto n = h.entries_per_slot * std::int64_t{4};
            for (int part = 0; part < 3; ++part) {
                const auto at = (std::int64_t{part} * h.n_slots + s) * h.entries_per_slot;
                CHECK(first_difference(h.entry_state + at, c.entry_state + at, n) == -1);
            }
            for (std::int32_t g = 0; g < h.n_groups; ++g) CHECK(dh::cuda_backend::step_path<Policies>::read(c.clocks + s * h.n_groups + g) == h.clocks[s * h.n_groups + g] * dh::device_clock_step);
            CHECK(first_difference(h.hot_pages + s * h.hot_pages_per_slot, c.hot_pages + s * h.hot_pages_per_slot, 4 * h.hot_pages_per_slot) == -1);
            const auto begin = h.records[s].run_bytes;
            CHECK(first_difference(h.region + begin, c.region + begin, h.hot_index(s, host.step().groups[0]) - h.region - begin) == -1); // the maps
            for (std::int32_t g = 0; g < h.n_groups; ++g) compare_index(s, g);
        }
    }

    /// Rows [first, last) of a source as both gather them.
    void compare_gathered(int layer, dh::slot_id slot, std::int64_t first, std::int64_t last, std::int64_t bytes) {
        std::vector<std::byte> wanted(static_cast<std::size_t>(bytes));
        shared_array<std::byte> got(std::max<std::int64_t>(bytes, 1));
        host.gather({}, layer, slot, first, last, wanted);
        cuda.gather(stream_, layer, slot, first, last, {got.data(), static_cast<std::size_t>(bytes)});
        dh::cuda_check(cudaStreamSynchronize(stream_), "gather");
        CHECK(first_difference(wanted.data(), got.data(), bytes) == -1);
    }

    dh::hierarchy<dh::host_backend, Policies> host;
    dh::hierarchy<dh::cuda_backend, Policies> cuda;

private:
    void compare_index(std::int32_t s, std::int32_t g) {
        using index = typename Policies::hot_index;
        const auto &h = host.tables(), &c = cuda.tables();
        const auto& parts = host.step().groups[g];
        auto* const at = h.hot_index(s, parts);
        const auto rows = h.records[s].n_pages * static_cast<std::int64_t>(host.layout().group(g).rows_per_page.divisor);
        const auto bytes = rows * index::bytes_per_row + index::fixed_bytes(parts.codes);
        auto* const on_device = c.region + (at - h.region);
        if constexpr (std::is_same_v<index, dh::dense>) CHECK(first_difference(at, on_device, bytes) == -1);
        else {
            std::vector<std::byte> got(static_cast<std::size_t>(bytes));
            dh::cuda_check(cudaMemcpy(got.data(), on_device, got.size(), cudaMemcpyDefault), "read back");
            CHECK(contents(index::at(got.data(), parts.codes)) == contents(index::at(at, parts.codes)));
        }
    }
    using row_codes = std::map<std::int32_t, dh::hot_code>;
    static row_codes contents(const dh::hashed::ref& index) {
        row_codes out;
        for (std::uint32_t i = 0; i <= index.mask; ++i)
            if (index.rows[i] >= 0) CHECK(out.emplace(index.rows[i], index.codes[i]).second);
        return out;
    }
    static row_codes contents(const dh::scanned::ref& index) {
        row_codes out;
        for (std::int32_t i = 0; i < index.n; ++i)
            if (index.cells[i].row >= 0) CHECK(out.emplace(index.cells[i].row, static_cast<dh::hot_code>(index.cells[i].code)).second);
        return out;
    }

    dh::batch_ref batch() const { return {memory_.slots.data(), one_query_ ? nullptr : memory_.widths.data(), requests_, of_}; }
    std::int64_t queries() const { return std::int64_t{requests_} * host.layout().limits().k_max; }
    std::int64_t out_size() const { return queries() * memory_.stride; }
    dh::selection_ref selection(std::int64_t a) const { return {memory_.rows.data() + a * queries() * k_, k_, k_}; }

    std::int64_t announcements() const { return static_cast<std::int64_t>(host.shape().announcements.size()); }

    template <class Hierarchy, class Stream>
    void resolve(Hierarchy& of, Stream s, const dh::round_ref& round, std::int64_t a, dh::location* locations, std::int32_t* valid) {
        if (a % 3 == 2) of.release(s, round); // as the next resolve does by itself
        of.resolve(s, round, of.shape().announcements[static_cast<std::size_t>(a)], selection(a), {locations + a * out_size(), memory_.stride, 0, valid + a * queries()});
    }
    template <class Hierarchy, class Stream>
    void commit(Hierarchy& of, Stream s, const dh::round_ref& round) {
        of.commit(s, round, memory_.accepted.data(), unsettled_, of_);
        if (commits_both()) of.commit(s, round, memory_.accepted.data(), unsettled_ / 2, dh::pass::draft);
    }

    void run_graph() {
        auto& exec = graphs_[static_cast<int>(of_)];
        if (!exec) {
            cudaGraph_t graph{};
            dh::cuda_check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "capture");
            device_round_ = cuda.append(stream_, batch());
            for (std::int64_t a = 0; a < announcements(); ++a) resolve(cuda, stream_, device_round_, a, memory_.locations.data(), memory_.valid.data());
            commit(cuda, stream_, device_round_);
            dh::cuda_check(cudaStreamEndCapture(stream_, &graph), "capture");
            dh::cuda_check(cudaGraphInstantiate(&exec, graph, 0), "graph");
            cudaGraphDestroy(graph);
        }
        dh::cuda_check(cudaGraphLaunch(exec, stream_), "graph");
    }

    /// What each slot has staged, and which of it will be promoted.
    void compare_staging() {
        dh::cuda_check(cudaStreamSynchronize(stream_), "resolve");
        const auto &h = host.step().staging, &c = cuda.step().staging;
        REQUIRE(h.any() == c.any());
        if (!h.any()) return;
        for (std::int32_t s = 0; s < host.tables().n_slots; ++s) {
            if (!host.tables().live(s)) continue;
            const auto got = dh::cuda_backend::step_path<Policies>::read(c.slots + s);
            REQUIRE(got.group == h.slots[s].group);
            REQUIRE(got.n_rows == h.slots[s].n_rows);
            REQUIRE(got.n_promotions == h.slots[s].n_promotions);
            CHECK(first_difference(h.of(s), c.of(s), got.n_promotions * static_cast<std::int64_t>(sizeof(dh::promotion))) == -1);
        }
    }

    void compare_round(const dh::round_ref& round) {
        const auto same = [](const std::int32_t* a, const std::int32_t* b, std::int64_t n) { return first_difference(a, b, 4 * n); };
        REQUIRE(same(round.slots, device_round_.slots, round.n_requests) == -1);
        REQUIRE(same(round.frontiers, device_round_.frontiers, round.n_requests) == -1);
        REQUIRE(same(round.first_query, device_round_.first_query, round.n_requests + 1) == -1);
        REQUIRE(same(round.query_slots, device_round_.query_slots, round.n_queries) == -1);
        REQUIRE(same(round.query_positions, device_round_.query_positions, round.n_queries) == -1);
        const std::vector<std::int32_t> nobody(static_cast<std::size_t>(device_round_.n_queries - round.n_queries), -1);
        for (const auto* of : {device_round_.query_slots, device_round_.query_positions, device_round_.locations}) REQUIRE(same(nobody.data(), of + round.n_queries, device_round_.n_queries - round.n_queries) == -1);
        for (int g = 0; g < host.layout().n_groups(); ++g) REQUIRE(same(round.group_locations(g), device_round_.group_locations(g), round.n_queries) == -1);
        for (int i = 0; i < host.layout().index().n_sources; ++i) REQUIRE(same(round.source_blocks(i), device_round_.source_blocks(i), round.n_queries) == -1);
        REQUIRE(same(memory_.host_locations.data(), memory_.locations.data(), memory_.locations.size()) == -1);
        REQUIRE(same(memory_.host_valid.data(), memory_.valid.data(), memory_.valid.size()) == -1);
        const dh::tally wanted = host.counts(), got = cuda.counts();
        CHECK(std::memcmp(&wanted, &got, sizeof(dh::tally)) == 0);
        for (int v = 0; v < dh::n_violations; ++v) CHECK(wanted.violations[v] == got.violations[v]);
        CHECK(wanted.host_rows == got.host_rows);
        CHECK(wanted.selected == got.selected);
        CHECK(wanted.staged_rows == got.staged_rows);
        CHECK(wanted.promoted_rows == got.promoted_rows);
    }

    std::int32_t requests_, k_;
    bool in_graph_, one_query_;
    std::int32_t unsettled_;
    dh::pass of_ = dh::pass::target;
    round_memory memory_;
    cudaStream_t stream_{};
    cudaGraphExec_t graphs_[dh::n_passes] = {};
    dh::round_ref device_round_;
    std::int64_t slab_bytes_ = 0, host_bytes_ = 0;
};

} // namespace dhisparse_test
