/// The ledger's ends and pauses of requests: finish, park, resume.
#pragma once

#include <dhisparse/ledger/ledger.hpp>

namespace dhisparse {

inline void ledger::finish(slot_id id) {
    state(id, "finish");
    ++counts_.finished;
    end(id.index);
    check();
}

inline void ledger::end(std::int32_t s) {
    auto& slot = at(s);
    const bool closed = !slot.on_device(); // parked, and not open again
    for (const auto& page : slot.pages)
        if (page.record >= 0) let_go(page.record, s);
    for (const auto* held : {&slot.hot, &slot.index}) {
        leaving_.gpu.insert(leaving_.gpu.end(), held->begin(), held->end());
        required_ -= static_cast<std::int32_t>(held->size());
    }
    leaving_.host.insert(leaving_.host.end(), slot.saved_index.begin(), slot.saved_index.end());
    required_ -= std::max(slot.tail_quota, slot.tail_held);
    promised_ -= std::max(0, slot.tail_quota - slot.tail_held);
    region_.give(slot.run, size_.tables().run_bytes(slot.map_pages)); // its next owner's edits come behind this close
    if (!closed) say(edit::kind::close, s, 0);
    if (slot.refillable) refillable_.erase({slot.refill_key, slot.admitted, s});
    if (slot.phase == phase::parking) std::erase(parking_, s);
    if (slot.growing) std::erase(growing_, s);
    const auto generation = slot.generation + 1;
    slot = {};
    slot.generation = generation;
    free_slots_.push_back(s);
}

/// Host pages for index keys, and for tail pages that have none.
inline std::int32_t ledger::host_pages_to_park(std::int32_t s) const {
    const auto& slot = at(s);
    auto n = static_cast<std::int64_t>(slot.index.size()) * size_.index_parts();
    for (auto page = slot.first_tail; page < slot.mapped_to; ++page) n += page_of(s, page).host == host_page::none;
    return static_cast<std::int32_t>(n);
}

inline bool ledger::park(slot_id id) {
    const auto s = id.index;
    auto& slot = state(id, "park");
    const bool may = host_.capacity() > 0 && (slot.importing() || slot.phase == phase::running) && slot.n_copies == 0;
    if (!may || host_pages_to_park(s) > host_.n_free()) return false;
    say(edit::kind::close, s, 0);
    slot.phase = phase::parking;
    note_readers_of(s);
    parking_.push_back(s);
    note_refillable(s);
    if (std::exchange(slot.growing, false)) std::erase(growing_, s);
    slot.n_stalled = 0;
    required_ -= static_cast<std::int32_t>(slot.hot.size()) + std::max(0, slot.tail_quota - slot.tail_held);
    promised_ -= std::max(0, slot.tail_quota - slot.tail_held);
    slot.tail_quota = 0;
    leaving_.gpu.insert(leaving_.gpu.end(), slot.hot.begin(), slot.hot.end());
    slot.hot.clear();
    for (std::int32_t page = 0; page < slot.map_pages; ++page)
        if (slot.pages[static_cast<std::size_t>(page)].record >= 0) park_page(s, page);
    save_index(slot.index, static_cast<std::int64_t>(slot.index.size()), slot.saved_index, id, prefix_id::none);
    slot.n_copies = static_cast<std::int32_t>(slot.saved_index.size());
    end_parking(s);
    check();
    return true;
}

/// A page of a request that is being parked leaves the GPU: at once where it holds nothing, or others read it.
inline void ledger::park_page(std::int32_t s, std::int32_t page) {
    const auto number_of = record_number(s, page);
    auto& r = record(number_of);
    if (r.gpu == gpu_page::none) return;
    if (!r.landed) { // rows of a prefix in it are lost with it
        auto& shared = at(s).shared;
        shared = std::min(shared, std::max(page, at(s).first_import) * size_.p());
        if (r.at == place::tail) hold_tail(at(s), -1);
        return free_gpu(r);
    }
    if (r.at == place::optional) {
        const bool read = std::any_of(r.slots.begin(), r.slots.end(), [&](auto other) { return at(other).on_device() || at(other).phase == phase::resuming; });
        if (!read && !r.leaving) leave(number_of, false);
        return;
    }
    if (r.host == host_page::none) r.host = *host_.take();
    r.leaving = true;
    if (r.copied == durability::none) start_backup(number_of);
}

/// Its index pages come back once they are copied; it is parked when nothing of it is required any more.
inline void ledger::end_parking(std::int32_t s) {
    auto& slot = at(s);
    if (slot.phase != phase::parking) return;
    if (slot.n_copies == 0) {
        leaving_.gpu.insert(leaving_.gpu.end(), slot.index.begin(), slot.index.end());
        required_ -= static_cast<std::int32_t>(slot.index.size());
        slot.index.clear();
    }
    if (slot.tail_held > 0 || !slot.index.empty()) return;
    slot.phase = phase::parked;
    std::erase(parking_, s);
    ++counts_.parked;
}

/// Copies index pages to fresh host pages, part by part. Who waits counts them.
inline void ledger::save_index(const std::vector<gpu_page>& pages, std::int64_t n_pages, std::vector<host_page>& to, slot_id slot, prefix_id prefix) {
    for (std::int64_t i = 0; i < n_pages * size_.index_parts(); ++i) {
        const auto gpu = pages[static_cast<std::size_t>(i / size_.index_parts())];
        to.push_back(*host_.take());
        gpu_.hold(gpu);
        host_.hold(to.back());
        post({.what = outstanding::kind::keys, .way = direction::to_host, .gpu = {gpu}, .host = {to.back()}, .tails = {}, .record = -1, .use = 0, .slot = slot, .prefix = prefix},
             {.way = direction::to_host, .gpu = gpu, .host = to.back(), .index_part = static_cast<std::int32_t>(i % size_.index_parts())});
    }
}

/// Copies saved index keys into the slot's first index pages.
inline void ledger::restore_index(std::int32_t s, const std::vector<host_page>& from, std::int64_t n_pages) {
    auto& slot = at(s);
    for (std::int64_t i = 0; i < n_pages * size_.index_parts(); ++i) {
        const auto gpu = slot.index[static_cast<std::size_t>(i / size_.index_parts())];
        const auto host = from[static_cast<std::size_t>(i)];
        gpu_.hold(gpu);
        host_.hold(host);
        ++slot.n_copies;
        post({.what = outstanding::kind::keys, .way = direction::to_gpu, .gpu = {gpu}, .host = {host}, .tails = {}, .record = -1, .use = 0, .slot = id_of(s)},
             {.way = direction::to_gpu, .gpu = gpu, .host = host, .index_part = static_cast<std::int32_t>(i % size_.index_parts())});
    }
}

/// What a parked request asks for, as if it had been admitted with the history that it has.
inline demand ledger::resumed_demand(const slot_state& slot) const {
    const auto known = slot.imported ? slot.frontier : slot.prompt;
    return {known, slot.positions - known};
}

inline std::int64_t ledger::index_pages_to_resume(const slot_state& slot) const {
    const auto saved = static_cast<std::int64_t>(slot.saved_index.size());
    return std::max(size_.index_pages(size_.first_pages(resumed_demand(slot))), saved == 0 ? 0 : saved / size_.index_parts());
}

inline fit ledger::fits_resume(slot_id id) const {
    const auto& slot = state(id, "fits_resume");
    if (slot.phase == phase::parking) return {verdict::later, 0, "copies"};
    if (slot.phase != phase::parked) return {verdict::never, 0, "it is not parked"};
    return fits_pages(size_.layout().limits().hot_pages + size_.tail_pages() + index_pages_to_resume(slot));
}

inline bool ledger::try_resume(slot_id id) {
    const auto s = id.index;
    auto& slot = state(id, "try_resume");
    if (fits_resume(id).answer != verdict::now) return false;
    const auto index_pages = index_pages_to_resume(slot);
    const auto hot_pages = size_.layout().limits().hot_pages;
    kept_ = std::max<std::int64_t>(0, kept_ - hot_pages - size_.tail_pages() - index_pages);
    slot.phase = phase::resuming;
    note_readers_of(s);
    for (std::int64_t i = 0; i < hot_pages; ++i) slot.hot.push_back(*gpu_.take(page_class::hot));
    for (std::int64_t i = 0; i < index_pages; ++i) slot.index.push_back(*gpu_.take(page_class::index));
    slot.tail_quota = size_.tail_pages();
    promised_ += slot.tail_quota;
    required_ += static_cast<std::int32_t>(hot_pages + index_pages) + slot.tail_quota;
    restore_index(s, slot.saved_index, slot.saved_index.empty() ? 0 : static_cast<std::int64_t>(slot.saved_index.size()) / size_.index_parts());
    restore_partial_page(s);
    if (slot.n_copies == 0) reopen(s);
    check();
    return true;
}

/// The page that holds the frontier comes back to the tail; what was mapped behind it holds nothing.
inline void ledger::restore_partial_page(std::int32_t s) {
    auto& slot = at(s);
    const auto known = resumed_demand(slot).positions;
    for (auto page = static_cast<std::int32_t>(known / size_.p()); page < slot.map_pages; ++page) {
        const auto number_of = slot.pages[static_cast<std::size_t>(page)].record;
        if (number_of < 0) continue;
        auto& r = record(number_of);
        r.copied = durability::none;
        if (!r.landed) continue;
        r.whole_copy = false; // its rows so far are in the host tier
        if (std::int64_t{page} * size_.p() >= known) {
            r.landed = false;
            continue;
        }
        r.gpu = *take_tail(slot);
        r.at = place::tail;
        r.filling = true;
        ++slot.n_copies;
        gpu_.hold(r.gpu);
        host_.hold(r.host);
        post({.what = outstanding::kind::restore, .way = direction::to_gpu, .gpu = {r.gpu}, .host = {r.host}, .tails = {}, .record = number_of, .use = r.use, .slot = id_of(s)},
             {.way = direction::to_gpu, .gpu = r.gpu, .host = r.host});
    }
}

/// Its tables are made anew, as of an admission.
inline void ledger::reopen(std::int32_t s) {
    auto& slot = at(s);
    slot.phase = slot.imported ? phase::running : phase::importing;
    slot.ready_in = counts_.plans;
    ++counts_.resumed;
    say(edit::kind::open, s, slot.run, slot.map_pages);
    say(edit::kind::positions, s, slot.positions);
    for (std::size_t i = 0; i < slot.hot.size(); ++i) say(edit::kind::hot_page, s, number(slot.hot[i]), static_cast<std::int32_t>(i));
    for (std::size_t i = 0; i < slot.index.size(); ++i) say(edit::kind::index_page, s, number(slot.index[i]), static_cast<std::int32_t>(i));
    for (std::int32_t page = 0; page < slot.map_pages; ++page) {
        if (slot.pages[static_cast<std::size_t>(page)].record < 0) continue;
        const auto& r = page_of(s, page);
        if (r.host != host_page::none) say(edit::kind::host_map, s, number(r.host), page);
        if (r.gpu != gpu_page::none && r.landed && !r.filling) say(edit::kind::map, s, number(r.gpu), page);
        if (r.gpu == gpu_page::none && r.copied == durability::durable) list_absent(s, page);
    }
    leaving_.host.insert(leaving_.host.end(), slot.saved_index.begin(), slot.saved_index.end());
    slot.saved_index.clear();
    if (!slot.imported) return;
    slot.first_tail = slot.frontier / size_.p();
    slot.mapped_to = static_cast<std::int32_t>(size_.pages_of(slot.frontier));
    say(edit::kind::frontier, s, slot.frontier);
    say(edit::kind::tail_page, s, slot.first_tail);
    grow_later(s);
    note_refillable(s);
}

} // namespace dhisparse
