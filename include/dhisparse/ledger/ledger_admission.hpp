/// The ledger's admission: what a request needs, whether it fits, and taking it all or nothing.
#pragma once

#include <dhisparse/ledger/ledger.hpp>

namespace dhisparse {

inline ledger::ledger(const page_layout& layout, const slot_table_layout& tables, const ledger_config& config, const ledger_policies& policies)
    : size_(layout, tables, config, policies), config_(config), policies_(policies),
      gpu_(static_cast<std::int32_t>(layout.limits().n_pages)), host_(config.host_pages), region_(tables.region_bytes()),
      slots_(static_cast<std::size_t>(tables.n_slots())) {
    require_in(config.reserve_pages, 0, gpu_.capacity(), "reserve_pages");
    require_in(config.refill_pages_per_step, 0, INT32_MAX, "refill_pages_per_step");
    require_in(config.backup_pages_per_step, 0, INT32_MAX, "backup_pages_per_step");
    require_in(config.departing_plans, 0, 64, "departing_plans");
    for (std::int32_t s = tables.n_slots(); s-- > 0;) free_slots_.push_back(s);
    const auto smallest = size_.of({1, 0}, 0);
    require(smallest.pages <= gpu_.capacity(), "the pool has ", gpu_.capacity(), " pages; one request needs at least ", smallest.pages,
            " (", layout.limits().hot_pages, " hot, ", size_.tail_pages(), " tail, index keys)");
    require(smallest.run_bytes <= region_.bytes(), "metadata holds ", region_.bytes(), " bytes; one request needs at least ", smallest.run_bytes);
}

inline void ledger::require_valid(const demand& wanted) const {
    constexpr std::int64_t most = 1LL << 30; // positions are 32-bit on the device
    require(wanted.positions >= 0 && wanted.growth >= 0 && wanted.positions <= most && wanted.growth <= most,
            "demand of ", wanted.positions, " positions + ", wanted.growth, " growth, permitted: 0 to ", most, " each");
    require(wanted.positions + wanted.growth > 0, "demand of no position at all");
    const auto kept = wanted.prefix == prefix_id::none ? 0 : prefix_of(wanted.prefix, "demand").positions;
    const auto most_shared = std::min<std::int64_t>(kept, wanted.positions);
    require(wanted.shared >= 0 && wanted.shared <= most_shared, "demand of ", wanted.shared, " shared positions, permitted: 0 to ", most_shared);
}

/// Whole pages by reference; of the page that the shared positions end in, a copy, where the host tier has it all.
inline ledger::sharing ledger::sharing_of(const demand& wanted) const {
    sharing out;
    if (wanted.shared == 0) return out;
    const auto& prefix = prefix_of(wanted.prefix, "demand");
    out.whole = wanted.shared / size_.p();
    if (wanted.shared % size_.p() == 0) return out;
    const auto last = prefix.records[static_cast<std::size_t>(out.whole)];
    if (record(last).copied == durability::durable) out.boundary = last;
    return out;
}

inline fit ledger::fits(const demand& wanted) const {
    require_valid(wanted);
    const auto n = size_.of(wanted, sharing_of(wanted).whole);
    if (n.pages > gpu_.capacity()) return {verdict::never, 0, "GPU pages"};
    if (n.host_pages > host_.capacity()) return {verdict::never, 0, "host pages"};
    if (n.run_bytes > region_.bytes()) return {verdict::never, 0, "metadata"};
    if (free_slots_.empty()) return {verdict::later, 0, "slots"};
    if (n.host_pages > host_.n_free()) return {verdict::later, 0, "host pages"};
    if (n.run_bytes > region_.largest()) return {verdict::later, 0, "metadata"};
    if (wanted.shared > 0 && prefix_of(wanted.prefix, "demand").n_copies > 0) return {verdict::later, 0, "copies of the prefix"};
    return fits_pages(n.pages);
}

inline fit ledger::fits_pages(std::int64_t needed) const {
    if (needed <= unpromised()) return {verdict::now, 0, ""};
    const auto short_of = needed - unpromised() - coming();
    if (short_of > 0 && short_of <= reclaimable_) return {verdict::after_reclaiming, short_of, "GPU pages"};
    return {verdict::later, 0, "GPU pages"};
}

inline std::optional<slot_id> ledger::try_admit(const demand& wanted) {
    if (fits(wanted).answer != verdict::now) return std::nullopt;
    const auto map_pages = size_.tables().pages_for(wanted.positions + wanted.growth);
    const auto run = region_.take(size_.tables().run_bytes(map_pages));
    const auto s = free_slots_.back();
    free_slots_.pop_back();
    kept_ = std::max<std::int64_t>(0, kept_ - size_.of(wanted, sharing_of(wanted).whole).pages);
    open(s, wanted, *run, map_pages);
    ++counts_.admitted;
    check();
    return id_of(s);
}

inline void ledger::open(std::int32_t s, const demand& wanted, std::int64_t run, std::int32_t map_pages) {
    auto& slot = at(s);
    const auto shared = sharing_of(wanted);
    slot.phase = phase::importing;
    slot.admitted = ++n_admitted_;
    slot.prompt = wanted.positions;
    slot.positions = wanted.positions + wanted.growth;
    slot.map_pages = map_pages;
    slot.run = run;
    slot.pages.resize(static_cast<std::size_t>(map_pages));
    say(edit::kind::open, s, run, map_pages);
    say(edit::kind::positions, s, slot.positions);
    for (std::int64_t i = 0; i < size_.layout().limits().hot_pages; ++i) {
        slot.hot.push_back(*gpu_.take(page_class::hot));
        ++required_;
        say(edit::kind::hot_page, s, number(slot.hot.back()), static_cast<std::int32_t>(i));
    }
    slot.tail_quota = size_.tail_quota(wanted, shared.whole);
    required_ += slot.tail_quota;
    promised_ += slot.tail_quota;
    const auto pages = size_.first_pages(wanted);
    give_index_pages(s, pages);
    if (wanted.shared > 0) open_shared(s, wanted, shared);
    if (host_.capacity() > 0)
        for (auto page = static_cast<std::int32_t>(shared.whole); page < pages; ++page) give_host_page(s, page);
    if (shared.boundary >= 0) copy_boundary(s, static_cast<std::int32_t>(shared.whole), shared.boundary);
}

/// A prefix's last page, of which the request shares a part, goes into its tail by way of the host tier.
inline void ledger::copy_boundary(std::int32_t s, std::int32_t page, std::int32_t source) {
    auto& slot = at(s);
    auto& from = record(source);
    auto& to = page_of(s, page);
    to.gpu = *take_tail(slot);
    to.at = place::tail;
    to.whole_copy = to.filling = true;
    ++slot.n_copies;
    gpu_.hold(to.gpu);
    host_.hold(from.host);
    post({.what = outstanding::kind::boundary, .way = direction::to_gpu, .gpu = {to.gpu}, .host = {from.host}, .tails = {}, .record = record_number(s, page),
          .use = to.use, .slot = id_of(s)}, {.way = direction::to_gpu, .gpu = to.gpu, .host = from.host});
}

/// The pages of a prefix that a new request holds with it, and their index keys.
inline void ledger::open_shared(std::int32_t s, const demand& wanted, const sharing& shared) {
    auto& slot = at(s);
    const auto& prefix = prefix_of(wanted.prefix, "demand");
    slot.first_import = static_cast<std::int32_t>(shared.whole);
    slot.shared = shared.boundary < 0 ? slot.first_import * size_.p() : static_cast<std::int32_t>(wanted.shared);
    for (std::int32_t page = 0; page < slot.first_import; ++page) {
        const auto r = prefix.records[static_cast<std::size_t>(page)];
        slot.pages[static_cast<std::size_t>(page)].record = r;
        hold(r, s);
        if (record(r).host != host_page::none) say(edit::kind::host_map, s, number(record(r).host), page);
        if (record(r).gpu != gpu_page::none && !record(r).filling) say(edit::kind::map, s, number(record(r).gpu), page);
        if (record(r).gpu == gpu_page::none) list_absent(s, page);
    }
    restore_index(s, prefix.saved_index, size_.index_pages(shared.whole + (shared.boundary >= 0)));
}

inline bool ledger::try_extend(slot_id id, std::int64_t positions) {
    auto& slot = state(id, "try_extend");
    require_in<std::int64_t>(positions, 0, 1LL << 30, "try_extend: positions");
    if (positions <= slot.positions) return true;
    const auto& tables = size_.tables();
    const auto map_pages = tables.pages_for(positions);
    const auto pages = reserved_growth(slot, positions);
    if (!has_room_for(slot, pages)) return false;
    std::optional<std::int64_t> run;
    if (map_pages > slot.map_pages && !(run = region_.take(tables.run_bytes(map_pages)))) return false;
    if (run) {
        if (slot.on_device()) say(edit::kind::move_run, id.index, *run, map_pages);
        region_.give(slot.run, tables.run_bytes(slot.map_pages)); // its next owner's edits come behind the move
        slot.run = *run;
        slot.map_pages = map_pages;
        slot.pages.resize(static_cast<std::size_t>(map_pages));
        if (slot.on_device() && !slot.index.empty()) // its last blocks may serve pages that the shorter index tables had no entry for
            say(edit::kind::index_page, id.index, number(slot.index.back()), static_cast<std::int32_t>(slot.index.size()) - 1);
    }
    slot.positions = positions;
    if (slot.on_device()) say(edit::kind::positions, id.index, positions);
    take_reserved(id.index, pages);
    if (slot.phase == phase::running) grow_later(id.index);
    check();
    return true;
}

/// With growth `reserved`: the pages [first, last) of positions that an extended length adds; a parked request takes them as it resumes.
inline ledger::page_range ledger::reserved_growth(const slot_state& slot, std::int64_t positions) const {
    const bool all = policies_.growth(0, positions) == positions;
    if (!all || !slot.on_device()) return {};
    return {size_.pages_of(slot.positions), size_.pages_of(positions)};
}

inline bool ledger::has_room_for(const slot_state& slot, const page_range& pages) const {
    const auto n = pages.last - pages.first;
    if (n == 0) return true;
    const auto index = std::max<std::int64_t>(0, size_.index_pages(pages.last) - static_cast<std::int64_t>(slot.index.size()));
    return host_.capacity() > 0 ? index <= unpromised() && n <= host_.n_free() : index + n <= unpromised();
}

inline void ledger::take_reserved(std::int32_t s, const page_range& pages) {
    give_index_pages(s, pages.last);
    if (host_.capacity() > 0) {
        for (auto page = pages.first; page < pages.last; ++page) give_host_page(s, static_cast<std::int32_t>(page));
        return;
    }
    const auto n = static_cast<std::int32_t>(pages.last - pages.first);
    at(s).tail_quota += n;
    required_ += n;
    promised_ += n;
}

inline ledger::slot_state& ledger::state(slot_id slot, const char* call) {
    return const_cast<slot_state&>(static_cast<const ledger&>(*this).state(slot, call));
}

inline const ledger::slot_state& ledger::state(slot_id slot, const char* call) const {
    require_in(slot.index, 0, static_cast<std::int32_t>(slots_.size()) - 1, "slot");
    const auto& found = at(slot.index);
    require(found.phase != phase::none && found.generation == slot.generation, call, ": slot ", slot.index, " of generation ", slot.generation, " has ended");
    return found;
}

} // namespace dhisparse
