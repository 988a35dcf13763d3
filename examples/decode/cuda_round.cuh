// One round of all requests as one CUDA graph, captured once and launched again for each byte: the
// model's kernels, and dhisparse's calls between them.
#pragma once

#include "cuda_check_rows.cuh"
#include "cuda_machine.cuh"
#include "cuda_model.cuh"
#include "prompts.hpp"
#include "session.hpp"

#include <algorithm>
#include <span>

namespace decode {

/// Counts of the check of rows, where the device adds them up.
class cuda_row_counts {
public:
    cuda_row_counts() { std::fill_n(counts_.data(), 2, 0ull); }
    unsigned long long* data() const { return counts_.data(); }
    std::int64_t n_wrong() const { return static_cast<std::int64_t>(counts_.data()[0]); }
    std::int64_t n_verified() const { return static_cast<std::int64_t>(counts_.data()[1]); }

private:
    dhisparse::array_of<unsigned long long, dhisparse::mapped_memory> counts_{2};
};

template <class Session>
class cuda_round {
public:
    /// first: [n_requests] the bytes that the first round processes. The graph refers to both the
    /// session and the model.
    cuda_round(Session& session, cuda_model& model, const bytes& first)
        : session_(session), model_(model), next_(first.begin(), first.end()),
          logits_(first.size() * tiny_dsa::n_bytes), selected_(selection_size()),
          at_(selection_size()) {}
    ~cuda_round() {
        if (graph_) cudaGraphExecDestroy(graph_);
    }
    cuda_round(const cuda_round&) = delete;
    cuda_round& operator=(const cuda_round&) = delete;

    /// From the next run on every selected row is compared with the one that `originals` holds.
    template <class Originals>
    void check_rows(const Originals& originals, const cuda_row_counts& counts) {
        for (int p = 0; p < tiny_dsa::n_producers; ++p)
            checks_.push_back(check_of(originals, counts, p));
    }

    /// Processes the bytes and replaces them by those that follow. logits: [n_requests][256].
    void run(std::span<std::uint8_t> next, std::span<float> logits) {
        if (!graph_) capture();
        dhisparse::cuda_check(cudaGraphLaunch(graph_, session_.machine.stream), "a round's graph");
        session_.end_round();
        std::copy(next_.begin(), next_.end(), next.begin());
        std::copy(logits_.begin(), logits_.end(), logits.begin());
    }

private:
    template <class T>
    using array = cuda_machine::array<T>;

    std::int64_t selection_size() const {
        return std::int64_t{tiny_dsa::n_producers} * session_.n_requests() * tiny_dsa::top_k;
    }
    std::int64_t of_producer(int p) const {
        return std::int64_t{p} * session_.n_requests() * tiny_dsa::top_k;
    }

    void capture() {
        const auto stream = session_.machine.stream;
        cudaGraph_t graph{};
        dhisparse::cuda_check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
                              "capture of a round");
        enqueue();
        dhisparse::cuda_check(cudaStreamEndCapture(stream, &graph), "capture of a round");
        const auto status = cudaGraphInstantiate(&graph_, graph, 0);
        cudaGraphDestroy(graph);
        dhisparse::cuda_check(status, "a round's graph");
    }

    /// All that an engine does in a round.
    void enqueue() {
        auto& kv = session_.kv();
        const auto stream = session_.machine.stream;
        const auto round = kv.append(stream, session_.batch());
        const auto resolve = [&](int p) {
            constexpr int k = tiny_dsa::top_k;
            kv.resolve(stream, round, kv.shape().announcements[static_cast<std::size_t>(p)],
                       {selected_.data() + of_producer(p), k, k},
                       {at_.data() + of_producer(p), k, k});
        };
        model_.forward(stream, history_of(round), {resolve, [&](int p) { check(p); }});
        kv.commit(stream, round);
    }

    cuda_history history_of(const dh::round_ref& round) {
        auto& kv = session_.kv();
        cuda_history history;
        for (int layer = 0; layer < tiny_dsa::n_layers; ++layer)
            history.rows[layer] = reinterpret_cast<std::uint16_t*>(kv.view(layer).base);
        history.keys = reinterpret_cast<std::uint16_t*>(kv.index_base());
        history.keys_pitch = kv.layout().index().pitch_bytes / 2;
        history.tables = kv.tables();
        history.round = round;
        history.selected = selected_.data();
        history.at = at_.data();
        history.next = next_.data();
        history.logits = logits_.data();
        return history;
    }

    template <class Originals>
    check_params check_of(const Originals& originals, const cuda_row_counts& counts, int p) const {
        check_params out;
        out.selected = selected_.data() + of_producer(p);
        out.at = at_.data() + of_producer(p);
        out.slots = originals.batch().slots;
        out.originals = originals.kv().tables();
        out.placement = originals.kv().layout().group(p);
        for (const int layer :
             session_.kv().shape().announcements[static_cast<std::size_t>(p)].consumers) {
            out.rows[out.n_layers] = reinterpret_cast<const uint2*>(session_.kv().view(layer).base);
            out.original_rows[out.n_layers++] =
                reinterpret_cast<const uint2*>(originals.kv().view(layer).base);
        }
        out.wrong_right = counts.data();
        return out;
    }

    void check(int p) {
        if (checks_.empty()) return;
        launch_check_rows(checks_[static_cast<std::size_t>(p)], session_.n_requests(),
                          session_.machine.stream);
    }

    Session& session_;
    cuda_model& model_;
    array<std::uint8_t> next_;             // [n_requests] the host reads them between rounds
    array<float> logits_;                  // [n_requests][256]
    device_array<std::int32_t> selected_;  // [n_producers][n_requests][256]
    device_array<dhisparse::location> at_; // [n_producers][n_requests][256]
    std::vector<check_params> checks_;     // [n_producers], or none
    cudaGraphExec_t graph_ = nullptr;
};

} // namespace decode
