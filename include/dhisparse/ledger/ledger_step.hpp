/// The ledger between rounds: completions in, edits and copies out.
#pragma once

#include <dhisparse/ledger/ledger.hpp>

namespace dhisparse {

inline const step_plan& ledger::advance(std::span<const ticket> completed, std::span<const frontier_report> frontiers) {
    require_valid(completed, frontiers);
    std::vector<ticket> in_order(completed.begin(), completed.end()); // a set: whatever the order in which ranks name them
    std::sort(in_order.begin(), in_order.end());
    for (const auto id : in_order) complete(id);
    for (const auto& report : frontiers) {
        auto& slot = slots_[static_cast<std::size_t>(report.slot.index)];
        if (!slot.live || slot.generation != report.slot.generation) continue; // a step launched before it ended
        slot.frontier = std::max(slot.frontier, report.frontier); // of several steps, in any order
        retire_full_pages(report.slot.index);
        grow_later(report.slot.index);
    }
    std::vector<std::int32_t> again;
    for (const auto s : growing_) {
        auto& slot = slots_[static_cast<std::size_t>(s)];
        slot.growing = slot.live && !slot.importing && !map_ahead(s);
        if (!slot.growing) continue;
        again.push_back(s);
        next_.stalled.push_back({s, slot.generation});
    }
    growing_.swap(again);
    close_plan();
    check();
    return current_;
}

inline void ledger::require_valid(std::span<const ticket> completed, std::span<const frontier_report> frontiers) const {
    for (std::size_t i = 0; i < completed.size(); ++i) {
        require(outstanding_.contains(completed[i]), "advance: ticket ", completed[i], " is not outstanding");
        for (std::size_t j = 0; j < i; ++j) require(completed[j] != completed[i], "advance: ticket ", completed[i], " is given twice");
    }
    for (const auto& report : frontiers) {
        require_in(report.slot.index, 0, static_cast<std::int32_t>(slots_.size()) - 1, "advance: slot");
        const auto& slot = slots_[static_cast<std::size_t>(report.slot.index)];
        if (!slot.live || slot.generation != report.slot.generation) continue;
        require(!slot.importing, "advance: slot ", report.slot.index, " is still importing");
        const auto mapped = std::min<std::int64_t>(slot.positions, std::int64_t{slot.mapped_to} * layout_.shape().page_positions);
        require(report.frontier >= slot.frontier && report.frontier <= mapped, "advance: frontier of slot ", report.slot.index, " is ",
                report.frontier, ", permitted: ", slot.frontier, " to ", mapped);
    }
}

inline void ledger::complete(ticket id) {
    const auto work = outstanding_.extract(id).mapped();
    let_go(work);
    if (work.page < 0) return;
    auto& slot = slots_[static_cast<std::size_t>(work.slot.index)];
    if (!slot.live || slot.generation != work.slot.generation) return;
    slot.pages[static_cast<std::size_t>(work.page)].copied = durability::durable;
    keep_or_unmap(work.slot.index, work.page);
    if (!slot.importing) retire_full_pages(work.slot.index);
}

inline void ledger::let_go(const outstanding& work) {
    for (const auto page : work.gpu) gpu_.release(page);
    for (const auto page : work.host) host_.release(page);
    for (const auto id : work.tails) {
        auto& slot = slots_[static_cast<std::size_t>(id.index)];
        if (slot.live && slot.generation == id.generation) hold_tail(slot, -1);
    }
}

/// Full pages below the frontier become history, in order, once they are durable.
inline void ledger::retire_full_pages(std::int32_t s) {
    auto& slot = slots_[static_cast<std::size_t>(s)];
    const auto full = slot.frontier / layout_.shape().page_positions;
    auto first = slot.first_tail;
    for (auto page = slot.first_tail; page < full; ++page)
        if (settle(s, page) && page == first) ++first;
    if (first != slot.first_tail) say(edit::kind::tail_page, s, first);
    slot.first_tail = first;
}

/// Makes a full page durable; true where nothing is left to do for it.
inline bool ledger::settle(std::int32_t s, std::int32_t page) {
    auto& at = slots_[static_cast<std::size_t>(s)].pages[static_cast<std::size_t>(page)];
    if (host_.capacity() == 0 || at.copied == durability::durable) return true;
    if (at.copied == durability::pending) return false;
    if (at.host == host_page::none && !give_host_page(s, page)) return false; // stays required until there is one
    if (at.whole_copy) {
        start_backup(s, page);
        return false;
    }
    at.copied = durability::durable; // every row was backed up by the commit that completed it
    keep_or_unmap(s, page);
    return true;
}

inline void ledger::start_backup(std::int32_t s, std::int32_t page) {
    auto& slot = slots_[static_cast<std::size_t>(s)];
    auto& at = slot.pages[static_cast<std::size_t>(page)];
    gpu_.hold(at.gpu);
    host_.hold(at.host);
    at.copied = durability::pending;
    const auto id = ++last_ticket_;
    next_.copies.push_back({id, direction::to_host, at.gpu, at.host});
    outstanding_[id] = {.gpu = {at.gpu}, .host = {at.host}, .tails = {}, .slot = {s, slot.generation}, .page = page};
}

/// A durable page stays mapped as optional history while the grant rule allows it, else it is unmapped.
inline void ledger::keep_or_unmap(std::int32_t s, std::int32_t page) {
    auto& slot = slots_[static_cast<std::size_t>(s)];
    auto& at = slot.pages[static_cast<std::size_t>(page)];
    if (at.gpu == gpu_page::none || at.optional) return;
    const auto promised_then = promised_ + (slot.tail_held <= slot.tail_quota ? 1 : 0);
    if (gpu_.n_free() - promised_then >= config_.reserve_pages) {
        at.optional = true;
        gpu_.reclassify(at.gpu, page_class::history);
        ++optional_;
        hold_tail(slot, -1);
        return;
    }
    say(edit::kind::map, s, -1, page);
    leaving_.gpu.push_back(at.gpu);
    leaving_.tails.push_back({s, slot.generation}); // stays required until the fence
    at.gpu = gpu_page::none;
}

inline void ledger::grow_later(std::int32_t s) {
    auto& slot = slots_[static_cast<std::size_t>(s)];
    if (!std::exchange(slot.growing, true)) growing_.push_back(s);
}

/// Maps every position that the steps up to the next plan may append; false where a page lacks.
inline bool ledger::map_ahead(std::int32_t s) {
    auto& slot = slots_[static_cast<std::size_t>(s)];
    const auto target = static_cast<std::int32_t>(pages_of(first_positions(slot.frontier, slot.positions)));
    for (; slot.mapped_to < target; ++slot.mapped_to) {
        const auto page = slot.mapped_to;
        auto& at = slot.pages[static_cast<std::size_t>(page)];
        if (!give_index_pages(s, page + 1)) return false;
        const auto taken = take_tail(slot);
        if (!taken) return false;
        at.gpu = *taken;
        at.landed = true;
        if (host_.capacity() > 0 && at.host == host_page::none) at.whole_copy = !give_host_page(s, page);
        say(edit::kind::map, s, number(at.gpu), page);
    }
    return true;
}

inline void ledger::finish(slot_id id) {
    auto& slot = state(id, "finish");
    for (const auto& page : slot.pages) {
        if (page.gpu != gpu_page::none) leaving_.gpu.push_back(page.gpu);
        if (page.host != host_page::none) leaving_.host.push_back(page.host);
        optional_ -= page.gpu != gpu_page::none && page.optional;
    }
    for (const auto* held : {&slot.hot, &slot.index}) {
        leaving_.gpu.insert(leaving_.gpu.end(), held->begin(), held->end());
        required_ -= static_cast<std::int32_t>(held->size());
    }
    required_ -= std::max(slot.tail_quota, slot.tail_held);
    promised_ -= std::max(0, slot.tail_quota - slot.tail_held);
    region_.give(slot.run, tables_.run_bytes(slot.map_pages)); // its next owner's edits come behind this close
    say(edit::kind::close, id.index, 0);
    const auto generation = slot.generation + 1;
    slot = {};
    slot.generation = generation;
    free_slots_.push_back(id.index);
    std::erase(growing_, id.index);
    check();
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
}

inline page_counts ledger::pages() const {
    const auto held = gpu_.capacity() - gpu_.n_free();
    return {gpu_.capacity(), required_, optional_, held - (required_ - promised_) - optional_, gpu_.n_free() - promised_, promised_};
}

inline std::int32_t ledger::durable_positions(slot_id id) const {
    const auto& slot = state(id, "durable_positions");
    if (slot.importing) return 0;
    if (host_.capacity() == 0) return static_cast<std::int32_t>(slot.prompt);
    const auto p = layout_.shape().page_positions;
    for (auto page = std::max(slot.first_tail, static_cast<std::int32_t>(pages_of(slot.prompt))); page * p < slot.frontier; ++page) {
        const auto& at = slot.pages[static_cast<std::size_t>(page)];
        if (at.copied != durability::durable && (at.whole_copy || at.host == host_page::none)) return page * p;
    }
    return slot.frontier;
}

/// Invariant 5, with DHISPARSE_CHECKS alone.
inline void ledger::check() const {
    if constexpr (DHISPARSE_CHECKS) {
        const auto now = pages();
        require<error>(now.leaving >= 0 && now.free >= 0 && now.promised >= 0 && now.required + now.optional <= now.capacity,
                       "budget broken: capacity ", now.capacity, ", required ", now.required, ", optional ", now.optional, ", leaving ",
                       now.leaving, ", free ", now.free, ", promised ", now.promised);
    }
}

} // namespace dhisparse
