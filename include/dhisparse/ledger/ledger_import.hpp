/// The ledger's import: pages for history that arrives from a prefill or from another node.
#pragma once

#include <dhisparse/ledger/ledger.hpp>

namespace dhisparse {

/// An optional page while the grant rule allows it, else one of the slot's own: a window that is backed
/// up and used again, never the reserve. The boundary page is the slot's own, and the window leaves one for it.
inline bool ledger::give_import_page(std::int32_t s, std::int32_t page) {
    auto& slot = at(s);
    if (page < slot.first_import || slot.n_copies > 0) return false; // a prefix's keys would fall on those of these pages
    auto& r = page_of(s, page);
    if (r.gpu != gpu_page::none || r.copied == durability::durable) return r.gpu != gpu_page::none;
    const bool boundary = page == slot.prompt / size_.p();
    if (!boundary && may_grant()) {
        r.gpu = *gpu_.take(page_class::history);
        grant(r);
        return true;
    }
    if (slot.tail_held >= slot.tail_quota || (boundary ? !may_take_boundary(slot) : keeps_last_for_boundary(slot))) return false;
    r.gpu = *take_tail(slot);
    r.at = place::tail;
    r.whole_copy = boundary;
    return true;
}

/// Whether the one page that a window has left is for the boundary page.
inline bool ledger::keeps_last_for_boundary(const slot_state& slot) const {
    const auto boundary = static_cast<std::size_t>(slot.prompt / size_.p());
    const bool waits = slot.prompt % size_.p() != 0 && (slot.pages[boundary].record < 0 || record(slot.pages[boundary].record).gpu == gpu_page::none);
    return waits && slot.tail_quota > 1 && slot.tail_held >= slot.tail_quota - 1;
}

/// The boundary page keeps what it takes: with a single tail page it comes last.
inline bool ledger::may_take_boundary(const slot_state& slot) const {
    const auto boundary = slot.pages.begin() + slot.prompt / size_.p();
    return slot.tail_quota > 1 || std::none_of(slot.pages.begin(), boundary, [&](const auto& page) {
               return page.record < 0 || (record(page.record).gpu == gpu_page::none && record(page.record).copied != durability::durable);
           });
}

inline std::span<const gpu_page> ledger::import_pages(slot_id id, std::int32_t first, std::int32_t n) {
    auto& slot = state(id, "import_pages");
    require(slot.importing(), "import_pages: ", slot.imported ? "the import of slot " : "no import is under way in slot ", id.index, slot.imported ? " has finished" : "");
    const auto pages = static_cast<std::int32_t>(size_.pages_of(slot.prompt));
    require(first >= 0 && n >= 0 && first <= pages && n <= pages - first, "import_pages: pages [", first, ", ", first, " + ", n,
            "), permitted: within [0, ", pages, ")");
    given_.clear();
    for (auto page = first; page < first + n && give_import_page(id.index, page); ++page) given_.push_back(page_of(id.index, page).gpu);
    check();
    return given_;
}

inline void ledger::landed(slot_id id, std::int32_t first, std::int32_t n) {
    auto& slot = state(id, "landed");
    const auto pages = static_cast<std::int32_t>(size_.pages_of(slot.prompt));
    require(first >= 0 && n >= 0 && first <= pages && n <= pages - first, "landed: pages [", first, ", ", first, " + ", n,
            "), permitted: within [0, ", pages, ")");
    for (auto page = first; page < first + n; ++page) {
        const auto number_of = slot.pages[static_cast<std::size_t>(page)].record;
        const bool given = number_of >= 0 && record(number_of).gpu != gpu_page::none;
        require(given && !record(number_of).landed && slot.importing(), "landed: page ", page, " of slot ", id.index,
                given && record(number_of).landed ? " has landed already" : " was not given by import_pages");
    }
    for (auto page = first; page < first + n; ++page) {
        const auto number_of = slot.pages[static_cast<std::size_t>(page)].record;
        auto& r = record(number_of);
        r.landed = true;
        say(edit::kind::map, id.index, number(r.gpu), page);
        if (r.at == place::optional) {
            note_exit(r);
            if (config_.backup_pages_per_step > 0) to_back_up_.emplace_back(number_of, r.use);
        } else if (page < slot.prompt / size_.p() && host_.capacity() > 0) {
            start_backup(number_of);
        }
    }
    check();
}

inline void ledger::finish_import(slot_id id) {
    auto& slot = state(id, "finish_import");
    require(slot.importing(), "finish_import: ", slot.imported ? "the import of slot " : "no import is under way in slot ", id.index, slot.imported ? " has finished" : "");
    for (auto page = slot.first_import; page < size_.pages_of(slot.prompt); ++page) {
        const auto number_of = slot.pages[static_cast<std::size_t>(page)].record;
        require(number_of >= 0 && record(number_of).landed, "finish_import: page ", page, " of slot ", id.index, " has not landed");
    }
    slot.imported = true;
    slot.phase = phase::finishing;
    if (slot.n_copies == 0) end_import(id.index);
    check();
}

/// Everything of the prompt is in its place: rounds may run.
inline void ledger::end_import(std::int32_t s) {
    auto& slot = at(s);
    slot.phase = phase::running;
    slot.ready_in = counts_.plans;
    slot.frontier = static_cast<std::int32_t>(slot.prompt);
    slot.first_tail = slot.frontier / size_.p();
    slot.mapped_to = static_cast<std::int32_t>(size_.pages_of(slot.prompt));
    say(edit::kind::frontier, s, slot.frontier);
    say(edit::kind::tail_page, s, slot.first_tail);
    grow_later(s);
    note_refillable(s);
}

} // namespace dhisparse
