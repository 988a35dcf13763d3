/// The ledger's optional history: giving it back for others, and getting it back when there is room.
#pragma once

#include <dhisparse/ledger/ledger.hpp>

namespace dhisparse {

inline residency ledger::residency_of(std::int32_t s, std::uint64_t served) const {
    const auto& slot = at(s);
    return {static_cast<std::int32_t>(slot.n_may_leave()), slot.admitted, served, slot.positions - (slot.imported ? slot.frontier : slot.prompt)};
}

/// Equation (4): whole requests in order, with the pages whose last reader is among them; what no live request reads comes
/// first, longest unread first and no more of it than needed. Not whole_requests: of the last request too. Empty where all
/// of them don't cover `pages`. Grows with what it answers and the number of slots, not with what is held.
inline ledger::choice ledger::choose(std::int64_t pages, bool whole_requests) const {
    choice out;
    const auto lacks = [&] { return static_cast<std::int64_t>(out.records.size()) < pages; };
    for (auto it = unread_.begin(); lacks() && it != unread_.end(); ++it) out.records.push_back(it->second);
    if (!lacks()) return out;
    std::vector<std::tuple<std::uint64_t, std::uint64_t, std::int32_t>> order;
    for (std::int32_t s = 0; s < static_cast<std::int32_t>(slots_.size()); ++s)
        if (at(s).reads() && at(s).n_may_leave() > 0) order.emplace_back(policies_.reclaim_order(residency_of(s, at(s).reclaimed)), at(s).admitted, s);
    std::sort(order.begin(), order.end());
    std::map<std::int32_t, std::int32_t> chosen; // of a shared page, how many of those who read it
    for (const auto& [key, admitted, s] : order) {
        if (!lacks()) break;
        out.slots.push_back(s);
        const auto take = [&](const detail::page_order& those) {
            for (const auto page : those) {
                if (!whole_requests && !lacks()) return;
                const auto& r = page_of(s, page);
                const auto readers = n_readers(r);
                if (readers == 1 || ++chosen[r.self] == readers) out.records.push_back(r.self);
            }
        };
        take(at(s).leave_at_once);
        take(at(s).leave_once_copied);
    }
    return lacks() ? choice{} : out;
}

inline std::int32_t ledger::reclaim(std::int64_t pages) {
    require(pages >= 0, "reclaim: ", pages, " pages, permitted: 0 and more");
    if (pages == 0) kept_ = 0;
    if (pages == 0 || pages > reclaimable_) return 0;
    const auto chosen = choose(pages, true);
    if (chosen.records.empty()) return 0;
    kept_ = std::max(kept_, unpromised() + coming() + pages);
    ++n_reclaims_;
    ++counts_.reclaims;
    for (const auto s : chosen.slots) at(s).reclaimed = n_reclaims_;
    for (const auto r : chosen.records) leave(r, config_.departing_plans > 0);
    check();
    return static_cast<std::int32_t>(chosen.records.size());
}

/// An optional page leaves the GPU as soon as it may: now where it is durable, else once its copy is done. departs: not
/// before resolves have had a chance to keep its rows.
inline void ledger::leave(std::int32_t r, bool departs) {
    auto& page = record(r);
    const bool may = page.copied == durability::durable && !page.filling;
    if (may && !departs) return unmap(page);
    ++reclaiming_;
    page.leaving = true;
    page.departs = departs;
    note_exit(page);
    if (may) depart(page);
    else if (page.copied == durability::none) start_backup(r);
}

/// A leaving page has its host copy. Who reads it is told, and has some plans' time for its rows; where rounds include none of them it leaves at once.
/// A slot that begins to hold a departing page has it mapped plainly until it leaves.
inline void ledger::depart(page_record& r) {
    const bool in_rounds = std::any_of(r.slots.begin(), r.slots.end(), [&](auto s) { return at(s).phase == phase::running; });
    if (!r.departs || !in_rounds) return unmap(r);
    for (const auto s : r.slots)
        if (at(s).on_device()) say(edit::kind::map, s, departing(r.gpu), r.page);
    departing_.push_back({r.self, r.use, counts_.plans + static_cast<std::uint64_t>(config_.departing_plans)});
}

/// Pages whose time is over leave.
inline void ledger::end_departures() {
    while (!departing_.empty() && departing_.front().until <= counts_.plans) end_departure();
}

/// The page that has departed for longest leaves.
inline void ledger::end_departure() {
    const auto oldest = departing_.front();
    departing_.pop_front();
    if (auto& r = record(oldest.record); r.use == oldest.use && r.departs) unmap(r);
}

/// Pages that a slot needs beyond those promised to it, before all of its next positions are mapped.
inline std::int32_t ledger::lacking(std::int32_t s) const {
    const auto& slot = at(s);
    const auto target = size_.pages_of(size_.next_positions(slot.frontier, slot.positions));
    const auto index = std::max<std::int64_t>(0, size_.index_pages(target) - static_cast<std::int64_t>(slot.index.size()));
    const auto tail = std::max<std::int64_t>(0, target - slot.mapped_to - std::max(0, slot.tail_quota - slot.tail_held));
    return static_cast<std::int32_t>(index + tail);
}

/// Slots that could not grow wait for no departing page: as many as they lack leave at once, those whose copy has just been
/// done among them. They then take optional history page by page, a request's durable ones first; what is still lacking waits for a park.
inline void ledger::reclaim_for_growth() {
    if (growing_.empty()) return;
    std::int64_t wanted = 0;
    for (const auto s : growing_) wanted += lacking(s);
    while (!departing_.empty() && wanted > unpromised() + pages().leaving) end_departure();
    const auto lack = std::min<std::int64_t>(wanted - unpromised() - coming(), reclaimable_);
    if (lack > 0) {
        const auto records = choose(lack, false).records;
        counts_.reclaims += !records.empty();
        for (const auto r : records) leave(r, false);
    }
    std::int64_t available = unpromised() + coming();
    bool room_lacks = false;
    for (const auto s : growing_) {
        const auto lacks = lacking(s);
        const bool comes = at(s).tails_coming > 0 || lacks <= available;
        if (comes) available -= std::min<std::int64_t>(available, lacks);
        room_lacks |= !comes;
        next_.stalled.push_back({id_of(s), comes ? stall::until::pages_come : stall::until::room_comes});
    }
    counts_.stalls += growing_.size();
    if (room_lacks) name_one_to_park();
}

inline void ledger::name_one_to_park() {
    std::tuple<std::uint64_t, std::uint64_t, std::int32_t> best{UINT64_MAX, UINT64_MAX, -1};
    int n_live = 0;
    for (std::int32_t s = 0; s < static_cast<std::int32_t>(slots_.size()); ++s) {
        const auto& slot = at(s);
        n_live += slot.on_device();
        const bool may = host_.capacity() > 0 && (slot.importing() || slot.phase == phase::running) && slot.n_copies == 0 && host_pages_to_park(s) <= host_.n_free();
        if (may) best = std::min(best, {policies_.park_order(residency_of(s, 0)), slot.admitted, s});
    }
    if (n_live > 1 && std::get<2>(best) >= 0) next_.to_park = id_of(std::get<2>(best));
}

/// The last page that a slot lacks on the GPU and has in the host tier, -1: none any more.
inline std::int32_t ledger::next_absent(std::int32_t s) {
    auto& slot = at(s);
    while (!slot.absent.empty()) {
        const auto page = slot.absent.back();
        const auto& r = page_of(s, page);
        slot.absent.pop_back();
        slot.pages[static_cast<std::size_t>(page)].listed = false;
        if (r.gpu == gpu_page::none && r.copied == durability::durable) return page;
    }
    return -1;
}

/// Reserve, copy; the map edit comes when the copy is complete.
inline void ledger::refill() {
    for (std::int32_t n = 0; n < config_.refill_pages_per_step && may_grant() && !refillable_.empty();) {
        const auto s = std::get<2>(*refillable_.begin());
        const auto page = next_absent(s);
        if (page >= 0) {
            const auto number_of = record_number(s, page);
            auto& r = record(number_of);
            r.gpu = *gpu_.take(page_class::history);
            r.filling = true;
            grant(r);
            gpu_.hold(r.gpu);
            host_.hold(r.host);
            post({.what = outstanding::kind::refill, .way = direction::to_gpu, .gpu = {r.gpu}, .host = {r.host}, .tails = {}, .record = number_of, .use = r.use, .slot = {}},
                 {.way = direction::to_gpu, .gpu = r.gpu, .host = r.host});
            at(s).refilled = ++n_refills_;
            ++n;
        }
        note_refillable(s);
    }
}

inline void ledger::back_up_eagerly() {
    for (std::int32_t n = 0; n < config_.backup_pages_per_step && !to_back_up_.empty(); to_back_up_.pop_front()) {
        const auto [r, use] = to_back_up_.front();
        if (record(r).use != use || record(r).at != place::optional || record(r).copied != durability::none) continue;
        start_backup(r);
        ++n;
    }
}

inline ticket ledger::post(outstanding work, const page_copy& copy) {
    const auto id = ++last_ticket_;
    next_.copies.push_back(copy);
    next_.copies.back().id = id;
    outstanding_[id] = std::move(work);
    return id;
}

inline void ledger::start_backup(std::int32_t r) {
    auto& page = record(r);
    gpu_.hold(page.gpu);
    host_.hold(page.host);
    page.copied = durability::pending;
    if (page.at == place::tail) ++at(page.slots.front()).tails_coming;
    post({.what = outstanding::kind::backup, .way = direction::to_host, .gpu = {page.gpu}, .host = {page.host}, .tails = {}, .record = r, .use = page.use, .slot = {}},
         {.way = direction::to_host, .gpu = page.gpu, .host = page.host});
}

} // namespace dhisparse
