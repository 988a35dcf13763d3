// The drafter's side of a round: its context in a draft ring, and its proposals.
#pragma once

#include "schedules.hpp"
#include "shape.hpp"

#include <dhisparse/draft/draft_ring.hpp>
#include <tiny_dsa/drafter.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace decode {

/// The ring, as the drafter takes it; slot: request.
class ring_store : public tiny_dsa::draft_store {
public:
    explicit ring_store(const dhisparse::draft_ring<>& ring) : ring_(ring), ref_(ring.ref()) {}

    /// Where the position is read, before the ring's frontier, or written, from there on. Throws
    /// invalid_argument where the ring has no place for it.
    tiny_dsa::kv_rows at(int layer, std::int32_t request, std::int32_t position) override {
        const auto n = ref_.frontier(request);
        const auto where =
            position < n ? ref_.find(request, position) : ref_.place(request, position);
        dhisparse::require(where >= 0, "position ", position, " of request ", request,
                           " has no place in the draft ring, whose frontier is ", n);
        return {reinterpret_cast<float*>(ring_.keys(layer).row(where)),
                reinterpret_cast<float*>(ring_.values(layer).row(where))};
    }

private:
    const dhisparse::draft_ring<>& ring_;
    dhisparse::draft_ring_ref ref_;
};

class block_drafting {
public:
    /// k_max: K, 1 or more; with 1 nothing is proposed.
    block_drafting(tiny_dsa::drafter drafter, int n_requests, int k_max, schedule how_many)
        : drafter_(std::move(drafter)), ring_(ring_config(n_requests, k_max)), store_(ring_),
          k_max_(k_max), how_many_(std::move(how_many)) {}
    block_drafting(const block_drafting&) = delete; // store_ refers to ring_

    const dhisparse::draft_ring<>& ring() const { return ring_; }

    /// Another request has this place, of which the next token is at `position`.
    void restart(int request, int position) { ring_.ref().restart(request, position); }

    /// Tokens of one request, the next ones, that are history already: a part of its prompt.
    /// features: [n_tokens][768].
    void fill(std::span<const tiny_dsa::token> tokens, std::span<const float> features) {
        const auto piece = static_cast<std::size_t>(ring_.ref().room());
        for (std::size_t first = 0; first < tokens.size(); first += piece) {
            const auto n = std::min(piece, tokens.size() - first);
            extend(tokens.subspan(first, n), features.subspan(first * tiny_dsa::feature_width,
                                                              n * tiny_dsa::feature_width));
            commit(tokens[first].request, static_cast<int>(n), static_cast<int>(n) - 1);
        }
    }

    /// Proposals for the positions after an anchor: K-1 at most, and none behind the context. Throws
    /// invalid_argument where the ring does not hold the window before exactly this anchor.
    std::vector<std::uint8_t> propose(const tiny_dsa::token& anchor) {
        const auto ring = ring_.ref();
        dhisparse::require(ring.ready(anchor.request) &&
                               ring.frontier(anchor.request) == anchor.position,
                           "anchor of request ", anchor.request, " is at ", anchor.position,
                           ", its draft ring's frontier is ", ring.frontier(anchor.request));
        const int k = std::min(k_max_, tiny_dsa::max_positions - anchor.position);
        if (k < 2) return {};
        std::vector<std::uint8_t> proposed(static_cast<std::size_t>(k - 1));
        logits_.resize(static_cast<std::size_t>(k) * tiny_dsa::n_bytes);
        drafter_.propose({&anchor, 1}, k, store_, {.proposed = proposed, .logits = logits_});
        proposed.resize(static_cast<std::size_t>(how_many_(logits_)));
        return proposed;
    }

    /// Tokens of a round's requests, the anchors and what was proposed, processed by the target but
    /// not accepted yet. The rows of rejected ones are overwritten by the next round.
    void extend(std::span<const tiny_dsa::token> tokens, std::span<const float> features) {
        drafter_.extend(tokens, features, store_);
    }
    /// The ring advances by the prefix that the target's history advances by.
    void commit(int request, int k, int accepted) { ring_.ref().commit(request, k, accepted); }

private:
    static dhisparse::draft_ring_config ring_config(int n_requests, int k_max) {
        constexpr dhisparse::draft_layer layer{tiny_dsa::draft_kv_width * sizeof(float),
                                               tiny_dsa::draft_kv_width * sizeof(float)};
        return {.slots = n_requests,
                .window = tiny_dsa::draft_window,
                .k_max = k_max,
                .page_positions = page_positions,
                .layers = std::vector(tiny_dsa::n_draft_layers, layer)};
    }

    tiny_dsa::drafter drafter_;
    dhisparse::draft_ring<> ring_; // slot: request
    ring_store store_;
    int k_max_;
    schedule how_many_;
    std::vector<float> logits_; // [K][256]
};

} // namespace decode
