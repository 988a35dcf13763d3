// The drafter's side of a round: its context in a draft ring, and its proposals.
#pragma once

#include "schedules.hpp"

#include <dhisparse/draft/draft_ring.hpp>
#include <tiny_dsa/drafter.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace decode {

class block_drafting {
public:
    /// k_max: K, 1 or more; with 1 nothing is proposed. Throws what the drafter's load throws.
    block_drafting(tiny_dsa::drafter drafter, int n_requests, int k_max, schedule how_many);

    int k_max() const { return k_max_; }
    const dhisparse::draft_ring<>& ring() const { return ring_; }

    /// Tokens of one request, the next ones, that are history already: a part of its prompt.
    /// features: [n_tokens][768].
    void fill(std::span<const tiny_dsa::token> tokens, std::span<const float> features);

    /// Proposals for the positions after an anchor: K-1 at most, and none behind the context.
    std::vector<std::uint8_t> propose(const tiny_dsa::token& anchor);

    /// Tokens of a round's requests, the anchors and what was proposed, processed by the target but
    /// not accepted yet. The rows of rejected ones are overwritten by the next round.
    void extend(std::span<const tiny_dsa::token> tokens, std::span<const float> features);
    /// The ring advances by the prefix that the target's history has advanced by.
    void commit(int request, int k, int accepted) { ring_.ref().commit(request, k, accepted); }

private:
    tiny_dsa::drafter drafter_;
    dhisparse::draft_ring<> ring_; // slot: request
    int k_max_;
    schedule how_many_;
    std::vector<float> logits_; // [K][256]
};

} // namespace decode
