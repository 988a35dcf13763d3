// The tiny model on the CPU as the loop's callbacks: prefill, drafter, target pass, verifier.
#pragma once

#include "tiny_drafting.hpp"
#include "tiny_prefill.hpp"

#include <decode/machine.hpp>
#include <decode/step_store.hpp>

namespace engine {

/// Kv: a hierarchy on the host backend. Its stream does everything at once.
template <class Kv>
class tiny_model {
    using machine_type = decode::host_machine;

public:
    template <class T>
    using array = machine_type::array<T>;
    using stream_type = typename Kv::stream;
    using results = step_tokens<machine_type>;

    /// drafter: where k_max > 1.
    tiny_model(Kv& kv, tiny_dsa::model& target, std::optional<tiny_dsa::drafter> drafter, int n_slots, int k_max)
        : kv_(kv), target_(target), keys_(n_slots), store_(kv, machine_, keys_), prefill_(target), drafting_(std::move(drafter), n_slots, k_max),
          ids_(static_cast<std::size_t>(n_slots)) {}

    stream_type stream() { return machine_.stream; }

    void open(dh::slot_id slot, std::int32_t first) {
        ids_[static_cast<std::size_t>(slot.index)] = slot;
        keys_.forget(slot.index);
        drafting_.open(slot.index, first);
    }
    /// The draft ring is the slot's, and has stayed.
    void reopen(dh::slot_id slot) { keys_.forget(slot.index); }

    void prefill(Kv& kv, const prefill_chunk& chunk, results& out) {
        const auto seen = prefill_.run(kv, machine_, keys_, chunk, drafting_.drafts());
        drafting_.prefilled(chunk, seen.next, seen.features, out);
    }

    void draft(const dh::round_ref& round) { tokens_ = drafting_.draft(round); }

    template <class Resolve>
    void forward(const dh::round_ref& round, const Resolve& resolve) {
        for (int r = 0; r < round.n_requests; ++r)
            if (const int end = round.first_query[r + 1]; end > round.first_query[r])
                keys_.cover(kv_, machine_, ids_[static_cast<std::size_t>(round.slots[r])], round.slots[r], round.query_positions[end - 1] + 1);
        logits_.resize(tokens_.size() * tiny_dsa::n_bytes);
        features_.resize(drafting_.drafts() ? tokens_.size() * tiny_dsa::feature_width : 0);
        store_.begin(tokens_, round, resolve);
        target_.forward(tokens_, store_, {.logits = logits_, .features = features_});
    }

    void verify(const dh::round_ref& round, results& out) {
        chosen_.clear();
        for (std::size_t q = 0; q < tokens_.size(); ++q) chosen_.push_back(tiny_dsa::argmax(std::span(logits_).subspan(q * tiny_dsa::n_bytes, tiny_dsa::n_bytes)));
        drafting_.verify(round, chosen_, features_, out);
    }
    const std::int32_t* accepted() const { return drafting_.accepted(); }

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
    tiny_drafting<machine_type> drafting_;
    std::vector<dh::slot_id> ids_;             // [slots]
    std::span<const tiny_dsa::token> tokens_;  // [queries] of the round
    std::vector<float> logits_, features_;     // [queries][256], [queries][768]
    bytes chosen_;                             // [queries]
};

} // namespace engine
