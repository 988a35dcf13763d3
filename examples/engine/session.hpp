// What the loop knows of a request, and of a step in flight.
#pragma once

#include "request.hpp"

#include <dhisparse/ledger/demand.hpp>

#include <span>
#include <vector>

namespace engine {

namespace dh = dhisparse;

struct session {
    const request* asked = nullptr;
    reply* told = nullptr;
    std::size_t number = 0;       // in the order in which the requests were given
    dh::demand wanted = {};
    std::uint64_t ticket = 0;     // in the queue; 0: not there yet
    dh::slot_id slot = {};        // index -1: none
    std::int64_t since = 0;       // step in which it was admitted or resumed: its tables come with the next plan
    std::int64_t imported = 0;    // positions of the prompt that are there
    bool landed = false, prefilled = false; // some of them by its own prefill; all of them
    bool kept = false;            // as a prefix, or there is nothing to keep
    std::int32_t frontier = 0;    // as the host knows it
    std::int32_t drafts_from = 0; // frontier from which on the drafter has its window
    int k = 1;                    // K of its next round, at most
    int unread = 0;               // tokens that the steps in flight give at most
    bytes output = {};            // since it was admitted last; a restarted request begins anew
};

/// A part of a prompt, for the model.
struct prefill_chunk {
    dh::slot_id slot;
    std::int64_t first = 0;              // position of tokens[0]; all before it are in either tier
    std::span<const std::uint8_t> tokens;
    std::span<const dh::gpu_page> pages; // of positions from first / p · p on
    bool last = false;                   // the prompt ends with it: a token follows
};

/// A step in flight: what was launched, and what it says.
template <class Model>
struct step_record {
    struct row {
        session* of = nullptr;
        dh::slot_id slot;
        int width = 0; // K of its round; 0: the last chunk of its prompt
    };
    step_record(int n_slots, int k_max) : out(n_slots, k_max), slots(static_cast<std::size_t>(n_slots)), widths(slots.size()) {}

    std::vector<row> rows;
    typename Model::results out;
    typename Model::template array<std::int32_t> slots, widths; // [slots] of its batch
};

} // namespace engine
