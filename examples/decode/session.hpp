// Requests of one hierarchy from their admission on, whose prompts are equally long.
#pragma once

#include "key_blocks.hpp"
#include "shape.hpp"

#include <dhisparse/hierarchy.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace decode {

namespace dh = dhisparse;

template <class Machine, class Policies>
class session {
public:
    using hierarchy = dh::hierarchy<typename Machine::backend, Policies>;
    using machine_type = Machine;

    template <class T>
    using array = typename Machine::template array<T>;

    Machine machine;

    /// Admits config.slots requests. Throws what the hierarchy throws, and out_of_capacity where
    /// they are not all admitted.
    session(const dh::hierarchy_config& config, const dh::demand& each)
        : kv_(config), demand_(each), keys_(config.slots) {
        for (int r = 0; r < config.slots; ++r) {
            const auto slot = kv_.try_admit(each);
            dh::require<dh::out_of_capacity>(slot.has_value(), "request ", r + 1, " of ",
                                             config.slots,
                                             " is not admitted: ", kv_.fits(each).limit);
            slots_.push_back(*slot);
            batch_.push_back(slot->index);
        }
        kv_.advance(machine.stream, kv_.completed(), {}); // fills the index tables
        for (int r = 0; r < n_requests(); ++r)
            cover(r, n_prompt());
    }

    hierarchy& kv() { return kv_; }
    const hierarchy& kv() const { return kv_; }
    int n_requests() const { return static_cast<int>(slots_.size()); }
    int n_prompt() const { return static_cast<int>(demand_.positions); }
    dh::slot_id slot(int request) const { return slots_[static_cast<std::size_t>(request)]; }
    const key_blocks& keys() const { return keys_; }
    /// Where the row of a layer lies.
    std::uint16_t* row(int layer, dh::location at) const {
        return reinterpret_cast<std::uint16_t*>(kv_.row(layer, at));
    }

    /// All pages have landed: what they are is settled, and rounds may run.
    void finish_import() {
        for (const auto slot : slots_)
            kv_.finish_import(slot);
        for (int r = 0; r < n_requests(); ++r)
            reports_.push_back({slot(r), n_prompt()});
        while (advance()) {
        }
        most_pages_ = 0;
        note_pages();
    }

    /// The first position that the next round appends; while every round appends one of each
    /// request, the same of all.
    int position(int request = 0) const {
        return reports_.empty() ? n_prompt() : reports_[static_cast<std::size_t>(request)].frontier;
    }

    /// One new position of each request, as the step path reads it.
    dh::batch_ref batch() const { return {batch_.data(), nullptr, n_requests()}; }

    /// The same for widths[r] new positions of request r; none for 0.
    dh::batch_ref batch(const array<std::int32_t>& widths) const {
        return {batch_.data(), widths.data(), n_requests()};
    }

    /// Locations for one new position of each request.
    dh::round_ref append() {
        for (int r = 0; r < n_requests(); ++r)
            cover(r, position(r) + 1);
        return kv_.append(machine.stream, batch());
    }
    /// The same for widths[r] new positions of request r; none for 0.
    dh::round_ref append(const array<std::int32_t>& widths) {
        for (int r = 0; r < n_requests(); ++r)
            cover(r, position(r) + widths.data()[r]);
        return kv_.append(machine.stream, batch(widths));
    }

    /// The round's rows become history, and the ledger has its turn.
    void commit(const dh::round_ref& round) {
        kv_.commit(machine.stream, round);
        end_round();
    }
    /// Of each request with a width above 0 the first position and `accepted` more become history.
    void commit(const dh::round_ref& round, const array<std::int32_t>& widths,
                const array<std::int32_t>& accepted) {
        kv_.commit(machine.stream, round, accepted.data());
        end_round(widths, accepted);
    }

    /// A round has been given to the stream, its commit too: waits for it, and lets the ledger have
    /// its turn.
    void end_round() {
        machine.wait();
        for (auto& report : reports_)
            ++report.frontier;
        advance();
    }
    void end_round(const array<std::int32_t>& widths, const array<std::int32_t>& accepted) {
        machine.wait();
        for (std::size_t r = 0; r < reports_.size(); ++r)
            if (widths.data()[r] > 0) reports_[r].frontier += accepted.data()[r] + 1;
        advance();
    }

    /// One turn of the ledger, repeated while a request can't grow: what it waits for may be
    /// leaving. True where there will be more to do.
    bool advance() {
        for (int turn = 0; turn < 4; ++turn) {
            machine.wait(); // for copies too, so that runs repeat exactly
            const auto& plan = kv_.advance(machine.stream, kv_.completed(), reports_);
            note_pages();
            if (plan.stalled.empty()) return plan.fence != 0 || !plan.copies.empty();
        }
        throw dh::out_of_capacity("the pool of " + std::to_string(kv_.ledger().pages().capacity) +
                                  " pages is too small to go on from position " +
                                  std::to_string(position()));
    }

    /// Fast memory that the requests took at most since the import: whole pages, required (hot,
    /// tail and index pages) and optional. Page maps and hot indexes, 1.6 % at most, are left out.
    std::int64_t fast_bytes() const { return most_pages_ * kv_.layout().page_bytes(); }

private:
    void cover(int request, int n_positions) {
        keys_.cover(kv_, machine, slot(request), request, n_positions);
    }
    void note_pages() {
        const auto pages = kv_.ledger().pages();
        most_pages_ = std::max<std::int64_t>(most_pages_, pages.required + pages.optional);
    }

    hierarchy kv_;
    dh::demand demand_;
    std::vector<dh::slot_id> slots_;
    key_blocks keys_;
    std::vector<dh::frontier_report> reports_; // empty during the import
    array<std::int32_t> batch_;                // [n_requests] slots
    std::int64_t most_pages_ = 0;
};

} // namespace decode
