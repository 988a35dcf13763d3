// Greedy decoding of all requests of a session, one byte each a round.
#pragma once

#include "prefill.hpp"
#include "round_store.hpp"

#include <chrono>
#include <utility>

namespace decode {

struct decoded {
    std::vector<bytes> texts;  // [n_requests][n_tokens]
    std::vector<float> logits; // [n_tokens][n_requests][256], computed from those bytes
    dh::tally counts;
    std::int64_t fast_bytes = 0;
    double seconds = 0;
};

/// One round on the CPU: processes a byte of each request and replaces it by the one that follows.
template <class Session>
class host_round {
public:
    /// check: null, or what sees every row that attention reads.
    host_round(Session& session, tiny_dsa::model& model, row_check* check)
        : session_(session), model_(model), store_(session, check),
          tokens_(static_cast<std::size_t>(session.n_requests())) {}

    /// logits: [n_requests][256] of the bytes that follow.
    void run(std::span<std::uint8_t> next, std::span<float> logits) {
        for (std::size_t r = 0; r < tokens_.size(); ++r)
            tokens_[r] = {static_cast<std::int32_t>(r), session_.position(), next[r]};
        store_.begin(tokens_);
        model_.forward(tokens_, store_, {.logits = logits});
        store_.end();
        for (std::size_t r = 0; r < tokens_.size(); ++r)
            next[r] = tiny_dsa::argmax(logits.subspan(r * tiny_dsa::n_bytes, tiny_dsa::n_bytes));
    }

private:
    Session& session_;
    tiny_dsa::model& model_;
    round_store<Session> store_;
    std::vector<tiny_dsa::token> tokens_;
};

/// Decodes n_tokens of each request. The first byte of each is the prefill's. Every byte is
/// processed, also the last, whose logits nobody asked for but which are compared: so each byte is
/// one step. produced(bytes): [n_requests] bytes that have just become known.
template <class Session, class Round, class Produced>
decoded decode_rounds(Session& session, Round& round, bytes next, int n_tokens,
                      const Produced& produced) {
    using clock = std::chrono::steady_clock;
    const auto n = next.size();
    const auto step_logits = n * tiny_dsa::n_bytes;
    decoded out;
    out.texts.resize(n);
    out.logits.resize(static_cast<std::size_t>(n_tokens) * step_logits);
    session.kv().reset_counts();
    const auto start = clock::now();
    for (int step = 0; step < n_tokens; ++step) {
        produced(std::span<const std::uint8_t>(next));
        for (std::size_t r = 0; r < n; ++r)
            out.texts[r].push_back(next[r]);
        round.run(next, std::span(out.logits)
                            .subspan(static_cast<std::size_t>(step) * step_logits, step_logits));
    }
    out.seconds = std::chrono::duration<double>(clock::now() - start).count();
    out.counts = session.kv().counts();
    out.fast_bytes = session.fast_bytes();
    return out;
}

/// The same on the CPU.
template <class Session, class Produced>
decoded decode_bytes(Session& session, tiny_dsa::model& model, bytes next, int n_tokens,
                     row_check* check, const Produced& produced) {
    host_round<Session> round(session, model, check);
    return decode_rounds(session, round, std::move(next), n_tokens, produced);
}

} // namespace decode
