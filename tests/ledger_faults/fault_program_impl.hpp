/// Definitions for fault_program.hpp.
#pragma once

#include "fault_program.hpp"

namespace dhisparse_test {

inline fault_program::fault_program(std::uint64_t seed, fault_options options) : random_(seed), options_(options) {
    choose_config();
    it_ = std::make_unique<hierarchy>(config_);
    it_->executor().copier().move_bytes_at_once(random_.one_in(4));
    const auto& shape = it_->shape();
    for (const auto& group : shape.groups) {
        windows_.emplace_back();
        for (const int layer : group) windows_.back().emplace_back(it_->view(layer), shape.sources[static_cast<std::size_t>(dh::source_of(shape, layer))]);
    }
    for (const auto& source : shape.sources)
        if (source.index_key_bytes > 0) {
            key_bytes_.push_back(source.index_key_bytes);
            key_positions_.push_back(source.key_positions());
        }
    std::memset(it_->tiers().slab, 0xDD, static_cast<std::size_t>(it_->layout().slab_bytes()));
}

inline void fault_program::choose_config() {
    config_.shape = plain_shape({.page_positions = random_.pick({4, 4, 8}), .k = 4, .lanes = random_.between(1, 2), .m = random_.pick({1, 1, 2}),
                                 .row_bytes = 128, .index_key_bytes = random_.pick<std::int64_t>({0, 4, 16})});
    config_.slots = random_.between(1, 5);
    config_.k_max = random_.between(1, 3);
    config_.steps_ahead = random_.between(0, 2);
    config_.hot_pages = (config_.k_max * 4 * config_.shape.sources[0].positions_per_row + p() - 1) / p() + random_.between(0, 1);
    config_.host_pages = random_.one_in(8) ? 0 : random_.between(20, 80);
    config_.refill_pages_per_step = random_.pick({0, 1, 2, 8});
    config_.backup_pages_per_step = random_.pick({0, 0, 1, 4});
    config_.departing_plans = random_.pick({0, 0, 1, 3});
    const auto least = dh::required_tail_pages(p(), config_.k_max, config_.steps_ahead) + config_.hot_pages + 3;
    config_.pool_pages = static_cast<std::int32_t>(least) * random_.between(1, 3) + random_.between(0, 12) + (config_.host_pages == 0 ? 20 : 0);
    config_.reserve_pages = std::min(random_.pick({0, 0, 1, 3, config_.pool_pages}), config_.pool_pages);
    config_.max_positions = 200;
    if (!random_.one_in(4)) config_.metadata_bytes = 1 << 20;
    chosen_growth::all = random_.one_in(4);
    chosen_order<0>::chosen = random_.pick({dh::longest_free::key, dh::most_optional::key, dh::least_recently_admitted::key, dh::round_robin::key});
    chosen_order<1>::chosen = random_.pick({dh::in_turn::key, dh::first_admitted::key});
    chosen_order<2>::chosen = dh::youngest::key;
}

inline void fault_program::note(const std::string& what) {
    log_.push_back(dh::text(n_operation_, ": ", what));
    if (log_.size() > 60) log_.pop_front();
}

inline std::string fault_program::log_tail() const {
    std::string out = dh::text("p ", p(), ", slots ", config_.slots, ", pool ", config_.pool_pages, ", host ", config_.host_pages, ", hot ", config_.hot_pages, ", k_max ", config_.k_max,
                               ", steps_ahead ", config_.steps_ahead, ", reserve ", config_.reserve_pages, ", refill ", config_.refill_pages_per_step, "\n");
    for (const auto& line : log_) out += line + "\n";
    return out;
}

inline void fault_program::run(int n_operations) {
    for (n_operation_ = 0; n_operation_ < n_operations; ++n_operation_) {
        operate();
        check(2);
        if (n_operation_ % 64 == 0) check(1000);
    }
    check(1000);
    drain();
}

inline void fault_program::operate() {
    const int what = random_.between(0, 99);
    if (what < 8) return admit();
    if (what < 22) return import(random_.one_in(3));
    if (what < 50) return round();
    if (what < 70) return advance(random_.one_in(3));
    if (what < 77) return copies();
    if (what < 81) return park();
    if (what < 86) return resume();
    if (what < 90) return share();
    if (what < 92) return lease();
    if (what < 94) return extend();
    if (what < 96) return end_one();
    const auto pages = it_->ledger().pages();
    it_->reclaim(random_.one_in(2) ? random_.between(0, 6) : std::max(0, pages.optional - pages.reclaiming));
    note("reclaim");
}

inline fault_program::request* fault_program::pick(bool (*fits)(const request&)) {
    std::vector<request*> found;
    for (auto& [s, r] : requests_)
        if (fits(r)) found.push_back(&r);
    return found.empty() ? nullptr : random_.pick_of(found);
}

// ---- admission and import

inline void fault_program::admit() {
    dh::demand wanted{random_.between(0, 60), random_.between(1, 60), dh::prefix_id::none, 0};
    std::vector<token> tokens;
    if (!kept_.empty() && random_.one_in(2)) {
        const auto& prefix = random_.pick_of(kept_);
        wanted.prefix = prefix.id;
        wanted.positions = std::max<std::int64_t>(wanted.positions, random_.between(0, static_cast<int>(prefix.tokens.size())));
        const auto most = std::min(static_cast<int>(wanted.positions), static_cast<int>(prefix.tokens.size()));
        wanted.shared = random_.one_in(2) ? most : random_.between(0, most);
        tokens.assign(prefix.tokens.begin(), prefix.tokens.begin() + wanted.shared);
    }
    const auto fit = it_->fits(wanted);
    const auto id = it_->try_admit(wanted);
    note(dh::text("admit ", wanted.positions, " + ", wanted.growth, ", shared ", wanted.shared, " of ", static_cast<std::int64_t>(wanted.prefix), ": verdict ",
                  static_cast<int>(fit.answer), " ", fit.pages, " ", fit.limit, id ? dh::text(", slot ", id->index) : ""));
    expect(id.has_value() == (fit.answer == dh::verdict::now), "fits and try_admit differ");
    if (fit.answer == dh::verdict::after_reclaiming && random_.one_in(2)) {
        expect(it_->reclaim(fit.pages) >= fit.pages, "fewer pages reclaimed than fits had found");
        expect(it_->fits(wanted).answer == dh::verdict::later, "after reclaim the pages are on their way");
    }
    if (!id) return;
    request r;
    r.id = *id;
    r.prompt = static_cast<int>(wanted.positions);
    r.shared = it_->shared_positions(*id);
    r.first = r.shared / p();
    while (static_cast<int>(tokens.size()) < r.prompt) tokens.push_back(mix(++n_tokens_) | 1);
    r.tokens = tokens;
    expect(requests_.emplace(id->index, r).second, "slot ", id->index, " given twice");
}

inline void fault_program::import(bool everything) {
    auto* r = pick([](const request& q) { return q.opened && !q.imported && !q.closed; });
    if (!r) return;
    const int pages = (r->prompt + p() - 1) / p();
    if (!it_->importing(r->id)) return; // a parked one that comes back
    for (int i = everything ? pages : random_.between(1, 4); i > 0 && pages > 0; --i) {
        const int page = everything ? pages - i : random_.between(0, pages - 1);
        if (page < r->first || r->landed.contains(page)) continue;
        const auto given = it_->import_pages(r->id, page, 1);
        if (given.empty()) continue;
        write_page(*r, page, given[0]);
        it_->landed(r->id, page, 1);
        r->landed.insert(page);
    }
    note(dh::text("import of ", name(*r), ": ", r->landed.size(), " of ", pages, " pages from ", r->first));
    if (static_cast<int>(r->landed.size()) < pages - r->first) return;
    it_->finish_import(r->id);
    r->imported = true;
    r->known = r->prompt;
}

/// Rows and index keys of a page of the prompt.
inline void fault_program::write_page(request& r, int page, dh::gpu_page at) {
    for (std::size_t g = 0; g < windows_.size(); ++g) {
        const auto& group = it_->layout().group(static_cast<int>(g));
        for (int row = 0; row < p() / m(g); ++row) {
            const int t = page * p() + row * m(g);
            if (t + m(g) > r.prompt) break;
            if (t + m(g) <= r.shared) continue;
            for (std::size_t lane = 0; lane < windows_[g].size(); ++lane)
                windows_[g][lane].write(group.at(at, static_cast<std::uint32_t>(row)), row_of({r.tokens.data() + t, static_cast<std::size_t>(m(g))}, g, lane));
        }
    }
    for (int t = std::max(r.shared, page * p()); t < std::min(r.prompt, (page + 1) * p()); ++t)
        for (int i = 0; i < static_cast<int>(key_bytes_.size()); ++i)
            if (auto* key = key_of(r, i, t))
                for (std::int64_t b = 0; b < key_bytes_[static_cast<std::size_t>(i)]; ++b) key[b] = row_byte(r.tokens[static_cast<std::size_t>(t)], -1 - i, b);
}

/// Where a position's key lies, by the slot's tables; null where another position's key stands for it.
inline std::byte* fault_program::key_of(const request& r, int i, int t) {
    const auto n = key_positions_[static_cast<std::size_t>(i)];
    if ((t + 1) % n != 0) return nullptr;
    const auto block = it_->tables().index_table(r.id.index, i)[t / p()];
    expect(block >= 0, name(r), " has no index block for position ", t);
    return it_->index_base() + block * it_->layout().index().pitch_bytes + t % p() / n * key_bytes_[static_cast<std::size_t>(i)];
}

// ---- between rounds

inline void fault_program::advance(bool everything) {
    if (everything) {
        auto& copier = it_->executor().copier();
        while (copier.n_held() > 0) options_.faults && random_.one_in(300) ? copier.fail(0) : copier.release(0);
    }
    for (const auto id : it_->completed()) completed_.push_back(id);
    std::vector<dh::ticket> now, later;
    for (const auto id : completed_) (everything || random_.one_in(2) ? now : later).push_back(id);
    completed_ = later;
    random_.shuffle(now);
    std::vector<dh::frontier_report> reports;
    for (auto& [s, r] : requests_) {
        if (!r.imported || r.frontiers.empty() || (!everything && random_.one_in(3))) continue;
        if (r.parked || it_->running(r.id)) {
            r.known = r.frontiers.front();
            r.frontiers.pop_front();
            if (random_.one_in(2) && !r.frontiers.empty()) r.known = r.frontiers.back(), r.frontiers.clear();
            reports.push_back({r.id, r.known});
        }
    }
    for (const auto id : now) std::erase_if(readers_, [&](const reader& at) { return at.fence > 0 && at.fence <= id; });
    const auto& plan = it_->advance({}, now, reports);
    if (plan.fence != 0)
        for (auto& at : readers_)
            if (at.fence == 0) at.fence = plan.fence;
    if (leases_.empty() && it_->ledger().pages_of_class(dh::page_class::leased) != 0) expect(false, "leased pages without a lease");
    std::string what = dh::text("advance, fence ", plan.fence, ", completed");
    for (const auto id : now) what += dh::text(" ", id);
    for (const auto& report : reports) what += dh::text(", frontier of slot ", report.slot.index, " ", report.frontier);
    for (const auto& lost : plan.failed) {
        what += "; " + lost.message();
        if (lost.slot.index >= 0) requests_.erase(lost.slot.index);
        else std::erase_if(kept_, [&](const kept& at) { return at.id == lost.prefix; });
    }
    for (const auto& stalled : plan.stalled) expect(requests_.contains(stalled.slot.index), "a slot stalls that is not there");
    note(what);
    for (auto& [s, r] : requests_) {
        r.opened = true;
        r.closed = r.parked;
        r.ready = !r.parked && it_->running(r.id);
    }
    if (plan.to_park.index >= 0) expect(requests_.at(plan.to_park.index).id == plan.to_park && !requests_.at(plan.to_park.index).parked, "names a request to park that is not there");
}

inline void fault_program::copies() {
    auto& copier = it_->executor().copier();
    for (int i = random_.between(1, 4); i > 0 && copier.n_held() > 0; --i) {
        const auto which = static_cast<std::size_t>(random_.between(0, static_cast<int>(copier.n_held()) - 1));
        options_.faults && random_.one_in(60) ? copier.fail(which) : copier.release(which);
    }
}

inline void fault_program::park() {
    auto* r = pick([](const request& q) { return !q.parked; });
    if (!r) return;
    const bool done = it_->park(r->id);
    note(dh::text("park ", name(*r), done ? "" : ": refused"));
    r->parked |= done;
}

/// Steps that were not reported are lost to it: their positions are generated again.
inline void fault_program::resume() {
    auto* r = pick([](const request& q) { return q.parked && q.closed; });
    if (!r) return;
    const auto fit = it_->fits_resume(r->id);
    const bool done = it_->try_resume(r->id);
    note(dh::text("resume ", name(*r), ": verdict ", static_cast<int>(fit.answer), " ", fit.limit));
    expect(done == (fit.answer == dh::verdict::now), "fits_resume and try_resume differ");
    if (fit.answer == dh::verdict::after_reclaiming) it_->reclaim(fit.pages);
    if (!done) return;
    r->parked = r->closed = r->opened = false;
    r->frontiers.clear();
    r->shared = it_->shared_positions(r->id);
    if (r->imported) r->tokens.resize(static_cast<std::size_t>(r->known));
}

inline void fault_program::share() {
    if (!kept_.empty() && random_.one_in(6 - std::min(4, static_cast<int>(kept_.size())))) {
        const auto which = random_.between(0, static_cast<int>(kept_.size()) - 1);
        note(dh::text("drop ", static_cast<std::int64_t>(kept_[static_cast<std::size_t>(which)].id)));
        it_->drop(kept_[static_cast<std::size_t>(which)].id);
        kept_.erase(kept_.begin() + which);
        return;
    }
    auto* r = pick([](const request& q) { return q.imported && !q.parked; });
    if (!r || !it_->running(r->id)) return;
    const auto id = it_->keep(r->id, random_.one_in(2) ? r->known : random_.between(0, r->known));
    note(dh::text("keep of ", name(*r), id ? dh::text(": ", static_cast<std::int64_t>(*id)) : ": refused"));
    if (id) kept_.push_back({*id, {r->tokens.begin(), r->tokens.begin() + it_->kept_positions(*id)}});
}

inline void fault_program::lease() {
    if (!leases_.empty() && random_.one_in(2)) {
        it_->give_back(leases_.back());
        leases_.pop_back();
        return;
    }
    const int n = random_.between(1, 3);
    if (auto pages = it_->lease(n)) {
        for (const auto page : *pages) // whoever still reads them finds other bytes
            for (std::size_t g = 0; g < windows_.size(); ++g)
                for (const auto& window : windows_[g])
                    for (int row = 0; row < p() / m(g); ++row)
                        window.write(it_->layout().group(static_cast<int>(g)).at(page, static_cast<std::uint32_t>(row)), std::vector<std::byte>(static_cast<std::size_t>(window.view.row_bytes), std::byte{0x77}));
        leases_.push_back(*pages);
    }
    note("lease");
}

inline void fault_program::extend() {
    auto* r = pick([](const request&) { return true; });
    if (r) note(dh::text("extend ", name(*r), it_->try_extend(r->id, random_.between(0, 200)) ? "" : ": refused"));
}

inline void fault_program::end_one() {
    auto* r = pick([](const request&) { return true; });
    if (!r) return;
    note(dh::text("finish ", name(*r)));
    it_->finish(r->id);
    requests_.erase(r->id.index);
}

inline void fault_program::drain() {
    it_->reset();
    requests_.clear();
    kept_.clear();
    leases_.clear();
    for (int i = 0; i < 4; ++i) advance(true);
    const auto pages = it_->ledger().pages();
    expect(pages.free == pages.capacity, "leaked: ", pages.free, " of ", pages.capacity, " pages are free at the end");
    expect(it_->ledger().free_host_pages() == config_.host_pages, "leaked: ", it_->ledger().free_host_pages(), " of ", config_.host_pages, " host pages are free at the end");
    expect(it_->ledger().free_slots() == config_.slots, "leaked: ", it_->ledger().free_slots(), " free slots at the end");
    const auto fit = it_->fits({0, 1});
    expect(fit.answer == dh::verdict::now, "nothing fits an empty ledger: ", fit.limit);
}

} // namespace dhisparse_test
