// The tiny model on the GPU as the loop's callbacks: a round is one CUDA graph; a prompt's chunks are computed on the CPU.
// One query a request.
#pragma once

#include "cuda_tokens.cuh"
#include "tiny_prefill.hpp"

#include <decode/cuda_machine.cuh>
#include <decode/cuda_model.cuh>

#include <utility>

namespace engine {

template <class Kv>
class cuda_tiny_model {
    using machine_type = decode::cuda_machine;

public:
    static constexpr bool widths = false;
    template <class T>
    using array = machine_type::array<T>; // pinned, in place
    using stream_type = cudaStream_t;

    /// Of one step: its graph, an event behind it, and memory that it writes.
    class results {
    public:
        results(int n_slots, int) : said_(static_cast<std::size_t>(n_slots)) {
            dh::cuda_check(cudaEventCreateWithFlags(&done_, cudaEventDisableTiming), "a step's event");
        }
        ~results() {
            cudaEventDestroy(done_);
            if (graph_) cudaGraphExecDestroy(graph_);
        }
        results(const results&) = delete;
        std::span<const std::uint8_t> tokens(int slot) const { return {said_.data() + slot, 1}; }

    private:
        friend class cuda_tiny_model;
        array<std::uint8_t> said_; // [slots]
        cudaEvent_t done_ = nullptr;
        cudaGraphExec_t graph_ = nullptr;
    };

    cuda_tiny_model(Kv& kv, tiny_dsa::model& target, const std::string& dir, int n_slots)
        : kv_(kv), keys_(n_slots), prefill_(target), on_device_(dir, n_slots), n_slots_(n_slots), next_(n_slots), anchors_(static_cast<std::size_t>(n_slots)),
          logits_(std::int64_t{n_slots} * tiny_dsa::n_bytes), selected_(selections()), at_(selections()) {}

    stream_type stream() { return machine_.stream; }
    void open(dh::slot_id slot, std::int32_t) { keys_.forget(slot.index); }
    void reopen(dh::slot_id slot) { keys_.forget(slot.index); }

    void prefill(Kv& kv, const prefill_chunk& chunk, results& out) {
        const auto seen = prefill_.run(kv, machine_, keys_, chunk, false);
        if (!chunk.last) return;
        const auto slot = static_cast<std::size_t>(chunk.slot.index);
        out.said_[slot] = anchors_[slot] = seen.next; // no step in flight has this slot
    }

    /// Captures what `round` enqueues, once for each step record, and launches it.
    template <class Round>
    void enqueue(results& out, const Round& round) {
        if (!out.graph_) {
            cudaGraph_t graph{};
            dh::cuda_check(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeThreadLocal), "capture of a round");
            round();
            dh::cuda_check(cudaStreamEndCapture(stream(), &graph), "capture of a round");
            const auto status = cudaGraphInstantiate(&out.graph_, graph, 0);
            cudaGraphDestroy(graph);
            dh::cuda_check(status, "a round's graph");
        }
        dh::cuda_check(cudaGraphLaunch(out.graph_, stream()), "a round's graph");
    }

    void draft(const dh::round_ref& round) { launch_take_anchors(tokens_of(round, nullptr), stream()); }
    template <class Resolve>
    void forward(const dh::round_ref& round, const Resolve& resolve) {
        constexpr int k = tiny_dsa::top_k;
        const auto selected = [&](int p) {
            const auto first = std::int64_t{p} * n_slots_ * k;
            resolve(kv_.shape().announcements[static_cast<std::size_t>(p)], dh::selection_ref{selected_.data() + first, k, k}, dh::locations_ref{at_.data() + first, k, k});
        };
        on_device_.forward(stream(), history_of(round), {selected, [](int) {}});
    }
    void verify(const dh::round_ref& round, results& out) { launch_keep_tokens(tokens_of(round, out.said_.data()), stream()); }
    const std::int32_t* accepted() const { return nullptr; } // all, of one

    void launched(results& out) { dh::cuda_check(cudaEventRecord(out.done_, stream()), "a step's event"); }
    void wait(const results& out) { dh::cuda_check(cudaEventSynchronize(out.done_), "a step"); }
    void drain() { machine_.wait(); }

private:
    std::int64_t selections() const { return std::int64_t{tiny_dsa::n_producers} * n_slots_ * tiny_dsa::top_k; }
    cuda_tokens tokens_of(const dh::round_ref& round, std::uint8_t* said) { return {round.slots, next_.data(), anchors_.data(), said, n_slots_}; }
    decode::cuda_history history_of(const dh::round_ref& round) {
        decode::cuda_history history;
        for (int layer = 0; layer < tiny_dsa::n_layers; ++layer) history.rows[layer] = reinterpret_cast<std::uint16_t*>(kv_.view(layer).base);
        history.keys = reinterpret_cast<std::uint16_t*>(kv_.index_base());
        history.keys_pitch = kv_.layout().index().pitch_bytes / 2;
        history.tables = kv_.tables();
        history.round = round;
        history.selected = selected_.data();
        history.at = at_.data();
        history.tokens = history.next = next_.data();
        history.logits = logits_.data();
        return history;
    }

    Kv& kv_;
    machine_type machine_;
    decode::key_blocks keys_;
    tiny_prefill<Kv, machine_type> prefill_;
    decode::cuda_model on_device_;
    int n_slots_;
    decode::device_array<std::uint8_t> next_; // [slots]
    array<std::uint8_t> anchors_;             // [slots] pinned, since a prefill's last chunk writes it too
    decode::device_array<float> logits_;      // [slots][256]
    decode::device_array<std::int32_t> selected_; // [n_producers][slots][256]
    decode::device_array<dh::location> at_;
};

} // namespace engine
