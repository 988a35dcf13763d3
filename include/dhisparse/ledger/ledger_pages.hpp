/// The ledger's pages: who holds each, as what it is on the GPU, and the counts that follow from it.
#pragma once

#include <dhisparse/ledger/ledger.hpp>

namespace dhisparse {

/// The record of a slot's page; a fresh one where it has none yet.
inline std::int32_t ledger::record_number(std::int32_t s, std::int32_t page) {
    auto& number_of = at(s).pages[static_cast<std::size_t>(page)].record;
    if (number_of >= 0) return number_of;
    if (free_records_.empty()) {
        free_records_.push_back(static_cast<std::int32_t>(records_.size()));
        records_.emplace_back();
    }
    number_of = free_records_.back();
    free_records_.pop_back();
    record(number_of).self = number_of;
    record(number_of).page = page;
    record(number_of).slots.push_back(s);
    return number_of;
}

inline ledger::page_record& ledger::page_of(std::int32_t s, std::int32_t page) { return record(record_number(s, page)); }

inline const ledger::page_record& ledger::page_of(std::int32_t s, std::int32_t page) const {
    static const page_record nothing;
    const auto number_of = at(s).pages[static_cast<std::size_t>(page)].record;
    return number_of < 0 ? nothing : record(number_of);
}

inline void ledger::hold(std::int32_t r, std::int32_t s) {
    auto& page = record(r);
    page.slots.push_back(s);
    if (page.listed != page_record::exit::no) at(s).leaving_as(page.listed).insert(page.page);
    note_readers(page);
}

/// The slot holds the page no more.
inline void ledger::let_go(std::int32_t r, std::int32_t s) {
    auto& page = record(r);
    std::erase(page.slots, s);
    if (page.listed != page_record::exit::no) at(s).leaving_as(page.listed).erase(page.page);
    note_readers(page);
    free_if_unheld(r);
}

inline void ledger::free_if_unheld(std::int32_t r) {
    auto& page = record(r);
    if (!page.slots.empty() || page.n_prefixes > 0) return;
    if (page.gpu != gpu_page::none) free_gpu(page);
    if (page.host != host_page::none) leaving_.host.push_back(page.host);
    const auto use = page.use + 1;
    page = {};
    page.use = use;
    free_records_.push_back(r);
}

/// The page leaves the GPU with the next fence. What its slot counted as tail is the caller's.
inline void ledger::free_gpu(page_record& r) {
    if (r.at == place::optional) ungrant(r);
    if (r.at == place::shared) --required_;
    leaving_.gpu.push_back(std::exchange(r.gpu, gpu_page::none));
    r.at = place::away;
    r.filling = r.leaving = r.departs = false;
    note_exit(r);
}

/// A page on the GPU becomes optional: equation (3).
inline void ledger::grant(page_record& r) {
    r.at = place::optional;
    ++optional_;
    note_exit(r);
    if constexpr (DHISPARSE_CHECKS)
        require<error>(required_ + optional_ + config_.reserve_pages <= gpu_.capacity(), "optional page granted out of the reserve: required ", required_,
                       ", optional ", optional_, ", reserve ", config_.reserve_pages, ", capacity ", gpu_.capacity());
}

inline void ledger::ungrant(page_record& r) {
    reclaiming_ -= r.leaving;
    --optional_;
}

/// Whether a page may leave, and how, has changed: whoever holds it lists it so.
inline void ledger::note_exit(page_record& r) {
    using exit = page_record::exit;
    const bool may = r.at == place::optional && r.landed && !r.leaving;
    const auto now = !may ? exit::no : r.copied == durability::durable && !r.filling ? exit::at_once : exit::once_copied;
    const auto before = std::exchange(r.listed, now);
    if (now == before) return;
    reclaimable_ += (now != exit::no) - (before != exit::no);
    for (const auto s : r.slots) {
        if (before != exit::no) at(s).leaving_as(before).erase(r.page);
        if (now != exit::no) at(s).leaving_as(now).insert(r.page);
    }
    note_readers(r);
}

inline void ledger::note_readers(page_record& r) {
    const auto n = r.listed == page_record::exit::no ? -1 : n_readers(r);
    if ((n == 0) == (r.unread > 0)) return;
    if (r.unread > 0) unread_.erase(std::exchange(r.unread, 0));
    else unread_[r.unread = ++n_unread_] = r.self;
}

/// The slot has become a reader of its pages, or is none any more.
inline void ledger::note_readers_of(std::int32_t s) {
    for (const auto* pages : {&at(s).leave_at_once, &at(s).leave_once_copied})
        for (const auto page : *pages) note_readers(page_of(s, page));
}

inline std::int32_t ledger::n_readers(const page_record& r) const {
    return static_cast<std::int32_t>(std::count_if(r.slots.begin(), r.slots.end(), [&](auto s) { return at(s).reads(); }));
}

/// A durable page leaves every map, and the GPU with the next fence. A tail page stays required until then.
inline void ledger::unmap(page_record& r) {
    for (const auto s : r.slots) {
        if (at(s).on_device()) say(edit::kind::map, s, -1, r.page);
        list_absent(s, r.page);
    }
    ++(r.at == place::tail ? counts_.unmapped_pages : counts_.reclaimed_pages);
    if (r.at == place::tail) {
        auto& slot = at(r.slots.front());
        if (slot.phase == phase::parking) {
            hold_tail(slot, -1);
        } else {
            leaving_.tails.push_back(id_of(r.slots.front()));
            ++slot.tails_coming;
        }
    }
    free_gpu(r);
}

inline void ledger::map_for_all(const page_record& r) {
    for (const auto s : r.slots)
        if (at(s).on_device()) say(edit::kind::map, s, number(r.gpu), r.page);
}

inline void ledger::list_absent(std::int32_t s, std::int32_t page) {
    auto& slot = at(s);
    if (!std::exchange(slot.pages[static_cast<std::size_t>(page)].listed, true)) slot.absent.push_back(page);
    note_refillable(s);
}

/// Keeps the slot in the order of those that lack history, as its policy has it now.
inline void ledger::note_refillable(std::int32_t s) {
    auto& slot = at(s);
    const bool is = slot.phase == phase::running && !slot.absent.empty();
    const auto key = is ? policies_.refill_order(residency_of(s, slot.refilled)) : 0;
    if (is == slot.refillable && key == slot.refill_key) return;
    if (slot.refillable) refillable_.erase({slot.refill_key, slot.admitted, s});
    if (is) refillable_.emplace(key, slot.admitted, s);
    slot.refillable = is;
    slot.refill_key = key;
}

/// A page for a tail or an import: one that was promised to the slot, else one that nobody was promised.
inline std::optional<gpu_page> ledger::take_tail(slot_state& slot) {
    if (slot.tail_held >= slot.tail_quota && unpromised() <= 0) return std::nullopt;
    const auto page = gpu_.take(page_class::tail);
    if (page) hold_tail(slot, 1);
    return page;
}

inline void ledger::hold_tail(slot_state& slot, std::int32_t change) {
    const auto before = slot.tail_held, after = before + change, quota = slot.tail_quota;
    required_ += std::max(quota, after) - std::max(quota, before);
    promised_ += std::max(0, quota - after) - std::max(0, quota - before);
    slot.tail_held = after;
}

/// Index pages for the first so many pages of positions; false where the pool has none left. quietly: without edits.
inline bool ledger::give_index_pages(std::int32_t s, std::int64_t position_pages, bool quietly) {
    auto& slot = at(s);
    while (static_cast<std::int64_t>(slot.index.size()) < size_.index_pages(position_pages)) {
        if (unpromised() <= 0) return false;
        slot.index.push_back(*gpu_.take(page_class::index));
        ++required_;
        if (!quietly) say(edit::kind::index_page, s, number(slot.index.back()), static_cast<std::int32_t>(slot.index.size()) - 1);
    }
    return true;
}

inline bool ledger::give_host_page(std::int32_t s, std::int32_t page) {
    const auto host = host_.take();
    if (!host) return false;
    page_of(s, page).host = *host;
    say(edit::kind::host_map, s, number(*host), page);
    return true;
}

} // namespace dhisparse
