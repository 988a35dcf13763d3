/// The ledger's prefixes and leases: pages held without a slot.
#pragma once

#include <dhisparse/ledger/ledger.hpp>

namespace dhisparse {

inline const ledger::prefix_state& ledger::prefix_of(prefix_id prefix, const char* call) const {
    const auto found = prefixes_.find(static_cast<std::int64_t>(prefix));
    require(found != prefixes_.end(), call, ": prefix ", static_cast<std::int64_t>(prefix), " is not kept");
    return found->second;
}

inline std::optional<prefix_id> ledger::keep(slot_id id, std::int64_t positions) {
    auto& slot = state(id, "keep");
    require_in<std::int64_t>(positions, 0, slot.imported ? slot.frontier : 0, "keep: positions");
    const auto usable = std::min(positions, std::int64_t{slot.first_tail} * size_.p());
    const auto n_pages = static_cast<std::int32_t>(size_.pages_of(usable));
    const auto index_pages = size_.index_pages(n_pages);
    const bool host = host_.capacity() > 0;
    if (slot.phase != phase::running || usable == 0) return std::nullopt;
    if (index_pages > 0 && (!host || index_pages * size_.index_parts() > host_.n_free())) return std::nullopt;
    for (std::int32_t page = 0; page < n_pages; ++page)
        if (host && page_of(id.index, page).at == place::tail) return std::nullopt; // its backup is awaited
    auto& prefix = prefixes_[++last_prefix_];
    prefix.positions = static_cast<std::int32_t>(usable);
    for (std::int32_t page = 0; page < n_pages; ++page) {
        auto& r = page_of(id.index, page);
        ++r.n_prefixes;
        prefix.records.push_back(record_number(id.index, page));
        if (host || r.at == place::shared) continue;
        r.at = place::shared; // from the slot's tail to a count of its own
        --slot.tail_quota;
        --slot.tail_held;
    }
    save_index(slot.index, index_pages, prefix.saved_index, {}, prefix_id{last_prefix_});
    prefix.n_copies = static_cast<std::int32_t>(prefix.saved_index.size());
    check();
    return prefix_id{last_prefix_};
}

inline void ledger::drop(prefix_id prefix) {
    prefix_of(prefix, "drop");
    end_prefix(static_cast<std::int64_t>(prefix));
    check();
}

inline void ledger::end_prefix(std::int64_t id) {
    const auto prefix = prefixes_.extract(id).mapped();
    for (const auto r : prefix.records) {
        --record(r).n_prefixes;
        free_if_unheld(r);
    }
    leaving_.host.insert(leaving_.host.end(), prefix.saved_index.begin(), prefix.saved_index.end());
}

inline std::optional<std::vector<gpu_page>> ledger::lease(std::int32_t pages) {
    require_in(pages, 0, gpu_.capacity(), "lease: pages");
    if (pages > unpromised()) return std::nullopt;
    std::vector<gpu_page> out;
    while (static_cast<std::int32_t>(out.size()) < pages) out.push_back(*gpu_.take(page_class::leased));
    required_ += pages;
    kept_ = std::max<std::int64_t>(0, kept_ - pages);
    check();
    return out;
}

inline void ledger::give_back(std::span<const gpu_page> pages) {
    for (std::size_t i = 0; i < pages.size(); ++i) {
        require(gpu_.class_of(pages[i]) == page_class::leased, "give_back: page ", number(pages[i]), " is not leased");
        require(std::find(pages.begin(), pages.begin() + static_cast<std::ptrdiff_t>(i), pages[i]) == pages.begin() + static_cast<std::ptrdiff_t>(i),
                "give_back: page ", number(pages[i]), " is given back twice");
    }
    for (const auto page : pages) {
        gpu_.reclassify(page, page_class::history); // leased to nobody until the fence
        leaving_.gpu.push_back(page);
        --required_;
    }
    check();
}

inline void ledger::reset() {
    for (std::int32_t s = 0; s < static_cast<std::int32_t>(slots_.size()); ++s)
        if (at(s).phase != phase::none) finish(id_of(s));
    while (!prefixes_.empty()) end_prefix(prefixes_.begin()->first);
    std::vector<gpu_page> leased;
    for (std::int32_t page = 0; page < gpu_.capacity(); ++page)
        if (gpu_.class_of(gpu_page{page}) == page_class::leased) leased.push_back(gpu_page{page});
    give_back(leased);
    to_back_up_.clear();
    kept_ = 0;
    check();
}

} // namespace dhisparse
