/// The ledger between rounds: completions in, edits and copies out.
#pragma once

#include <dhisparse/ledger/ledger.hpp>

namespace dhisparse {

inline const step_plan& ledger::advance(std::span<const ticket> completed, std::span<const frontier_report> frontiers) {
    std::vector<ticket> in_order(completed.begin(), completed.end()); // a set: whatever the order in which ranks name them
    std::sort(in_order.begin(), in_order.end(), [](ticket a, ticket b) { return std::abs(a) < std::abs(b); });
    require_valid(in_order, frontiers);
    for (const auto id : in_order) complete(std::abs(id), id < 0);
    for (const auto& report : frontiers) note_frontier(report);
    end_departures();
    grow();
    refill();
    back_up_eagerly();
    close_plan();
    check();
    return current_;
}

/// completed: in order.
inline void ledger::require_valid(std::span<const ticket> completed, std::span<const frontier_report> frontiers) const {
    for (std::size_t i = 0; i < completed.size(); ++i) {
        const auto found = outstanding_.find(std::abs(completed[i]));
        require(found != outstanding_.end(), "advance: ticket ", completed[i], " is not outstanding");
        require(completed[i] > 0 || found->second.what != outstanding::kind::fence, "advance: ticket ", -completed[i], " is a fence, which cannot fail");
        require(i == 0 || std::abs(completed[i - 1]) != std::abs(completed[i]), "advance: ticket ", std::abs(completed[i]), " is given twice");
    }
    for (const auto& report : frontiers) {
        require_in(report.slot.index, 0, static_cast<std::int32_t>(slots_.size()) - 1, "advance: slot");
        const auto& slot = at(report.slot.index);
        if (slot.phase == phase::none || slot.generation != report.slot.generation) continue;
        require(slot.imported && slot.phase != phase::finishing, "advance: slot ", report.slot.index, " is still importing");
        const auto mapped = slot.phase == phase::resuming ? slot.frontier : std::min<std::int64_t>(slot.positions, std::int64_t{slot.mapped_to} * size_.p());
        require(report.frontier >= slot.frontier && report.frontier <= mapped, "advance: frontier of slot ", report.slot.index, " is ",
                report.frontier, ", permitted: ", slot.frontier, " to ", mapped);
    }
}

inline void ledger::complete(ticket id, bool failed) {
    const auto work = outstanding_.extract(id).mapped();
    release(work);
    if (work.what == outstanding::kind::fence) return;
    if (failed) return fail(work);
    if (work.record >= 0 && record(work.record).use == work.use) page_done(work);
    waiter_done(work);
}

inline void ledger::release(const outstanding& work) {
    for (const auto page : work.gpu) gpu_.release(page);
    for (const auto page : work.host) host_.release(page);
    for (const auto id : work.tails) {
        auto& slot = at(id.index);
        if (slot.phase == phase::none || slot.generation != id.generation) continue;
        --slot.tails_coming;
        hold_tail(slot, -1);
        end_parking(id.index);
    }
}

/// A copy of a page's rows is complete.
inline void ledger::page_done(const outstanding& work) {
    auto& r = record(work.record);
    if (work.what != outstanding::kind::backup) {
        r.filling = false;
        if (work.what == outstanding::kind::boundary) return map_for_all(r); // what is shared of it can be read before it has landed
        if (work.what != outstanding::kind::refill) return;
        if (r.leaving) return unmap(r);
        note_exit(r);
        ++counts_.refilled_pages;
        return map_for_all(r);
    }
    r.copied = durability::durable;
    note_exit(r);
    ++counts_.backed_up_pages;
    const auto s = r.slots.empty() ? -1 : r.slots.front();
    if (r.at == place::tail) --at(s).tails_coming;
    if (r.leaving) depart(r);
    else keep_or_unmap(r);
    if (s < 0) return;
    if (at(s).phase == phase::running) retire_full_pages(s);
    end_parking(s);
}

/// Who waited for it may go on.
inline void ledger::waiter_done(const outstanding& work) {
    if (work.prefix != prefix_id::none) {
        const auto found = prefixes_.find(static_cast<std::int64_t>(work.prefix));
        if (found != prefixes_.end()) --found->second.n_copies;
    }
    if (work.slot.index < 0) return;
    auto& slot = at(work.slot.index);
    if (slot.phase == phase::none || slot.generation != work.slot.generation || --slot.n_copies > 0) return;
    if (slot.phase == phase::finishing) end_import(work.slot.index);
    if (slot.phase == phase::resuming) reopen(work.slot.index);
    end_parking(work.slot.index);
}

/// Everyone who needs what a failed copy should have brought ends: a page that isn't whole is never used.
inline void ledger::fail(const outstanding& work) {
    ++counts_.failed_copies;
    const bool has_page = work.record >= 0 && record(work.record).use == work.use;
    std::vector<std::int32_t> slots;
    std::vector<std::int64_t> prefixes;
    if (has_page) {
        if (work.what == outstanding::kind::backup) record(work.record).copied = durability::none;
        slots = record(work.record).slots;
        for (const auto& [id, prefix] : prefixes_)
            if (std::find(prefix.records.begin(), prefix.records.end(), work.record) != prefix.records.end()) prefixes.push_back(id);
    }
    const auto page = has_page ? record(work.record).page : -1;
    if (work.what == outstanding::kind::keys) {
        const auto s = work.slot.index;
        if (s >= 0 && at(s).phase != phase::none && at(s).generation == work.slot.generation) slots.push_back(s);
        if (prefixes_.contains(static_cast<std::int64_t>(work.prefix))) prefixes.push_back(static_cast<std::int64_t>(work.prefix));
    }
    for (const auto s : slots) {
        next_.failed.push_back({id_of(s), prefix_id::none, page, work.way});
        ++counts_.failed;
        end(s);
    }
    for (const auto id : prefixes) {
        next_.failed.push_back({{}, prefix_id{id}, page, work.way});
        end_prefix(id);
    }
}

inline void ledger::note_frontier(const frontier_report& report) {
    auto& slot = at(report.slot.index);
    if (slot.phase == phase::none || slot.generation != report.slot.generation) return; // a step launched before it ended
    slot.frontier = std::max(slot.frontier, report.frontier); // of several steps, in any order
    if (slot.phase != phase::running) return;                 // a step launched before it was parked
    retire_full_pages(report.slot.index);
    counts_.watermark_lag.add(static_cast<std::uint64_t>(slot.frontier - durable_positions(report.slot)));
    grow_later(report.slot.index);
}

/// Full pages below the frontier become history, in order, once they are durable.
inline void ledger::retire_full_pages(std::int32_t s) {
    auto& slot = at(s);
    const auto full = slot.frontier / size_.p();
    auto first = slot.first_tail;
    for (auto page = slot.first_tail; page < full; ++page)
        if (settle(s, page) && page == first) ++first;
    if (first != slot.first_tail) say(edit::kind::tail_page, s, first);
    slot.first_tail = first;
}

/// Makes a full page durable; true where nothing is left to do for it.
inline bool ledger::settle(std::int32_t s, std::int32_t page) {
    auto& r = page_of(s, page);
    if (host_.capacity() == 0 || r.copied == durability::durable) return true;
    if (r.copied == durability::pending) return false;
    if (r.host == host_page::none && !give_host_page(s, page)) return false; // stays required until there is one
    if (r.whole_copy) {
        start_backup(record_number(s, page));
        return false;
    }
    r.copied = durability::durable; // every row was backed up by the commit that completed it
    keep_or_unmap(r);
    return true;
}

/// A durable page stays mapped as optional history while the grant rule allows it, else it is unmapped.
inline void ledger::keep_or_unmap(page_record& r) {
    if (r.gpu == gpu_page::none || r.at != place::tail) return;
    auto& slot = at(r.slots.front());
    const auto promised_then = promised_ + (slot.tail_held <= slot.tail_quota ? 1 : 0);
    if (gpu_.n_free() - promised_then < config_.reserve_pages + kept_) return unmap(r);
    gpu_.reclassify(r.gpu, page_class::history);
    hold_tail(slot, -1);
    grant(r);
}

inline void ledger::grow_later(std::int32_t s) {
    if (!std::exchange(at(s).growing, true)) growing_.push_back(s);
}

inline void ledger::grow() {
    std::vector<std::int32_t> again;
    for (const auto s : growing_) {
        auto& slot = at(s);
        if (slot.n_stalled > 0) retire_full_pages(s); // no frontier will come in, but a host page may have come free
        slot.growing = !map_ahead(s);
        if (slot.growing) ++slot.n_stalled;
        else if (slot.n_stalled > 0) counts_.stalled_plans.add(static_cast<std::uint64_t>(std::exchange(slot.n_stalled, 0)));
        if (slot.growing) again.push_back(s);
    }
    growing_.swap(again);
    reclaim_for_growth();
}

/// Maps every position that the steps up to the next plan may append; false where a page lacks.
inline bool ledger::map_ahead(std::int32_t s) {
    auto& slot = at(s);
    const auto target = static_cast<std::int32_t>(size_.pages_of(size_.next_positions(slot.frontier, slot.positions)));
    for (; slot.mapped_to < target; ++slot.mapped_to) {
        const auto page = slot.mapped_to;
        if (!give_index_pages(s, page + 1)) return false;
        const auto taken = take_tail(slot);
        if (!taken) return false;
        auto& r = page_of(s, page);
        r.gpu = *taken;
        r.at = place::tail;
        r.landed = true;
        if (host_.capacity() > 0 && r.host == host_page::none) r.whole_copy = !give_host_page(s, page);
        say(edit::kind::map, s, number(r.gpu), page);
    }
    return true;
}

/// The plan so far becomes the current one; what it lets go of comes back with its fence.
inline void ledger::close_plan() {
    next_.fence = 0;
    if (!leaving_.gpu.empty() || !leaving_.host.empty()) {
        next_.fence = ++last_ticket_;
        outstanding_[next_.fence] = std::exchange(leaving_, {});
    }
    std::swap(current_, next_);
    next_.edits.clear();
    next_.copies.clear();
    next_.stalled.clear();
    next_.failed.clear();
    next_.to_park = {};
    ++counts_.plans;
}

} // namespace dhisparse
