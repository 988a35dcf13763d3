// Greedy decoding of all requests of a session, one byte each a round.
#pragma once

#include "prefill.hpp"
#include "round_store.hpp"

#include <chrono>

namespace decode {

struct decoded {
    std::vector<bytes> texts;  // [n_requests][n_tokens]
    std::vector<float> logits; // [n_tokens][n_requests][256], computed from those bytes
    dh::tally counts;
    std::int64_t fast_bytes = 0;
    double seconds = 0;
};

/// Decodes n_tokens of each request. The first byte of each is the prefill's. Every byte is
/// processed, also the last, whose logits nobody asked for but which are compared: so each byte is
/// one step. produced(bytes): [n_requests] bytes that have just become known.
template <class Session, class Produced>
decoded decode_bytes(Session& session, tiny_dsa::model& model, bytes next, int n_tokens,
                     row_check* check, const Produced& produced) {
    using clock = std::chrono::steady_clock;
    const auto n = next.size();
    const auto step_logits = n * tiny_dsa::n_bytes;
    decoded out;
    out.texts.resize(n);
    out.logits.resize(static_cast<std::size_t>(n_tokens) * step_logits);
    round_store store(session, check);
    session.kv().reset_counts();
    std::vector<tiny_dsa::token> tokens(n);
    const auto start = clock::now();
    for (int step = 0; step < n_tokens; ++step) {
        produced(std::span<const std::uint8_t>(next));
        for (std::size_t r = 0; r < n; ++r) {
            tokens[r] = {static_cast<std::int32_t>(r), session.position(), next[r]};
            out.texts[r].push_back(next[r]);
        }
        const auto logits = std::span(out.logits)
                                .subspan(static_cast<std::size_t>(step) * step_logits, step_logits);
        store.begin();
        model.forward(tokens, store, {.logits = logits});
        store.end();
        for (std::size_t r = 0; r < n; ++r)
            next[r] = tiny_dsa::argmax(logits.subspan(r * tiny_dsa::n_bytes, tiny_dsa::n_bytes));
    }
    out.seconds = std::chrono::duration<double>(clock::now() - start).count();
    out.counts = session.kv().counts();
    out.fast_bytes = session.fast_bytes();
    return out;
}

} // namespace decode
