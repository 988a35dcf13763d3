/// The ledger's admission: what a request needs, whether it fits, and taking it all or nothing.
#pragma once

#include <dhisparse/ledger/ledger.hpp>
#include <dhisparse/tail/tail_pages.hpp>

namespace dhisparse {

inline ledger::ledger(const page_layout& layout, const slot_table_layout& tables, const ledger_config& config)
    : layout_(layout), tables_(tables), config_(config),
      gpu_(static_cast<std::int32_t>(layout.limits().n_pages)), host_(config.host_pages), region_(tables.region_bytes()),
      slots_(static_cast<std::size_t>(tables.n_slots())) {
    require_in(config.steps_ahead, 0, 64, "steps_ahead");
    require_in(config.reserve_pages, 0, gpu_.capacity(), "reserve_pages");
    const auto k_max = layout.limits().k_max;
    const auto p = layout.shape().page_positions;
    const auto wanted = required_tail_pages(p, k_max, config.steps_ahead);
    const auto least = ceil_div<std::int64_t>(positions_ahead(k_max, config.steps_ahead), p);
    require(config.tail_pages == 0 || config.tail_pages >= least, "tail_pages is ", config.tail_pages,
            ", permitted: at least ", least, " for k_max ", k_max, " and steps_ahead ", config.steps_ahead, " (0: ", wanted, ")");
    tail_pages_ = config.tail_pages ? config.tail_pages : static_cast<std::int32_t>(wanted);
    ahead_ = positions_ahead(k_max, config.steps_ahead);
    for (std::int32_t s = tables.n_slots(); s-- > 0;) free_slots_.push_back(s);
    const auto smallest = need_of({1, 0});
    require(smallest.pages <= gpu_.capacity(), "the pool has ", gpu_.capacity(), " pages; one request needs at least ", smallest.pages,
            " (", layout.limits().hot_pages, " hot, ", tail_pages_, " tail, index keys)");
    require(smallest.run_bytes <= region_.bytes(), "metadata holds ", region_.bytes(), " bytes; one request needs at least ", smallest.run_bytes);
}

/// With a host tier a fixed number of tail pages; without one every page is required.
inline std::int32_t ledger::tail_quota_of(const demand& wanted) const {
    if (host_.capacity() > 0) return tail_pages_;
    return static_cast<std::int32_t>(pages_of(first_positions(wanted.positions, wanted.positions + wanted.growth)));
}

inline std::int64_t ledger::index_pages_of(std::int64_t position_pages) const { return layout_.index_pages(position_pages); }

inline ledger::need ledger::need_of(const demand& wanted) const {
    const auto reserved = wanted.positions + wanted.growth;
    const auto position_pages = pages_of(first_positions(wanted.positions, reserved));
    need out;
    out.pages = layout_.limits().hot_pages + tail_quota_of(wanted) + index_pages_of(position_pages);
    out.host_pages = host_.capacity() > 0 ? position_pages : 0;
    out.run_bytes = tables_.run_bytes(tables_.pages_for(reserved));
    return out;
}

inline std::int32_t ledger::required_pages(const demand& wanted) const { return static_cast<std::int32_t>(need_of(wanted).pages); }

inline fit ledger::fits(const demand& wanted) const {
    constexpr std::int64_t most = 1LL << 30; // positions are 32-bit on the device
    require(wanted.positions >= 0 && wanted.growth >= 0 && wanted.positions <= most && wanted.growth <= most,
            "demand of ", wanted.positions, " positions + ", wanted.growth, " growth, permitted: 0 to ", most, " each");
    require(wanted.positions + wanted.growth > 0, "demand of no position at all");
    const auto n = need_of(wanted);
    if (n.pages > gpu_.capacity()) return {verdict::never, 0, "GPU pages"};
    if (n.host_pages > host_.capacity()) return {verdict::never, 0, "host pages"};
    if (n.run_bytes > region_.bytes()) return {verdict::never, 0, "metadata"};
    if (free_slots_.empty()) return {verdict::later, 0, "slots"};
    if (n.host_pages > host_.n_free()) return {verdict::later, 0, "host pages"};
    if (n.run_bytes > region_.largest()) return {verdict::later, 0, "metadata"};
    const auto short_of = n.pages - unpromised();
    if (short_of <= 0) return {verdict::now, 0, ""};
    if (short_of <= optional_) return {verdict::after_reclaiming, short_of, "GPU pages"};
    return {verdict::later, 0, "GPU pages"};
}

inline std::optional<slot_id> ledger::try_admit(const demand& wanted) {
    if (fits(wanted).answer != verdict::now) return std::nullopt;
    const auto map_pages = tables_.pages_for(wanted.positions + wanted.growth);
    const auto run = region_.take(tables_.run_bytes(map_pages));
    const auto s = free_slots_.back();
    free_slots_.pop_back();
    open(s, wanted, *run, map_pages);
    check();
    return slot_id{s, slots_[static_cast<std::size_t>(s)].generation};
}

inline void ledger::open(std::int32_t s, const demand& wanted, std::int64_t run, std::int32_t map_pages) {
    auto& slot = slots_[static_cast<std::size_t>(s)];
    slot.live = slot.importing = true;
    slot.prompt = wanted.positions;
    slot.positions = wanted.positions + wanted.growth;
    slot.map_pages = map_pages;
    slot.run = run;
    slot.pages.resize(static_cast<std::size_t>(map_pages));
    say(edit::kind::open, s, run, map_pages);
    say(edit::kind::positions, s, slot.positions);
    for (std::int64_t i = 0; i < layout_.limits().hot_pages; ++i) {
        slot.hot.push_back(*gpu_.take(page_class::hot));
        ++required_;
        say(edit::kind::hot_page, s, number(slot.hot.back()), static_cast<std::int32_t>(i));
    }
    slot.tail_quota = tail_quota_of(wanted);
    required_ += slot.tail_quota;
    promised_ += slot.tail_quota;
    const auto position_pages = pages_of(first_positions(wanted.positions, slot.positions));
    give_index_pages(s, position_pages);
    if (host_.capacity() > 0)
        for (std::int32_t page = 0; page < position_pages; ++page) give_host_page(s, page);
}

inline bool ledger::try_extend(slot_id id, std::int64_t positions) {
    auto& slot = state(id, "try_extend");
    require_in<std::int64_t>(positions, 0, 1LL << 30, "try_extend: positions");
    if (positions <= slot.positions) return true;
    const auto map_pages = tables_.pages_for(positions);
    if (map_pages > slot.map_pages) {
        const auto run = region_.take(tables_.run_bytes(map_pages));
        if (!run) return false;
        say(edit::kind::move_run, id.index, *run, map_pages);
        region_.give(slot.run, tables_.run_bytes(slot.map_pages)); // its next owner's edits come behind the move
        slot.run = *run;
        slot.map_pages = map_pages;
        slot.pages.resize(static_cast<std::size_t>(map_pages));
        if (!slot.index.empty()) // its last blocks may serve pages that the shorter index tables had no entry for
            say(edit::kind::index_page, id.index, number(slot.index.back()), static_cast<std::int32_t>(slot.index.size()) - 1);
    }
    slot.positions = positions;
    say(edit::kind::positions, id.index, positions);
    if (!slot.importing) grow_later(id.index);
    return true;
}

inline ledger::slot_state& ledger::state(slot_id slot, const char* call) {
    return const_cast<slot_state&>(static_cast<const ledger&>(*this).state(slot, call));
}

inline const ledger::slot_state& ledger::state(slot_id slot, const char* call) const {
    require_in(slot.index, 0, static_cast<std::int32_t>(slots_.size()) - 1, "slot");
    const auto& found = slots_[static_cast<std::size_t>(slot.index)];
    require(found.live && found.generation == slot.generation, call, ": slot ", slot.index, " of generation ", slot.generation, " has ended");
    return found;
}

} // namespace dhisparse
