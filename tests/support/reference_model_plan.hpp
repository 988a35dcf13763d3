/// Definitions for reference_model.hpp: what one plan must hold, and what it does to the model.
#pragma once

#include "reference_model.hpp"

namespace dhisparse_test {

/// What the completed work lets go of is free before the plan is made, and poisoned if nobody else holds it.
inline void reference_model::before_advance(const std::vector<dh::ticket>& completed) {
    completed_ = {completed.begin(), completed.end()};
    auto gpu = gpu_, host = host_;
    const auto let_go = [&](int gpu_page) { if (--gpu[gpu_page] == 0) poison(gpu_page); };
    const auto let_go_host = [&](int host_page) { if (--host[host_page] == 0) poison_host(host_page); };
    for (const auto id : completed_) {
        if (const auto fence = fences_.find(id); fence != fences_.end()) {
            for (const int page : fence->second.gpu) let_go(page);
            for (const int page : fence->second.host) let_go_host(page);
            continue;
        }
        const auto copy = copies_.find(id);
        expect(copy != copies_.end(), "ticket ", id, " belongs to nothing");
        let_go(copy->second.gpu);
        let_go_host(copy->second.host);
    }
}

inline void reference_model::after_advance(const dh::step_plan& plan, const std::vector<dh::frontier_report>& reports) {
    leaving_ = {};
    read_plan(plan);
    take_promised_ids(plan);
    complete();
    settle(plan, reports);
    let_ended_go();
    give_way(plan);
    apply(plan);
    check_plan(plan);
    if (plan.fence != 0) fences_[plan.fence] = leaving_;
    for (auto at = requests.begin(); at != requests.end();) at = at->second.ended ? requests.erase(at) : std::next(at);
}

/// Whose edit each is, and what the plan says about host pages and unmapping.
inline void reference_model::read_plan(const dh::step_plan& plan) {
    host_maps_.clear();
    unmaps_.clear();
    owners_.clear();
    promised_.clear();
    auto owner = on_device;
    std::set<std::pair<int, int>> indexes; // (uid, number) of this plan: an extended table is told its last page again
    for (const auto& e : plan.edits) {
        expect(e.slot >= 0 && e.slot < options_.slots, "edit of slot ", e.slot);
        if (e.what == dh::edit::kind::open) {
            expect(!to_open_[e.slot].empty() && owner[e.slot] < 0, "slot ", e.slot, " opened with no one admitted, or before its close");
            owner[e.slot] = to_open_[e.slot].front();
            to_open_[e.slot].pop_front();
        }
        const int uid = owner[e.slot];
        expect(uid >= 0, "edit of slot ", e.slot, ", which has no request");
        owners_.push_back(uid);
        const auto& r = requests.at(uid);
        const bool fresh = !r.opened;
        using kind = dh::edit::kind;
        promised_.push_back(fresh && (e.what == kind::hot_page || (e.what == kind::index_page && e.index < r.first_indexes && indexes.insert({uid, e.index}).second) ||
                                      (e.what == kind::host_map && e.index < r.first_hosts)));
        if (e.what == kind::host_map && !promised_.back()) host_maps_[{uid, e.index}] = static_cast<int>(e.value);
        if (e.what == kind::map && e.value < 0) unmaps_.insert({uid, e.index});
        if (e.what == kind::close) owner[e.slot] = -1;
    }
    for (const auto& waiting : to_open_) expect(waiting.empty(), "an admitted request was not opened");
}

/// Pages that admissions took before this plan named them.
inline void reference_model::take_promised_ids(const dh::step_plan& plan) {
    for (std::size_t i = 0; i < plan.edits.size(); ++i) {
        if (!promised_[i]) continue;
        const auto& e = plan.edits[i];
        auto& r = requests.at(owners_[i]);
        const int page = static_cast<int>(e.value);
        if (e.what == dh::edit::kind::host_map) {
            take_host(page, name(r));
            r.pages[e.index].host = page;
            --unknown_host_;
            continue;
        }
        const bool hot = e.what == dh::edit::kind::hot_page;
        take_gpu(page, hot ? dh::page_class::hot : dh::page_class::index, name(r));
        --unknown_gpu_;
        auto& list = hot ? r.hot : r.index;
        expect_equal(e.index, static_cast<int>(list.size()), "number of a hot or index page of ", name(r));
        list.push_back(page);
    }
    expect_equal(unknown_gpu_, 0, "gpu pages that an admission took and no plan named");
    expect_equal(unknown_host_, 0, "host pages that an admission took and no plan named");
}

/// One completion after the other, in ticket order, whatever the order in which they were named: what each frees may decide about the next page.
inline void reference_model::complete() {
    for (const auto id : completed_) {
        if (auto fence = fences_.extract(id)) {
            for (const int page : fence.mapped().gpu) --gpu_[page];
            for (const int page : fence.mapped().host) --host_[page];
            for (const int uid : fence.mapped().tails)
                if (auto at = requests.find(uid); at != requests.end()) --at->second.held;
            continue;
        }
        const auto copy = copies_.extract(id).mapped();
        --gpu_[copy.gpu];
        --host_[copy.host];
        const auto at = requests.find(copy.uid);
        if (at == requests.end() || at->second.ended) continue;
        at->second.pages[copy.page].copied = dh::durability::durable;
        keep_or_unmap(at->second, copy.page);
        if (!at->second.importing) settle_pages(at->second);
    }
}

/// Reports first; then the slots that stalled, each settled and grown before the next, then the others grow.
inline void reference_model::settle(const dh::step_plan& plan, const std::vector<dh::frontier_report>& reports) {
    for (const auto& report : reports) {
        auto* r = live_in(report.slot.index);
        if (!r || !(r->id == report.slot)) continue;
        r->known = std::max(r->known, report.frontier);
        settle_pages(*r);
    }
    for (const int uid : stalled_) {
        const auto at = requests.find(uid);
        if (at == requests.end() || at->second.ended) continue;
        settle_pages(at->second);
        grow(plan, [&](int owner) { return owner == uid; });
    }
    grow(plan, [&](int owner) { return std::find(stalled_.begin(), stalled_.end(), owner) == stalled_.end(); });
}

/// Full pages become history once they are durable; those without a complete host copy get one.
inline void reference_model::settle_pages(model_request& r) {
    using enum dh::durability;
    const int full = r.known / p();
    for (int page = r.first_tail; page < full; ++page) {
        auto& at = r.pages[page];
        if (options_.host_pages == 0 || at.copied == durable || at.copied == pending) continue;
        if (at.host < 0) {
            const auto given = host_maps_.find({r.uid, page});
            if (given == host_maps_.end()) continue;
            take_host(given->second, name(r));
            at.host = given->second;
            host_maps_.erase(given);
        }
        at.copied = at.whole_copy ? pending : durable;
        if (at.whole_copy) posted_.push_back({r.uid, page});
        else keep_or_unmap(r, page);
    }
    while (r.first_tail < full && (options_.host_pages == 0 || r.pages[r.first_tail].copied == durable)) ++r.first_tail;
}

inline void reference_model::keep_or_unmap(model_request& r, int page) {
    auto& at = r.pages[page];
    if (at.gpu >= 0 && at.away) {
        expect(unmaps_.erase({r.uid, page}) > 0, "page ", page, " of ", name(r), " does not leave with its copy");
        leaving_.gpu.push_back(std::exchange(at.gpu, -1));
        at.optional = at.away = false;
        return;
    }
    if (at.gpu < 0 || at.optional) return;
    const bool kept = counts().free - (r.held <= r.quota) >= options_.reserve; // its own page goes back to those promised
    if (kept) { // it may still leave within this plan: give_way()
        at.optional = true;
        classes_[at.gpu] = dh::page_class::history;
        --r.held;
        return;
    }
    expect(unmaps_.erase({r.uid, page}) > 0, "page ", page, " of ", name(r), " is kept though there is no room for it");
    leaving_.gpu.push_back(at.gpu);
    leaving_.tails.push_back(r.uid);
    at.gpu = -1;
}

inline void reference_model::let_ended_go() {
    for (const int uid : ended_) {
        const auto& r = requests.at(uid);
        for (const auto& page : r.pages) {
            if (page.gpu >= 0) leaving_.gpu.push_back(page.gpu);
            if (page.host >= 0) leaving_.host.push_back(page.host);
        }
        leaving_.gpu.insert(leaving_.gpu.end(), r.hot.begin(), r.hot.end());
        leaving_.gpu.insert(leaving_.gpu.end(), r.index.begin(), r.index.end());
    }
    ended_.clear();
}

/// Tail, index and host pages that the ledger took for positions to come, of those owners.
template <class Owners>
void reference_model::grow(const dh::step_plan& plan, Owners owners) {
    using kind = dh::edit::kind;
    for (std::size_t i = 0; i < plan.edits.size(); ++i) {
        const auto& e = plan.edits[i];
        auto& r = requests.at(owners_[i]);
        if (promised_[i] || r.ended || e.value < 0 || !owners(r.uid)) continue;
        if (e.what == kind::index_page) {
            if (e.index + 1 == static_cast<int>(r.index.size()) && e.value == r.index.back()) continue; // told again
            expect_equal(e.index, static_cast<int>(r.index.size()), "number of an index page of ", name(r));
            take_gpu(static_cast<int>(e.value), dh::page_class::index, name(r));
            r.index.push_back(static_cast<int>(e.value));
        } else if (e.what == kind::map && r.pages[e.index].gpu != e.value) {
            expect(!r.importing, "page ", e.index, " of ", name(r), " mapped during its import");
            expect_equal(e.index, r.mapped_to, "page mapped ahead for ", name(r));
            take_gpu(static_cast<int>(e.value), dh::page_class::tail, name(r));
            auto& at = r.pages[r.mapped_to++];
            at.gpu = static_cast<int>(e.value);
            at.landed = true;
            const auto given = host_maps_.find({r.uid, e.index});
            if (given != host_maps_.end()) {
                take_host(given->second, name(r));
                at.host = given->second;
                host_maps_.erase(given);
            }
            at.whole_copy = options_.host_pages > 0 && at.host < 0;
            ++r.held;
        }
    }
}

/// Optional pages leave for slots that stall: at once where they are durable, else behind a copy. Which is the ledger's choice.
inline void reference_model::give_way(const dh::step_plan& plan) {
    int lacking = 0, given = 0;
    for (const auto& [slot, waits] : plan.stalled) {
        const auto* r = live_in(slot.index);
        expect(r != nullptr, "slot ", slot.index, " stalled, but is not there");
        const int target = pages_of(first_positions(r->known, r->positions));
        lacking += std::max(0, index_pages_of(target) - static_cast<int>(r->index.size())) + std::max(0, target - r->mapped_to - std::max(0, r->quota - r->held));
    }
    const auto before = counts();
    lacking -= before.free + before.leaving + before.reclaiming;
    for (const auto& [uid, page] : std::set(unmaps_)) {
        auto& r = requests.at(uid);
        auto& at = r.pages[page];
        if (r.ended || !at.optional || at.away || at.copied != dh::durability::durable) continue;
        unmaps_.erase({uid, page});
        leaving_.gpu.push_back(std::exchange(at.gpu, -1));
        at.optional = false;
        ++given;
    }
    for (std::size_t i = posted_.size(); i < plan.copies.size(); ++i)
        for (auto& [uid, r] : requests)
            for (std::size_t page = 0; page < r.pages.size(); ++page) {
                auto& at = r.pages[page];
                if (r.ended || at.gpu != number(plan.copies[i].gpu) || !at.optional || !at.landed || at.copied != dh::durability::none) continue;
                at.copied = dh::durability::pending;
                at.away = true;
                posted_.push_back({uid, static_cast<int>(page)});
                ++given;
            }
    expect(given <= std::max(0, lacking), given, " optional pages leave, ", lacking, " are lacking");
    expect_equal(given, std::min(std::max(0, lacking), before.optional - before.reclaiming - n_unlanded()), "optional pages that leave for growth");
}

inline int reference_model::n_unlanded() const {
    int n = 0;
    for (const auto& [uid, r] : requests)
        for (const auto& page : r.pages) n += !r.ended && page.optional && !page.landed;
    return n;
}

/// The edits, in order, on the tables that the step path reads.
inline void reference_model::apply(const dh::step_plan& plan) {
    using kind = dh::edit::kind;
    for (std::size_t i = 0; i < plan.edits.size(); ++i) {
        const auto& e = plan.edits[i];
        auto& r = requests.at(owners_[i]);
        const auto value = static_cast<int>(e.value);
        switch (e.what) {
        case kind::open:
            expect_equal(e.value, r.open_run, "metadata run of ", name(r));
            expect_equal(e.index, r.open_pages, "page-map entries of ", name(r));
            on_device[e.slot] = r.uid;
            r.opened = true;
            r.device_gpu.assign(static_cast<std::size_t>(e.index), -1);
            r.device_host = r.device_gpu;
            break;
        case kind::close:
            expect(r.ended, name(r), " closed while it lives");
            on_device[e.slot] = -1;
            break;
        case kind::move_run:
            r.device_gpu.resize(static_cast<std::size_t>(e.index), -1);
            r.device_host.resize(static_cast<std::size_t>(e.index), -1);
            break;
        case kind::positions: r.device_positions = value; break;
        case kind::frontier:
            r.decoding = true;
            r.n = value;
            r.tokens.resize(static_cast<std::size_t>(value));
            break;
        case kind::tail_page: r.device_tail = value; break;
        case kind::map:
            expect(value < 0 || r.ended || r.pages[e.index].landed, "page ", e.index, " of ", name(r), " mapped before it landed");
            expect(value >= 0 || r.ended || r.pages[e.index].copied == dh::durability::durable, "page ", e.index, " of ", name(r), " unmapped before it is durable");
            r.device_gpu[e.index] = value;
            break;
        case kind::host_map: r.device_host[e.index] = value; break;
        default: break; // hot and index pages: grow() and take_promised_ids() have taken them
        }
    }
}

inline void reference_model::check_plan(const dh::step_plan& plan) {
    expect(unmaps_.empty() || std::all_of(unmaps_.begin(), unmaps_.end(), [&](const auto& u) { return requests.at(u.first).ended; }),
           "a page was unmapped that is not durable, or optional");
    expect(host_maps_.empty(), "a host page was given for nothing");
    expect_equal(plan.copies.size(), posted_.size(), "copies of the plan");
    for (std::size_t i = 0; i < posted_.size(); ++i) {
        const auto& copy = plan.copies[i];
        const auto [uid, page] = posted_[i];
        const auto& at = requests.at(uid).pages[page];
        expect(copy.way == dh::direction::to_host && number(copy.gpu) == at.gpu && number(copy.host) == at.host, "copy ", copy.id, " of ",
               number(copy.gpu), " to ", number(copy.host), ", expected gpu page ", at.gpu, ", host page ", at.host);
        ++gpu_[at.gpu];
        ++host_[at.host];
        expect(copies_.insert({copy.id, {uid, page, at.gpu, at.host}}).second && !fences_.contains(copy.id), "ticket ", copy.id, " used twice");
    }
    posted_.clear();
    expect_equal(plan.fence != 0, !leaving_.gpu.empty() || !leaving_.host.empty(), "whether the plan has a fence");
    const auto c = counts();
    std::set<int> stalled;
    stalled_.clear();
    for (const auto& [slot, waits] : plan.stalled) {
        const auto* r = live_in(slot.index);
        expect(r && r->id == slot, "slot ", slot.index, " stalled, but is not there");
        stalled.insert(r->uid);
        stalled_.push_back(r->uid);
        expect_equal(c.free, 0, "free pages where ", name(*r), " stalls");
    }
    for (const auto& [uid, r] : requests) {
        if (r.ended || r.importing) continue;
        const int target = pages_of(first_positions(r.known, r.positions));
        expect_equal(stalled.contains(uid), r.mapped_to < target, "whether ", name(r), " stalls");
    }
}

/// The tables on the device are what the edits made of them.
inline void reference_model::check_tables() const {
    const auto tables = it_.tables();
    for (int s = 0; s < options_.slots; ++s) {
        expect_equal(tables.live(s), on_device[s] >= 0, "whether slot ", s, " is live");
        if (on_device[s] < 0) continue;
        const auto& r = requests.at(on_device[s]);
        const auto& record = tables.records[s];
        expect_equal(record.n_pages, static_cast<int>(r.device_gpu.size()), "n_pages of ", name(r));
        expect_equal(record.positions, r.device_positions, "positions of ", name(r));
        expect_equal(record.frontier, r.n, "frontier of ", name(r));
        expect_equal(record.tail_page, r.device_tail, "tail page of ", name(r));
        for (int page = 0; page < record.n_pages; ++page) {
            expect_equal(tables.page_map(s)[page], r.device_gpu[page], "page map of ", name(r), " at ", page);
            expect_equal(tables.host_map(s)[page], r.device_host[page], "host map of ", name(r), " at ", page);
        }
        if (r.ended) continue;
        for (std::size_t i = 0; i < r.hot.size(); ++i) expect_equal(tables.hot_pages[s * tables.hot_pages_per_slot + static_cast<int>(i)], r.hot[i], "hot page of ", name(r));
        const auto got = it_.ledger().page_table(r.id);
        expect_equal(got.size(), r.pages.size(), "page_table of ", name(r));
        for (std::size_t page = 0; page < got.size(); ++page) expect_equal(number(got[page]), r.pages[page].gpu, "page_table of ", name(r), " at ", page);
        if (r.decoding) expect_equal(r.device_tail, r.first_tail, "first tail page of ", name(r));
        expect_equal(it_.ledger().durable_positions(r.id), durable_positions(r), "durable positions of ", name(r));
    }
}

/// Below it every row generated since the import has its host copy, as far as the host knows.
inline int reference_model::durable_positions(const model_request& r) const {
    if (r.importing) return 0;
    if (options_.host_pages == 0) return r.prompt;
    int out = r.known;
    for (int page = pages_of(r.known); page-- > pages_of(r.prompt);) {
        const auto& at = r.pages[page];
        if (at.host < 0 || (at.whole_copy && at.copied != dh::durability::durable)) out = page * p();
    }
    return out;
}

/// The hot cache holds the rows that the replacement rule leaves there, and its index finds them and no others.
inline void reference_model::check_cache(const model_request& r, int g) const {
    const auto tables = it_.tables();
    const auto parts = it_.group_tables(g);
    const auto& cache = r.caches[g];
    const int slot = r.id.index;
    expect_equal(tables.clocks[slot * tables.n_groups + g], cache.clock(), "resolves of ", name(r), " group ", g);
    for (int e = 0; e < parts.entries; ++e) {
        expect_equal(tables.rows(slot, parts)[e], cache.rows()[e], "row in entry ", e, " of ", name(r), " group ", g);
        expect_equal(tables.used(slot, parts)[e], cache.used()[e], "last use of entry ", e, " of ", name(r), " group ", g);
        expect_equal(tables.entered(slot, parts)[e], cache.entered()[e], "entering of entry ", e, " of ", name(r), " group ", g);
    }
    for (int row = 0; row < visible(g, r.n); ++row) {
        const int entry = cache.entry_of(row);
        expect_equal(it_.find(slot, g, row), entry < 0 ? dh::no_code : static_cast<dh::hot_code>(entry), "hot index of ", name(r), " group ", g, " at row ", row);
    }
}

} // namespace dhisparse_test
