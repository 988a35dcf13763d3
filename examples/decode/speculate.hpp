// Decoding in speculative rounds: the drafter proposes, the target verifies K queries a request in
// one pass over the hierarchy, and the accepted prefix becomes history.
#pragma once

#include "decode.hpp"
#include "drafting.hpp"
#include "speculation.hpp"

#include <dhisparse/round/acceptance.hpp>

#include <functional>

namespace decode {

/// One request's part of a round, as a test or a trace may look at it.
struct round_seen {
    tiny_dsa::token anchor;
    std::span<const std::uint8_t> proposed; // [K_r - 1]
    std::span<const std::uint8_t> target;   // [K_r] the target's byte after the anchor and each proposal
    int accepted = 0;
};

/// The target's pass over a round's queries on the CPU.
template <class Session>
class host_verifier {
public:
    /// check: null, or what sees every row that attention reads.
    host_verifier(Session& session, tiny_dsa::model& model, row_check* check)
        : model_(model), store_(session, check) {}

    /// tokens: widths[r] of request r, for r = 0, 1, …; logits: [n_tokens][256]; features:
    /// [n_tokens][768]; unions: counts what they select.
    template <class Widths>
    void verify(std::span<const tiny_dsa::token> tokens, const Widths& widths,
                union_counts& unions, std::span<float> logits, std::span<float> features) {
        store_.begin(tokens, widths, &unions);
        model_.forward(tokens, store_, {.logits = logits, .features = features});
    }
    template <class Widths>
    void commit(const Widths& widths, const Widths& accepted) {
        store_.end(widths, accepted);
    }

private:
    tiny_dsa::model& model_;
    round_store<Session> store_;
};

template <class Session, class Verifier>
class speculative_decoder {
public:
    /// seen: called for each request and round, before the ledger's turn; may be empty.
    speculative_decoder(Session& session, Verifier& verifier, block_drafting& drafting,
                        std::function<void(const round_seen&)> seen = {})
        : session_(session), verifier_(verifier), drafting_(drafting), seen_(std::move(seen)) {}

    /// As decode_bytes: bytes behind the last wanted one are cut, and requests that have theirs wait
    /// for the others with K_r = 0. produced(bytes): of the first request, as they become known.
    template <class Produced>
    decoded decode(bytes next, int n_tokens, const Produced& produced) {
        using clock = std::chrono::steady_clock;
        const auto n = next.size();
        out_.texts.resize(n);
        out_.logits.resize(static_cast<std::size_t>(n_tokens) * n * tiny_dsa::n_bytes);
        n_tokens_ = n_tokens;
        next_ = std::move(next);
        widths_.resize(n);
        accepted_.resize(n);
        session_.kv().reset_counts();
        const auto start = clock::now();
        while (propose()) {
            verify();
            accept(produced);
        }
        out_.seconds = std::chrono::duration<double>(clock::now() - start).count();
        out_.counts = session_.kv().counts();
        sum_up();
        out_.fast_bytes = session_.fast_bytes() + counts_.ring_bytes + counts_.staging_bytes;
        return std::move(out_);
    }

    const speculation& counts() const { return counts_; }

private:
    template <class T>
    using array = typename Session::template array<T>;

    bool wants_more(std::size_t r) const {
        return static_cast<int>(out_.texts[r].size()) < n_tokens_;
    }

    /// The round's tokens: of each request its last known byte and what is proposed after it.
    bool propose() {
        tokens_.clear();
        for (std::size_t r = 0; r < next_.size(); ++r) {
            const auto first = tokens_.size();
            if (wants_more(r)) {
                const auto request = static_cast<std::int32_t>(r);
                tiny_dsa::token token{request, session_.position(request), next_[r]};
                tokens_.push_back(token);
                for (const auto byte : drafting_.propose(token))
                    tokens_.push_back({request, tokens_.back().position + 1, byte});
            }
            widths_[r] = static_cast<std::int32_t>(tokens_.size() - first);
        }
        return !tokens_.empty();
    }

    void verify() {
        logits_.resize(tokens_.size() * tiny_dsa::n_bytes);
        features_.resize(tokens_.size() * tiny_dsa::feature_width);
        verifier_.verify(tokens_, widths_, counts_.unions, logits_, features_);
        drafting_.extend(tokens_, features_);
    }

    template <class Produced>
    void accept(const Produced& produced) {
        std::size_t first = 0;
        for (std::size_t r = 0; r < next_.size(); ++r) {
            const auto k = static_cast<std::size_t>(widths_[r]);
            accepted_[r] = 0;
            if (k > 0) accept_request(r, first, k, produced);
            first += k;
        }
        verifier_.commit(widths_, accepted_);
    }

    template <class Produced>
    void accept_request(std::size_t r, std::size_t first, std::size_t k, const Produced& produced) {
        proposed_.clear();
        target_.clear();
        for (std::size_t i = first; i < first + k; ++i) {
            if (i > first) proposed_.push_back(tokens_[i].byte);
            target_.push_back(tiny_dsa::argmax(logits_of(logits_, i)));
        }
        const auto [accepted, next] = dh::accept_greedy(proposed_.data(), target_.data(),
                                                        static_cast<std::int32_t>(k - 1));
        if (seen_) seen_({tokens_[first], proposed_, target_, accepted});
        for (std::size_t i = first; i <= first + static_cast<std::size_t>(accepted); ++i)
            if (wants_more(r)) keep(r, i, produced);
        next_[r] = next;
        accepted_[r] = accepted;
        drafting_.commit(static_cast<int>(r), static_cast<int>(k), accepted);
        ++counts_.rounds;
        counts_.proposed += static_cast<std::int64_t>(k) - 1;
        counts_.accepted += accepted;
    }

    /// Token i of the round is the next of request r's text.
    template <class Produced>
    void keep(std::size_t r, std::size_t i, const Produced& produced) {
        const auto step = out_.texts[r].size();
        std::ranges::copy(logits_of(logits_, i),
                          logits_of(out_.logits, step * next_.size() + r).begin());
        out_.texts[r].push_back(tokens_[i].byte);
        if (r == 0) produced(std::span<const std::uint8_t>(&tokens_[i].byte, 1));
    }

    static std::span<float> logits_of(std::vector<float>& all, std::size_t i) {
        return std::span(all).subspan(i * tiny_dsa::n_bytes, tiny_dsa::n_bytes);
    }

    void sum_up() {
        counts_.staged = static_cast<std::int64_t>(out_.counts.staged_rows);
        counts_.promoted = static_cast<std::int64_t>(out_.counts.promoted_rows);
        counts_.staging_bytes = session_.kv().layout().staging_bytes();
        counts_.ring_rows = drafting_.ring().rows();
        counts_.ring_bytes = drafting_.ring().bytes();
    }

    Session& session_;
    Verifier& verifier_;
    block_drafting& drafting_;
    std::function<void(const round_seen&)> seen_;
    speculation counts_;
    decoded out_;
    int n_tokens_ = 0;
    bytes next_;                            // [n_requests] the last known byte of each
    std::vector<tiny_dsa::token> tokens_;   // [n_queries] of the round
    array<std::int32_t> widths_, accepted_; // [n_requests]
    std::vector<float> logits_, features_;  // [n_queries][256], [n_queries][768]
    bytes proposed_, target_;               // of one request
};

} // namespace decode
