/// The ledger's answers, and its own checks. Nothing here changes it.
#pragma once

#include <dhisparse/ledger/ledger.hpp>

namespace dhisparse {

inline page_counts ledger::pages() const {
    const auto held = gpu_.capacity() - gpu_.n_free();
    auto reclaiming = reclaiming_;
    for (const auto s : parking_) reclaiming += at(s).tail_held + static_cast<std::int32_t>(at(s).index.size());
    return {gpu_.capacity(), required_, optional_, held - (required_ - promised_) - optional_, gpu_.n_free() - promised_, promised_, reclaiming};
}

inline std::int32_t ledger::durable_positions(slot_id id) const {
    const auto& slot = state(id, "durable_positions");
    if (!slot.imported || slot.phase == phase::finishing) return 0;
    if (host_.capacity() == 0) return static_cast<std::int32_t>(slot.prompt);
    for (auto page = std::max(slot.first_tail, static_cast<std::int32_t>(size_.pages_of(slot.prompt))); page * size_.p() < slot.frontier; ++page) {
        const auto& r = page_of(id.index, page);
        if (r.copied != durability::durable && (r.whole_copy || r.host == host_page::none)) return page * size_.p();
    }
    return slot.frontier;
}

inline bool ledger::settled(slot_id id) const {
    const auto& slot = state(id, "settled");
    if (slot.n_copies > 0 || slot.tails_coming > 0) return false;
    for (std::int32_t page = 0; page < slot.map_pages; ++page) {
        const auto& r = page_of(id.index, page);
        if (r.filling || r.copied == durability::pending) return false;
        if (host_.capacity() > 0 && r.at == place::tail && page < slot.frontier / size_.p()) return false;
    }
    return true;
}

inline std::vector<gpu_page> ledger::page_table(slot_id id) const {
    const auto& slot = state(id, "page_table");
    std::vector<gpu_page> out;
    for (std::int32_t page = 0; page < slot.map_pages; ++page) out.push_back(page_of(id.index, page).filling ? gpu_page::none : page_of(id.index, page).gpu);
    return out;
}

inline void ledger::page_table(std::span<const slot_id> slots, std::int32_t n_pages, std::span<std::int32_t> out) const {
    require_in(n_pages, 0, INT32_MAX, "page_table: pages");
    const auto n = static_cast<std::size_t>(n_pages);
    require(out.size() >= slots.size() * n, "page_table: room for ", out.size(), " pages, needed: ", slots.size(), " x ", n_pages);
    std::fill_n(out.begin(), slots.size() * n, -1);
    for (std::size_t i = 0; i < slots.size(); ++i) {
        const auto pages = page_table(slots[i]);
        for (std::size_t page = 0; page < std::min(n, pages.size()); ++page) out[i * n + page] = number(pages[page]);
    }
}

inline const std::int32_t* ledger::index_table(slot_id id, int i, const std::byte* region) const {
    const auto& slot = state(id, "index_table");
    require_in(i, 0, size_.layout().index().n_sources - 1, "index_table: source with index keys");
    return reinterpret_cast<const std::int32_t*>(region + slot.run) + std::int64_t{slot.map_pages} * (2 + i);
}

/// Invariant 5, with DHISPARSE_CHECKS alone.
inline void ledger::check() const {
    if constexpr (DHISPARSE_CHECKS) {
        const auto now = pages();
        require<error>(now.leaving >= 0 && now.free >= 0 && now.promised >= 0 && now.required + now.optional <= now.capacity,
                       "budget broken: capacity ", now.capacity, ", required ", now.required, ", optional ", now.optional, ", leaving ",
                       now.leaving, ", free ", now.free, ", promised ", now.promised);
        audit();
    }
}

/// Counts everything anew from the records; with DHISPARSE_CHECKS alone, since that looks at all of them.
inline void ledger::audit() const {
    std::int32_t required = gpu_.n_of(page_class::leased), optional = 0, promised = 0, reclaimable = 0, reclaiming = 0;
    for (std::size_t r = 0; r < records_.size(); ++r) {
        const auto& page = records_[r];
        if (page.slots.empty() && page.n_prefixes == 0) continue;
        const auto name = [&] { return text("record ", r, ", page ", page.page, ": "); };
        require<error>((page.gpu == gpu_page::none) == (page.at == place::away), name(), "on the GPU as nothing, or as something without a page");
        require<error>(page.gpu == gpu_page::none || gpu_.holders(page.gpu) > 0, name(), "its GPU page is free");
        require<error>(page.host == host_page::none || host_.holders(page.host) > 0, name(), "its host page is free");
        require<error>(page.copied == durability::none || page.host != host_page::none, name(), "durable without a host page");
        require<error>(page.at != place::tail || page.slots.size() == 1, name(), "a tail page is shared");
        require<error>(page.gpu != gpu_page::none || !page.landed || page.copied == durability::durable, name(), "lost: on no tier");
        required += page.at == place::shared;
        optional += page.at == place::optional;
        reclaiming += page.at == place::optional && page.leaving;
        const bool may_leave = page.at == place::optional && page.landed && !page.leaving;
        reclaimable += may_leave;
        require<error>(may_leave == (page.listed != page_record::exit::no), name(), "may leave and isn't listed, or the other way round");
        require<error>((page.unread > 0) == (may_leave && n_readers(page) == 0), name(), "is read and listed as unread, or the other way round");
    }
    for (std::size_t s = 0; s < slots_.size(); ++s) {
        const auto& slot = slots_[s];
        std::size_t may_leave = 0;
        for (const auto& page : slot.pages) {
            if (page.record < 0 || record(page.record).listed == page_record::exit::no) continue;
            const auto how = record(page.record).listed;
            may_leave += (how == page_record::exit::at_once ? slot.leave_at_once : slot.leave_once_copied).contains(record(page.record).page);
        }
        require<error>(may_leave == slot.n_may_leave(), "slot ", s, " lists ", slot.n_may_leave(), " pages that may leave, and holds ", may_leave);
        required += static_cast<std::int32_t>(slot.hot.size() + slot.index.size()) + std::max(slot.tail_quota, slot.tail_held);
        promised += std::max(0, slot.tail_quota - slot.tail_held);
        require<error>(slot.tails_coming >= 0 && slot.n_copies >= 0, "slot ", s, " awaits less than nothing");
    }
    require<error>(required == required_ && optional == optional_ && promised == promised_ && reclaimable == reclaimable_ && reclaiming == reclaiming_,
                   "counts differ from the records: required ", required_, "/", required, ", optional ", optional_, "/", optional, ", promised ", promised_, "/", promised,
                   ", reclaimable ", reclaimable_, "/", reclaimable, ", reclaiming ", reclaiming_, "/", reclaiming);
}

} // namespace dhisparse
