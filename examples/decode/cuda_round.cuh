// One round of all requests as one CUDA graph, captured once and launched again for each round: the
// model's kernels, and dhisparse's calls between them; of a speculative round also what is accepted.
#pragma once

#include "cuda_accept.cuh"
#include "cuda_check_rows.cuh"
#include "cuda_machine.cuh"
#include "cuda_model.cuh"
#include "prompts.hpp"
#include "session.hpp"
#include "speculation.hpp"

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
    template <class T>
    using array = cuda_machine::array<T>;

public:
    /// k_max: queries a request, K_max; 0: one each, and nothing is speculated. The graph refers to
    /// both the session and the model.
    cuda_round(Session& session, cuda_model& model, int k_max = 0)
        : session_(session), model_(model), k_max_(k_max), tokens_(n_queries()), next_(n_queries()),
          logits_(n_queries() * tiny_dsa::n_bytes),
          features_(k_max > 0 ? n_queries() * tiny_dsa::feature_width : 0),
          widths_(n_requests()), accepted_(n_requests()), selected_(selection_size()),
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
            checks_.push_back(check_of(originals, counts, p)); // round and new_rows: as it is captured
    }

    /// Processes the bytes and replaces them by those that follow. logits: [n_requests][256].
    void run(std::span<std::uint8_t> next, std::span<float> logits) {
        std::copy(next.begin(), next.end(), tokens_.begin());
        launch();
        session_.end_round();
        std::copy(next_.begin(), next_.end(), next.begin());
        std::copy(logits_.begin(), logits_.end(), logits.begin());
    }

    /// One speculative round, as host_verifier::verify; the accepted prefix is committed, too.
    void verify(std::span<const tiny_dsa::token> tokens, const array<std::int32_t>& widths,
                union_counts& unions, std::span<float> logits, std::span<float> features) {
        std::transform(tokens.begin(), tokens.end(), tokens_.begin(),
                       [](const tiny_dsa::token& token) { return token.byte; });
        std::copy(widths.begin(), widths.end(), widths_.begin());
        launch();
        session_.machine.wait();
        std::copy_n(logits_.begin(), logits.size(), logits.begin());
        std::copy_n(features_.begin(), features.size(), features.begin());
        count_unions(widths, unions);
    }
    /// Throws dhisparse::error where the device has accepted other prefixes.
    void commit(const array<std::int32_t>& widths, const array<std::int32_t>& accepted) {
        dh::require<dh::error>(accepted == accepted_, "the device has accepted other prefixes");
        session_.end_round(widths, accepted);
    }

private:
    std::size_t n_requests() const { return static_cast<std::size_t>(session_.n_requests()); }
    std::size_t n_queries() const {
        return n_requests() * static_cast<std::size_t>(std::max(1, k_max_));
    }
    std::int64_t of_producer(int p) const {
        return p * static_cast<std::int64_t>(n_queries()) * tiny_dsa::top_k;
    }
    std::int64_t selection_size() const { return of_producer(tiny_dsa::n_producers); }

    void launch() {
        if (!graph_) capture();
        dhisparse::cuda_check(cudaGraphLaunch(graph_, session_.machine.stream), "a round's graph");
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
        const auto round =
            kv.append(stream, k_max_ > 0 ? session_.batch(widths_) : session_.batch());
        const auto resolve = [&](int p) {
            constexpr int k = tiny_dsa::top_k;
            kv.resolve(stream, round, kv.shape().announcements[static_cast<std::size_t>(p)],
                       {selected_.data() + of_producer(p), k, k},
                       {at_.data() + of_producer(p), k, k});
        };
        model_.forward(stream, history_of(round), {resolve, [&](int p) { check(p, round); }});
        if (k_max_ == 0) return kv.commit(stream, round);
        launch_accept(round, tokens_.data(), next_.data(), accepted_.data(), stream);
        kv.commit(stream, round, accepted_.data());
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
        history.tokens = tokens_.data();
        history.next = next_.data();
        history.logits = logits_.data();
        history.features = k_max_ > 0 ? features_.data() : nullptr;
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

    void check(int p, const dh::round_ref& round) {
        if (checks_.empty()) return;
        auto& it = checks_[static_cast<std::size_t>(p)];
        it.round = round;
        it.new_rows = round.group_locations(p);
        launch_check_rows(it, session_.machine.stream);
    }

    /// What the queries of each request have selected together.
    void count_unions(const array<std::int32_t>& widths, union_counts& unions) {
        constexpr auto k = static_cast<std::size_t>(tiny_dsa::top_k);
        std::vector<std::int32_t> selected(n_queries() * k);
        for (int p = 0; p < tiny_dsa::n_producers; ++p) {
            session_.machine.read(selected_.data() + of_producer(p), std::span(selected));
            auto rest = std::span<const std::int32_t>(selected);
            for (const auto width : widths) {
                const auto n = static_cast<std::size_t>(width) * k;
                if (n > 0) unions.add(rest.first(n));
                rest = rest.subspan(n);
            }
        }
    }

    Session& session_;
    cuda_model& model_;
    const int k_max_;
    array<std::uint8_t> tokens_, next_;      // [n_queries] the host writes and reads them between rounds
    array<float> logits_, features_;         // [n_queries][256], [n_queries][768]
    array<std::int32_t> widths_, accepted_;  // [n_requests]
    device_array<std::int32_t> selected_;  // [n_producers][n_queries][256]
    device_array<dhisparse::location> at_; // [n_producers][n_queries][256]
    std::vector<check_params> checks_;     // [n_producers], or none
    cudaGraphExec_t graph_ = nullptr;
};

} // namespace decode
