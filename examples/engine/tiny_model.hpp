// The tiny model on the CPU as the loop's callbacks: prefill, drafter, target pass, verifier.
#pragma once

#include "loop.hpp"
#include "tiny_prefill.hpp"

#include <decode/drafting.hpp>
#include <decode/machine.hpp>
#include <decode/step_store.hpp>
#include <dhisparse/round/acceptance.hpp>

#include <optional>

namespace engine {

/// Kv: a hierarchy on the host backend. Its stream does everything at once; what would lie on a device is marked so.
template <class Kv>
class tiny_model {
    using machine_type = decode::host_machine;

public:
    static constexpr bool widths = true;
    template <class T>
    using array = machine_type::array<T>;
    using stream_type = typename Kv::stream;

    class results {
    public:
        results(int n_slots, int k_max) : k_max_(k_max), n_(static_cast<std::size_t>(n_slots)), tokens_(static_cast<std::size_t>(n_slots * k_max)) {}
        std::span<const std::uint8_t> tokens(int slot) const { return {tokens_.data() + slot * k_max_, static_cast<std::size_t>(n_[static_cast<std::size_t>(slot)])}; }
        void put(int slot, std::span<const std::uint8_t> tokens) {
            n_[static_cast<std::size_t>(slot)] = static_cast<int>(tokens.size());
            std::ranges::copy(tokens, tokens_.begin() + slot * k_max_);
        }

    private:
        int k_max_;
        array<std::int32_t> n_;      // [slots]
        array<std::uint8_t> tokens_; // [slots][k_max]
    };

    /// drafter: where k_max > 1.
    tiny_model(Kv& kv, tiny_dsa::model& target, std::optional<tiny_dsa::drafter> drafter, int n_slots, int k_max)
        : kv_(kv), target_(target), keys_(n_slots), store_(kv, machine_, keys_), prefill_(target), ids_(static_cast<std::size_t>(n_slots)),
          anchors_(ids_.size()), accepted_(ids_.size()) {
        if (drafter) drafting_.emplace(std::move(*drafter), n_slots, k_max, decode::fixed_block);
    }

    stream_type stream() { return machine_.stream; }

    void open(dh::slot_id slot, std::int32_t first) {
        ids_[static_cast<std::size_t>(slot.index)] = slot;
        keys_.forget(slot.index);
        if (drafting_) drafting_->restart(slot.index, first);
    }
    /// The draft ring is the slot's, and has stayed.
    void reopen(dh::slot_id slot) { keys_.forget(slot.index); }

    void prefill(Kv& kv, const prefill_chunk& chunk, results& out) {
        const auto seen = prefill_.run(kv, machine_, keys_, chunk, drafting_.has_value());
        if (drafting_) drafting_->fill(tiny_dsa::tokens_at(chunk.slot.index, static_cast<int>(chunk.first), chunk.tokens), seen.features);
        if (!chunk.last) return;
        anchors_[static_cast<std::size_t>(chunk.slot.index)] = seen.next;
        out.put(chunk.slot.index, {&seen.next, 1});
    }

    /// Each request's tokens of the round: its anchor, and what is proposed behind it.
    void draft(const dh::round_ref& round) {
        tokens_.clear();
        for (int r = 0; r < round.n_requests; ++r) {
            const int first = round.first_query[r], width = round.first_query[r + 1] - first;
            if (width == 0) continue;
            const auto slot = round.slots[r];
            tokens_.push_back({slot, round.query_positions[first], anchors_[static_cast<std::size_t>(slot)]});
            if (width == 1) continue;
            const auto proposed = drafting_->propose(tokens_.back());
            for (int j = 1; j < width; ++j)
                tokens_.push_back({slot, round.query_positions[first + j], proposed[static_cast<std::size_t>(j - 1)]});
        }
    }

    template <class Resolve>
    void forward(const dh::round_ref& round, const Resolve& resolve) {
        for (int r = 0; r < round.n_requests; ++r)
            if (const int end = round.first_query[r + 1]; end > round.first_query[r])
                keys_.cover(kv_, machine_, ids_[static_cast<std::size_t>(round.slots[r])], round.slots[r], round.query_positions[end - 1] + 1);
        logits_.resize(tokens_.size() * tiny_dsa::n_bytes);
        features_.resize(drafting_ ? tokens_.size() * tiny_dsa::feature_width : 0);
        store_.begin(tokens_, round, resolve);
        target_.forward(tokens_, store_, {.logits = logits_, .features = features_});
        if (drafting_) drafting_->extend(tokens_, features_);
    }

    /// Greedy: the proposals that the target would have made itself, and the token behind them.
    void verify(const dh::round_ref& round, results& out) {
        for (int r = 0; r < round.n_requests; ++r) {
            const int first = round.first_query[r], width = round.first_query[r + 1] - first;
            if (width == 0) continue;
            proposed_.clear();
            chosen_.clear();
            for (int q = first; q < first + width; ++q) {
                if (q > first) proposed_.push_back(tokens_[static_cast<std::size_t>(q)].byte);
                chosen_.push_back(tiny_dsa::argmax(std::span(logits_).subspan(static_cast<std::size_t>(q) * tiny_dsa::n_bytes, tiny_dsa::n_bytes)));
            }
            const auto [accepted, next] = dh::accept_greedy(proposed_.data(), chosen_.data(), width - 1);
            const auto slot = round.slots[r];
            accepted_[static_cast<std::size_t>(r)] = accepted;
            anchors_[static_cast<std::size_t>(slot)] = next;
            out.put(slot, std::span(chosen_).first(static_cast<std::size_t>(accepted) + 1));
            if (drafting_) drafting_->commit(slot, width, accepted);
        }
    }
    const std::int32_t* accepted() const { return accepted_.data(); } // [requests of the round]

    template <class Round>
    void enqueue(results&, const Round& round) { round(); }
    void launched(results&) {}
    void wait(const results&) {}
    void drain() {}

private:
    Kv& kv_;
    tiny_dsa::model& target_;
    machine_type machine_;
    decode::key_blocks keys_; // [slots]
    decode::step_store<Kv, machine_type> store_;
    tiny_prefill<Kv, machine_type> prefill_;
    std::optional<decode::block_drafting> drafting_;
    std::vector<dh::slot_id> ids_;        // [slots]
    array<std::uint8_t> anchors_;         // [slots] the last token of each, not processed yet: on the device
    array<std::int32_t> accepted_;        // [slots] of the round's requests: on the device
    std::vector<tiny_dsa::token> tokens_; // [queries] of the round
    std::vector<float> logits_, features_; // [queries][256], [queries][768]
    bytes proposed_, chosen_;             // of one request
};

} // namespace engine
