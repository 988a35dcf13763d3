/// The ledger's import: pages for history that arrives from a prefill or from another node.
#pragma once

#include <dhisparse/ledger/ledger.hpp>

namespace dhisparse {

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

/// Index pages for the first so many pages of positions; false where the pool has none left.
inline bool ledger::give_index_pages(std::int32_t s, std::int64_t position_pages) {
    auto& slot = slots_[static_cast<std::size_t>(s)];
    while (static_cast<std::int64_t>(slot.index.size()) < index_pages_of(position_pages)) {
        if (unpromised() <= 0) return false;
        slot.index.push_back(*gpu_.take(page_class::index));
        ++required_;
        say(edit::kind::index_page, s, number(slot.index.back()), static_cast<std::int32_t>(slot.index.size()) - 1);
    }
    return true;
}

inline bool ledger::give_host_page(std::int32_t s, std::int32_t page) {
    auto& at = slots_[static_cast<std::size_t>(s)].pages[static_cast<std::size_t>(page)];
    const auto host = host_.take();
    if (!host) return false;
    at.host = *host;
    say(edit::kind::host_map, s, number(*host), page);
    return true;
}

/// An optional page while the grant rule allows it, else one of the slot's own: a window that is backed
/// up and used again, never the reserve. The boundary page is the slot's own, and the window leaves one for it.
inline bool ledger::give_import_page(std::int32_t s, std::int32_t page) {
    auto& slot = slots_[static_cast<std::size_t>(s)];
    auto& at = slot.pages[static_cast<std::size_t>(page)];
    if (at.gpu != gpu_page::none || at.copied == durability::durable) return at.gpu != gpu_page::none;
    const bool boundary = page == slot.prompt / layout_.shape().page_positions;
    if (!boundary && host_.capacity() > 0 && unpromised() > config_.reserve_pages) {
        at.gpu = *gpu_.take(page_class::history);
        at.optional = true;
        ++optional_;
        return true;
    }
    if (slot.tail_held >= slot.tail_quota || (boundary ? !may_take_boundary(slot) : keeps_last_for_boundary(slot))) return false;
    at.gpu = *take_tail(slot);
    at.whole_copy = boundary;
    return true;
}

/// Whether the one page that a window has left is for the boundary page.
inline bool ledger::keeps_last_for_boundary(const slot_state& slot) const {
    const auto p = layout_.shape().page_positions;
    const bool waits = slot.prompt % p != 0 && slot.pages[static_cast<std::size_t>(slot.prompt / p)].gpu == gpu_page::none;
    return waits && slot.tail_quota > 1 && slot.tail_held >= slot.tail_quota - 1;
}

/// The boundary page keeps what it takes: with a single tail page it comes last.
inline bool ledger::may_take_boundary(const slot_state& slot) const {
    const auto boundary = slot.pages.begin() + slot.prompt / layout_.shape().page_positions;
    return slot.tail_quota > 1 || std::none_of(slot.pages.begin(), boundary, [](const page_state& page) {
               return page.gpu == gpu_page::none && page.copied != durability::durable;
           });
}

inline std::span<const gpu_page> ledger::import_pages(slot_id id, std::int32_t first, std::int32_t n) {
    auto& slot = state(id, "import_pages");
    require(slot.importing, "import_pages: the import of slot ", id.index, " has finished");
    const auto pages = static_cast<std::int32_t>(pages_of(slot.prompt));
    require(first >= 0 && n >= 0 && first <= pages && n <= pages - first, "import_pages: pages [", first, ", ", first, " + ", n,
            "), permitted: within [0, ", pages, ")");
    given_.clear();
    for (auto page = first; page < first + n && give_import_page(id.index, page); ++page)
        given_.push_back(slot.pages[static_cast<std::size_t>(page)].gpu);
    check();
    return given_;
}

inline void ledger::landed(slot_id id, std::int32_t first, std::int32_t n) {
    auto& slot = state(id, "landed");
    const auto pages = static_cast<std::int32_t>(pages_of(slot.prompt));
    require(first >= 0 && n >= 0 && first <= pages && n <= pages - first, "landed: pages [", first, ", ", first, " + ", n,
            "), permitted: within [0, ", pages, ")");
    for (auto page = first; page < first + n; ++page) {
        const auto& at = slot.pages[static_cast<std::size_t>(page)];
        require(at.gpu != gpu_page::none && !at.landed, "landed: page ", page, " of slot ", id.index,
                at.landed ? " has landed already" : " was not given by import_pages");
    }
    for (auto page = first; page < first + n; ++page) {
        auto& at = slot.pages[static_cast<std::size_t>(page)];
        at.landed = true;
        say(edit::kind::map, id.index, number(at.gpu), page);
        const bool whole = page < slot.prompt / layout_.shape().page_positions;
        if (whole && !at.optional && host_.capacity() > 0) start_backup(id.index, page);
    }
}

inline void ledger::finish_import(slot_id id) {
    auto& slot = state(id, "finish_import");
    require(slot.importing, "finish_import: the import of slot ", id.index, " has finished");
    const auto pages = static_cast<std::int32_t>(pages_of(slot.prompt));
    for (std::int32_t page = 0; page < pages; ++page)
        require(slot.pages[static_cast<std::size_t>(page)].landed, "finish_import: page ", page, " of slot ", id.index, " has not landed");
    slot.importing = false;
    slot.frontier = static_cast<std::int32_t>(slot.prompt);
    slot.first_tail = slot.frontier / layout_.shape().page_positions;
    slot.mapped_to = pages;
    say(edit::kind::frontier, id.index, slot.frontier);
    say(edit::kind::tail_page, id.index, slot.first_tail);
    grow_later(id.index);
}

inline const std::int32_t* ledger::index_table(slot_id id, int i, const std::byte* region) const {
    const auto& slot = state(id, "index_table");
    require_in(i, 0, layout_.index().n_sources - 1, "index_table: source with index keys");
    return reinterpret_cast<const std::int32_t*>(region + slot.run) + std::int64_t{slot.map_pages} * (2 + i);
}

inline std::vector<gpu_page> ledger::page_table(slot_id id) const {
    std::vector<gpu_page> out;
    for (const auto& page : state(id, "page_table").pages) out.push_back(page.gpu);
    return out;
}

} // namespace dhisparse
