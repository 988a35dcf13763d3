// The tiny model's drafter and verifier, on the CPU wherever the target pass runs: what they do of a round, in stream order.
#pragma once

#include "loop.hpp"

#include <decode/drafting.hpp>
#include <dhisparse/round/acceptance.hpp>

#include <optional>

namespace engine {

/// Tokens that a step has given to each slot.
template <class Machine>
class step_tokens {
public:
    step_tokens(int n_slots, int k_max) : k_max_(k_max), n_(static_cast<std::size_t>(n_slots)), tokens_(static_cast<std::size_t>(n_slots * k_max)) {}
    std::span<const std::uint8_t> tokens(int slot) const { return {tokens_.data() + slot * k_max_, static_cast<std::size_t>(n_[static_cast<std::size_t>(slot)])}; }
    void put(int slot, std::span<const std::uint8_t> tokens) {
        n_[static_cast<std::size_t>(slot)] = static_cast<int>(tokens.size());
        std::ranges::copy(tokens, tokens_.begin() + slot * k_max_);
    }

private:
    int k_max_;
    typename Machine::template array<std::int32_t> n_;      // [slots]
    typename Machine::template array<std::uint8_t> tokens_; // [slots][k_max]
};

template <class Machine>
class tiny_drafting {
public:
    using results = step_tokens<Machine>;

    /// drafter: where k_max > 1.
    tiny_drafting(std::optional<tiny_dsa::drafter> drafter, int n_slots, int k_max) : anchors_(static_cast<std::size_t>(n_slots)), accepted_(anchors_.size()) {
        if (drafter) drafter_.emplace(std::move(*drafter), n_slots, k_max, decode::fixed_block);
    }
    bool drafts() const { return drafter_.has_value(); }

    void open(int slot, std::int32_t first) {
        if (drafter_) drafter_->restart(slot, first);
    }
    /// next: the token behind the chunk. features: [tokens][768] where it drafts.
    void prefilled(const prefill_chunk& chunk, std::uint8_t next, std::span<const float> features, results& out) {
        const auto slot = chunk.slot.index;
        if (drafter_) drafter_->fill(tiny_dsa::tokens_at(slot, static_cast<int>(chunk.first), chunk.tokens), features);
        if (!chunk.last) return;
        anchors_[static_cast<std::size_t>(slot)] = next;
        out.put(slot, {&next, 1});
    }

    /// Each request's tokens of the round: its anchor, and what is proposed behind it. round: in the CPU's memory.
    std::span<const tiny_dsa::token> draft(const dh::round_ref& round) {
        tokens_.clear();
        for (int r = 0; r < round.n_requests; ++r) {
            const int first = round.first_query[r], width = round.first_query[r + 1] - first;
            if (width == 0) continue;
            const auto slot = round.slots[r];
            tokens_.push_back({slot, round.query_positions[first], anchors_[static_cast<std::size_t>(slot)]});
            if (width == 1) continue;
            const auto proposed = drafter_->propose(tokens_.back());
            for (int j = 1; j < width; ++j)
                tokens_.push_back({slot, round.query_positions[first + j], proposed[static_cast<std::size_t>(j - 1)]});
        }
        return tokens_;
    }

    /// Greedy: the proposals that the target would have made itself, and the token behind them. chosen: [queries] the target's token
    /// behind each; features: [queries][768] where it drafts.
    void verify(const dh::round_ref& round, std::span<const std::uint8_t> chosen, std::span<const float> features, results& out) {
        if (drafter_) drafter_->extend(tokens_, features);
        for (int r = 0; r < round.n_requests; ++r) {
            const auto first = static_cast<std::size_t>(round.first_query[r]);
            const int width = round.first_query[r + 1] - round.first_query[r];
            if (width == 0) continue;
            proposed_.clear();
            for (auto q = first + 1; q < first + static_cast<std::size_t>(width); ++q) proposed_.push_back(tokens_[q].byte);
            const auto [accepted, next] = dh::accept_greedy(proposed_.data(), chosen.data() + first, width - 1);
            const auto slot = round.slots[r];
            accepted_[static_cast<std::size_t>(r)] = accepted;
            anchors_[static_cast<std::size_t>(slot)] = next;
            out.put(slot, chosen.subspan(first, static_cast<std::size_t>(accepted) + 1));
            if (drafter_) drafter_->commit(slot, width, accepted);
        }
    }
    const std::int32_t* accepted() const { return accepted_.data(); } // [requests of the round]

private:
    std::optional<decode::block_drafting> drafter_;
    typename Machine::template array<std::uint8_t> anchors_;  // [slots] the last token of each, not processed yet
    typename Machine::template array<std::int32_t> accepted_; // [slots] of the round's requests, which the commit reads
    std::vector<tiny_dsa::token> tokens_;                     // [queries] of the round
    bytes proposed_;                                          // of one request
};

} // namespace engine
