// The tiny model on the GPU as the loop's callbacks: a round is one CUDA graph. Its target pass is kernels; drafter and verifier are
// nodes of the graph that run on the CPU, where prompts are computed, too.
#pragma once

#include "tiny_drafting.hpp"
#include "tiny_prefill.hpp"

#include <decode/cuda_machine.cuh>
#include <decode/cuda_model.cuh>

#include <deque>
#include <exception>
#include <functional>
#include <utility>

namespace engine {

template <class Kv>
class cuda_tiny_model {
    using machine_type = decode::cuda_machine;

public:
    template <class T>
    using array = machine_type::array<T>; // pinned, in place
    using stream_type = cudaStream_t;

    /// Of one step: its graph, an event behind it, and memory that it writes.
    class results : public step_tokens<machine_type> {
    public:
        results(int n_slots, int k_max) : step_tokens<machine_type>(n_slots, k_max) {
            dh::cuda_check(cudaEventCreateWithFlags(&done_, cudaEventDisableTiming), "a step's event");
        }
        ~results() {
            cudaEventDestroy(done_);
            if (graph_) cudaGraphExecDestroy(graph_);
        }
        results(const results&) = delete;

    private:
        friend class cuda_tiny_model;
        cudaEvent_t done_ = nullptr;
        cudaGraphExec_t graph_ = nullptr;
    };

    /// drafter: where k_max > 1.
    cuda_tiny_model(Kv& kv, tiny_dsa::model& target, std::optional<tiny_dsa::drafter> drafter, const std::string& dir, int n_slots, int k_max)
        : kv_(kv), keys_(n_slots), prefill_(target), drafting_(std::move(drafter), n_slots, k_max), n_queries_(n_slots * k_max), on_device_(dir, n_queries_),
          slots_(static_cast<std::size_t>(n_slots)), first_query_(slots_.size() + 1), positions_(queries()), tokens_(queries()), next_(queries()),
          features_(drafting_.drafts() ? queries() * tiny_dsa::feature_width : 0), logits_(std::int64_t{n_queries_} * tiny_dsa::n_bytes), selected_(selections()), at_(selections()) {}

    stream_type stream() { return machine_.stream; }
    void open(dh::slot_id slot, std::int32_t first) {
        machine_.wait(); // for the drafter of the step in flight
        keys_.forget(slot.index);
        drafting_.open(slot.index, first);
    }
    /// The draft ring is the slot's, and has stayed.
    void reopen(dh::slot_id slot) { keys_.forget(slot.index); }

    void prefill(Kv& kv, const prefill_chunk& chunk, results& out) {
        machine_.wait(); // the CPU's target works in the drafter's memory
        const auto seen = prefill_.run(kv, machine_, keys_, chunk, drafting_.drafts());
        drafting_.prefilled(chunk, seen.next, seen.features, out); // no step in flight has this slot
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

    void draft(const dh::round_ref& round) {
        copy(round.slots, slots_);
        copy(round.first_query, first_query_);
        copy(round.query_positions, positions_);
        in_stream([this] {
            const auto tokens = drafting_.draft(on_cpu());
            std::ranges::transform(tokens, tokens_.begin(), &tiny_dsa::token::byte);
        });
    }
    template <class Resolve>
    void forward(const dh::round_ref& round, const Resolve& resolve) {
        constexpr int k = tiny_dsa::top_k;
        const auto selected = [&](int p) {
            const auto first = std::int64_t{p} * n_queries_ * k;
            resolve(kv_.shape().announcements[static_cast<std::size_t>(p)], dh::selection_ref{selected_.data() + first, k, k}, dh::locations_ref{at_.data() + first, k, k});
        };
        on_device_.forward(stream(), history_of(round), {selected, [](int) {}});
    }
    void verify(const dh::round_ref&, results& out) {
        in_stream([this, &out] {
            const auto n = static_cast<std::size_t>(on_cpu().n_queries);
            drafting_.verify(on_cpu(), std::span(next_).first(n), std::span<const float>(features_).first(drafting_.drafts() ? n * tiny_dsa::feature_width : 0), out);
        });
    }
    const std::int32_t* accepted() const { return drafting_.accepted(); }

    void launched(results& out) { dh::cuda_check(cudaEventRecord(out.done_, stream()), "a step's event"); }
    void wait(const results& out) {
        dh::cuda_check(cudaEventSynchronize(out.done_), "a step");
        if (failed_) std::rethrow_exception(failed_);
    }
    void drain() { machine_.wait(); }

private:
    /// A part of a round on the CPU, and what it has thrown.
    struct host_call {
        cuda_tiny_model* of;
        std::function<void()> what;
    };
    void in_stream(std::function<void()> what) {
        const auto run = [](void* data) noexcept {
            const auto& call = *static_cast<host_call*>(data);
            if (call.of->failed_) return;
            try {
                call.what();
            } catch (...) {
                call.of->failed_ = std::current_exception();
            }
        };
        dh::cuda_check(cudaLaunchHostFunc(stream(), run, &calls_.emplace_back(host_call{this, std::move(what)})), "a call of a round");
    }
    template <class T>
    void copy(const T* from, array<T>& to) {
        dh::cuda_check(cudaMemcpyAsync(to.data(), from, to.size() * sizeof(T), cudaMemcpyDefault, stream()), "a round's queries");
    }
    /// The round as draft() has copied it.
    dh::round_ref on_cpu() {
        dh::round_ref round;
        round.slots = slots_.data();
        round.first_query = first_query_.data();
        round.query_positions = positions_.data();
        round.n_requests = static_cast<std::int32_t>(slots_.size());
        round.n_queries = first_query_.back();
        return round;
    }
    std::size_t queries() const { return static_cast<std::size_t>(n_queries_); }
    std::int64_t selections() const { return std::int64_t{tiny_dsa::n_producers} * n_queries_ * tiny_dsa::top_k; }
    decode::cuda_history history_of(const dh::round_ref& round) {
        decode::cuda_history history;
        for (int layer = 0; layer < tiny_dsa::n_layers; ++layer) history.rows[layer] = reinterpret_cast<std::uint16_t*>(kv_.view(layer).base);
        history.keys = reinterpret_cast<std::uint16_t*>(kv_.index_base());
        history.keys_pitch = kv_.layout().index().pitch_bytes / 2;
        history.tables = kv_.tables();
        history.round = round;
        history.selected = selected_.data();
        history.at = at_.data();
        history.tokens = tokens_.data();
        history.next = next_.data();
        history.logits = logits_.data();
        history.features = drafting_.drafts() ? features_.data() : nullptr;
        return history;
    }

    Kv& kv_;
    machine_type machine_;
    decode::key_blocks keys_;
    tiny_prefill<Kv, machine_type> prefill_;
    tiny_drafting<machine_type> drafting_;
    int n_queries_; // of a round, at most
    decode::cuda_model on_device_;
    array<std::int32_t> slots_, first_query_, positions_; // [slots], [slots + 1], [queries] of the round under way, for the CPU
    array<std::uint8_t> tokens_, next_;                   // [queries] the tokens to process, and those that follow
    array<float> features_;                               // [queries][768], or nothing
    decode::device_array<float> logits_;                  // [queries][256]
    decode::device_array<std::int32_t> selected_;         // [n_producers][queries][256]
    decode::device_array<dh::location> at_;
    std::deque<host_call> calls_;                         // the graphs refer to them
    std::exception_ptr failed_;                           // written in the stream, read behind it
};

} // namespace engine
