/// Definitions for random_program.hpp: sizes, and everything that is not a round.
#pragma once

#include "random_program.hpp"

#include <dhisparse/policy/layout/source_planes.hpp>

namespace dhisparse_test {

inline random_program::random_program(std::uint64_t seed, program_options options) : random_(seed), options_(options) {
    do choose_config();
    while (!choose_sizes());
    it_ = make_subject(combination_, config_);
    it_->copier().move_bytes_at_once(options.bytes_at_once);
    model_ = std::make_unique<reference_model>(*it_, model_options_);
}

inline void random_program::choose_config() {
    config_ = {};
    combination_ = random_.between(0, 7);
    config_.shape = random_shape(random_);
    config_.slots = random_.between(1, 5);
    config_.k_max = random_.pick({1, 1, 1, 2, 3, 5});
    config_.steps_ahead = random_.between(0, 2);
    config_.max_unsettled = random_.pick({0, 0, 0, 1, 2, 5});
    config_.max_requests = random_.one_in(2) ? 0 : config_.slots + random_.between(0, 3);
    max_requests_ = config_.max_requests ? config_.max_requests : config_.slots;
}

/// Roomy, tight or minimal pools; false where the layout refuses these row widths.
inline bool random_program::choose_sizes() {
    const auto& shape = config_.shape;
    const int p = shape.page_positions, ahead = (config_.steps_ahead + (config_.max_unsettled + config_.k_max - 1) / config_.k_max + 1) * config_.k_max;
    int least_rows = p;
    for (const auto& source : shape.sources) least_rows = std::min(least_rows, p / source.positions_per_row);
    longest_ = p * random_.between(1, p > 16 ? 4 : 9) + random_.pick({-1, 0, 1, p / 2});
    const int pages = (longest_ + ahead + p - 1) / p;
    const int host = random_.between(0, 4);
    config_.host_pages = host == 0 ? 0 : host == 1 ? pages : host == 2 ? pages + random_.between(0, 6) : (pages + 6) * config_.slots;
    const int least_hot = (config_.k_max * shape.k + least_rows - 1) / least_rows;
    const bool staging = random_.one_in(2); // unions may be larger than the hot cache
    config_.hot_pages = config_.host_pages == 0 && random_.one_in(2) ? 0 : staging ? random_.between(0, least_hot) : least_hot + random_.pick({0, 0, 1, 3});
    const int least_tail = (ahead + p - 1) / p, usual_tail = (ahead + p - 1 + p - 1) / p + 1;
    config_.tail_pages = random_.pick({0, 0, least_tail, usual_tail + 1});
    int index_pages = 0;
    try {
        const auto layout = combination_ & 1 ? dh::page_layout::make<dh::source_planes>(shape, {1, config_.hot_pages, config_.k_max})
                                             : dh::page_layout::make<dh::page_major>(shape, {1, config_.hot_pages, config_.k_max});
        if (layout.page_bytes() > 128 * 1024) return false;
        if (layout.index().n_sources > 0) index_pages = (pages * layout.index().n_sources + layout.index().blocks_per_page - 1) / layout.index().blocks_per_page;
    } catch (const dh::invalid_argument& refusal) {
        const std::string why = refusal.what();
        expect(why.find("common multiple") != why.npos || why.find("no index block") != why.npos, why);
        return false;
    }
    const int tail = config_.host_pages == 0 ? pages : config_.tail_pages ? config_.tail_pages : usual_tail;
    const int one = config_.hot_pages + tail + index_pages;
    config_.pool_pages = random_.pick({one, one + random_.between(0, 4), one + random_.between(0, 2 * one), (one + pages) * config_.slots});
    config_.reserve_pages = std::min(random_.pick({0, 0, 1, 2, config_.pool_pages, config_.pool_pages}), config_.pool_pages); // all: no optional page
    model_options_ = {config_.hot_pages, config_.tail_pages ? config_.tail_pages : usual_tail, ahead, config_.reserve_pages, config_.host_pages, config_.slots};
    config_.refill_pages_per_step = 0; // a refill's moment is the ledger's choice: tests/ledger_faults has it
    if (random_.one_in(3)) config_.metadata_bytes = 4096 * random_.between(8, 24);
    return true;
}

inline void random_program::note(const std::string& what) {
    log_.push_back(dh::text(n_operation_, ": ", what));
    if (log_.size() > 40) log_.pop_front();
}

inline std::string random_program::log_tail() const {
    std::string out = dh::text("policies ", combination_, ", p ", config_.shape.page_positions, ", k ", config_.shape.k, ", groups ", config_.shape.groups.size(), ", pool ",
                               config_.pool_pages, ", host ", config_.host_pages, ", slots ", config_.slots, ", hot ", config_.hot_pages, ", k_max ", config_.k_max,
                               ", max_unsettled ", config_.max_unsettled, ", steps_ahead ", config_.steps_ahead, ", tail ", config_.tail_pages, ", reserve ", config_.reserve_pages, ", longest ", longest_, "\n");
    for (const auto& line : log_) out += line + "\n";
    return out;
}

inline void random_program::run(int n_operations) {
    check();
    for (n_operation_ = 0; n_operation_ < n_operations; ++n_operation_) {
        operate();
        check();
    }
    drain();
}

inline void random_program::operate() {
    const int what = random_.between(0, 99);
    if (what < 10) return admit();
    if (what < 30) return import();
    if (what < 50) return round();
    if (what < 65) return advance(random_.one_in(4));
    if (what < 70) return release_copies();
    if (what < 73) return extend();
    if (what < 76) return misuse();
    if (what < 78) return finish_one();
    if (what < 88) return import_everything();
    decode();
}

inline void random_program::check() {
    model_->check_counts();
    model_->check_tables();
    for (auto& [uid, r] : model_->requests) {
        model_->check_rows(r, random_, options_.n_samples);
        if (r.decoding && !r.ended && random_.one_in(4)) model_->check_cache(r, random_.between(0, model_->n_groups() - 1));
    }
}

inline model_request* random_program::pick(bool (*fits)(const model_request&)) {
    std::vector<model_request*> found;
    for (auto& [uid, r] : model_->requests)
        if (!r.ended && fits(r)) found.push_back(&r);
    return found.empty() ? nullptr : random_.pick_of(found);
}

// ---- admission and import

inline void random_program::admit() {
    const int p = model_->p();
    int positions = random_.pick({0, 1, p - 1, p, p + 1, longest_, random_.between(0, longest_), p * random_.between(0, longest_ / p)});
    int growth = random_.pick({0, 1, p, 2 * p, random_.between(0, 6 * p), 40 * p});
    if (random_.one_in(12)) positions *= 30;
    if (positions + growth == 0) growth = 1;
    const auto wanted = model_->fits(positions, growth);
    const auto got = it_->fits({positions, growth});
    note(dh::text("admit ", positions, " + ", growth, ": verdict ", static_cast<int>(got.answer), " ", got.pages, " ", got.limit));
    expect(got.answer == wanted.answer && got.pages == wanted.pages && std::string(got.limit) == wanted.limit, "fits, expected verdict ",
           static_cast<int>(wanted.answer), " ", wanted.pages, " ", wanted.limit);
    digest(got.answer);
    const auto id = it_->try_admit({positions, growth});
    expect_equal(id.has_value(), wanted.answer == dh::verdict::now, "whether try_admit admits");
    if (!id) return;
    digest(id->index);
    auto& r = model_->admitted(positions, growth, *id);
    for (int t = 0; t < positions; ++t) r.tokens.push_back(mix(next_token_++) | 1);
    note(model_->name(r));
}

inline void random_program::import() {
    auto* r = pick([](const model_request& q) { return q.importing; });
    if (!r) return;
    for (int i = random_.between(1, 6); i > 0; --i) random_.one_in(2) ? take_pages(*r) : land_page(*r);
    if (random_.one_in(2)) finish_import(*r);
}

/// As an engine does: asks for what it lacks, in some order, and lets copies complete. It always gets through.
inline void random_program::import_everything() {
    auto* r = pick([](const model_request& q) { return q.importing; });
    if (!r) return;
    std::vector<int> order;
    for (int page = 0; page < model_->pages_of(r->prompt); ++page) order.push_back(page);
    if (random_.one_in(2)) random_.shuffle(order);
    for (int i = 0; r->importing; ++i) {
        expect(i <= 3 * model_->pages_of(r->prompt) + 6, "the import of ", model_->name(*r), " gets no further");
        for (const int page : order) {
            if (!r->pages[page].landed && r->pages[page].gpu < 0) take_pages(*r, page, 1);
            land_page(*r);
        }
        finish_import(*r);
        it_->copier().release_all();
        advance(true);
    }
}

/// Plain decoding for a while.
inline void random_program::decode() {
    for (int i = random_.between(2, 12); i > 0; --i) {
        round();
        if (random_.one_in(2)) it_->copier().release_all();
        advance(!random_.one_in(3));
        if (random_.one_in(4)) check();
    }
}

inline void random_program::take_pages(model_request& r) {
    const int pages = model_->pages_of(r.prompt), first = random_.between(0, pages);
    take_pages(r, first, random_.between(0, std::min(3, pages - first)));
}

inline void random_program::take_pages(model_request& r, int first, int n) {
    const auto given = it_->import_pages(r.id, first, n);
    note(dh::text("import_pages of ", model_->name(r), " ", first, " + ", n, " gives ", given.size()));
    model_->import_pages(r, first, n, given);
    for (const auto page : given) digest(number(page));
    if (random_.one_in(2))
        for (int page = first; page < first + static_cast<int>(given.size()); ++page) write_page(r, page);
}

inline void random_program::land_page(model_request& r) {
    std::vector<int> given;
    for (int page = 0; page < model_->pages_of(r.prompt); ++page)
        if (r.pages[page].gpu >= 0 && !r.pages[page].landed) given.push_back(page);
    if (given.empty()) return;
    const int first = random_.pick_of(given);
    int n = 1;
    while (random_.one_in(2) && first + n < model_->pages_of(r.prompt) && r.pages[first + n].gpu >= 0 && !r.pages[first + n].landed) ++n;
    note(dh::text("landed of ", model_->name(r), " ", first, " + ", n));
    it_->landed(r.id, first, n);
    for (int page = first; page < first + n; ++page) {
        model_->landed(r, page);
        if (random_.one_in(4)) late_.push_back({r.uid, page});
        else write_page(r, page);
    }
}

inline void random_program::finish_import(model_request& r) {
    const auto end = r.pages.begin() + model_->pages_of(r.prompt);
    if (!std::all_of(r.pages.begin(), end, [](const auto& page) { return page.landed; }))
        return refused("finish_import", [&] { it_->finish_import(r.id); });
    note(dh::text("finish_import of ", model_->name(r)));
    it_->finish_import(r.id);
    model_->finish_import(r);
}

/// What a prefill writes: complete rows, and the parts of an unfinished one that may be selected.
inline void random_program::write_page(model_request& r, int page) {
    std::vector<std::byte> row;
    for (int g = 0; g < model_->n_groups(); ++g)
        for (int i = 0; i < model_->rows_per_page(g); ++i) {
            const int m = model_->m(g), t = page * model_->p() + i * m;
            if (t >= r.prompt || (t + m > r.prompt && !model_->partial(g))) break;
            std::vector<token> tokens(r.tokens.begin() + t, r.tokens.begin() + std::min(t + m, r.prompt));
            tokens.resize(static_cast<std::size_t>(m));
            for (const auto& window : model_->windows[g]) {
                row.resize(static_cast<std::size_t>(window.view.row_bytes));
                window.read(model_->at(g, r.pages[page].gpu, i), row);
                make_row(tokens, window.layer, row);
                window.write(model_->at(g, r.pages[page].gpu, i), row);
            }
        }
}

inline void random_program::write_keys(model_request& r) {
    for (int i = 0; i < model_->n_keys(); ++i)
        for (int t = 0; t < r.prompt; ++t) {
            if (!model_->has_key(i, t)) continue;
            auto* key = model_->key_at(r, i, t);
            for (std::int64_t b = 0; b < model_->key_bytes(i); ++b) key[b] = row_byte(r.tokens[t], -1 - i, b);
        }
}

// ---- between rounds

inline void random_program::advance(bool everything) {
    for (const auto& [uid, page] : late_)
        if (auto at = model_->requests.find(uid); at != model_->requests.end() && at->second.pages[page].gpu >= 0) write_page(at->second, page);
    late_.clear();
    for (const auto id : it_->completed()) completed_.push_back(id);
    std::vector<dh::ticket> now, later;
    for (const auto id : completed_) (everything || random_.one_in(2) ? now : later).push_back(id);
    completed_ = later;
    random_.shuffle(now);
    std::vector<dh::frontier_report> reports;
    for (auto& [uid, r] : model_->requests) {
        if (r.ended || r.frontiers.empty() || (!everything && random_.one_in(3))) continue;
        const auto last = everything ? static_cast<int>(r.frontiers.size()) - 1 : random_.between(0, static_cast<int>(r.frontiers.size()) - 1);
        reports.push_back({r.id, r.frontiers[last]});
        if (random_.one_in(4)) reports.push_back({r.id, r.frontiers[random_.between(0, last)]}); // of an earlier step, too
        r.frontiers.erase(r.frontiers.begin(), r.frontiers.begin() + last + 1);
    }
    if (!old_ids_.empty() && random_.one_in(4)) reports.push_back({random_.pick_of(old_ids_), random_.between(0, 1000)}); // of a step before it ended
    std::string what = "advance, completed";
    for (const auto id : now) what += dh::text(" ", id);
    for (const auto& report : reports) what += dh::text(", frontier of slot ", report.slot.index, " ", report.frontier);
    note(what);
    model_->before_advance(now);
    const auto& plan = it_->advance(now, reports);
    model_->after_advance(plan, reports);
    for (const auto& e : plan.edits) digest(static_cast<int>(e.what)), digest(e.slot), digest(e.index), digest(e.value);
    for (const auto& copy : plan.copies) digest(copy.id), digest(number(copy.gpu)), digest(number(copy.host));
    digest(plan.fence);
    for (auto& [uid, r] : model_->requests)
        if (r.opened && keyed_.insert(uid).second) write_keys(r);
}

inline void random_program::release_copies() {
    auto& copier = it_->copier();
    note(dh::text("release some of ", copier.n_held(), " copies"));
    for (int i = random_.between(1, 4); i > 0 && copier.n_held() > 0; --i) copier.release(static_cast<std::size_t>(random_.between(0, static_cast<int>(copier.n_held()) - 1)));
}

inline void random_program::extend() {
    auto* r = pick([](const model_request&) { return true; });
    if (!r) return;
    const int positions = std::max(0, r->positions + random_.pick({-3, 0, 1, model_->p(), 8 * model_->p(), 20 * model_->p()}));
    note(dh::text("try_extend ", model_->name(*r), " to ", positions));
    const bool got = it_->try_extend(r->id, positions);
    expect_equal(got, model_->extend(*r, positions), "try_extend");
}

inline void random_program::finish_one() {
    auto* r = pick([](const model_request&) { return true; });
    if (!r) return;
    note(dh::text("finish ", model_->name(*r)));
    old_ids_.push_back(r->id);
    it_->finish(r->id);
    model_->finish(*r);
}

/// The call throws invalid_argument; check() then finds that nothing changed.
template <class Call>
void random_program::refused(const char* what, Call call) {
    note(dh::text("refused: ", what));
    try {
        call();
    } catch (const dh::invalid_argument&) {
        return;
    }
    throw mismatch(dh::text(what, " was not refused"));
}

inline void random_program::misuse() {
    refused("unknown ticket", [&] { it_->advance(std::vector<dh::ticket>{1'000'000}, {}); });
    for (const auto id : it_->completed()) completed_.push_back(id);
    if (!completed_.empty()) refused("ticket given twice", [&] { it_->advance(std::vector{completed_[0], completed_[0]}, {}); });
    refused("negative demand", [&] { (void)it_->try_admit({-1, 5}); });
    if (!old_ids_.empty()) {
        const auto old = random_.pick_of(old_ids_);
        refused("stale finish", [&] { it_->finish(old); });
        refused("stale import_pages", [&] { (void)it_->import_pages(old, 0, 0); });
        refused("stale try_extend", [&] { (void)it_->try_extend(old, 1); });
    }
    auto* r = pick([](const model_request&) { return true; });
    if (!r) return;
    const int pages = model_->pages_of(r->prompt);
    refused("pages beyond the prompt", [&] { it_->landed(r->id, 0, pages + 1); });
    if (r->decoding) refused("import_pages after the import", [&] { (void)it_->import_pages(r->id, 0, 0); });
    if (r->decoding) refused("frontier too high", [&] { it_->advance({}, std::vector<dh::frontier_report>{{r->id, (r->mapped_to + 1) * model_->p()}}); });
    if (r->known > 0) refused("frontier going back", [&] { it_->advance({}, std::vector<dh::frontier_report>{{r->id, r->known - 1}}); });
    for (int page = 0; page < pages; ++page)
        if (r->pages[page].landed || r->pages[page].gpu < 0) return refused("landed again, or not given", [&] { it_->landed(r->id, page, 1); });
}

/// Everything ends; every page, slot and byte of metadata comes back.
inline void random_program::drain() {
    while (auto* r = pick([](const model_request&) { return true; })) {
        it_->finish(r->id);
        model_->finish(*r);
    }
    for (int i = 0; i < 3; ++i) {
        it_->copier().release_all();
        advance(true);
        check();
    }
    const auto pages = it_->ledger().pages();
    expect_equal(pages.free, pages.capacity, "free pages at the end");
    expect_equal(it_->ledger().free_host_pages(), config_.host_pages, "free host pages at the end");
    expect_equal(it_->ledger().free_slots(), config_.slots, "free slots at the end");
}

} // namespace dhisparse_test
