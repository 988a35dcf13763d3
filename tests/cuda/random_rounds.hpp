// Long random programs on both backends: every location, map, stamp, counter and byte is the same.
#pragma once

#include "pair.cuh"

namespace dhisparse_test {

struct request {
    dh::slot_id slot;
    std::int32_t frontier = 0, reserved = 0;
};

/// drifting: most rows selected are of a window that moves on slowly, so that few are missing. living: requests are parked, resumed
/// and reclaimed from, prefixes shared, rows gathered.
enum class program_kind { plain, drifting, living };

class random_program {
public:
    /// context_pages: most that a request is admitted with, but for a few positions.
    random_program(std::uint64_t seed, std::int32_t context_pages, program_kind kind = program_kind::plain) : random_(seed), context_pages_(context_pages), kind_(kind) {}

    template <class Policies>
    void run(backend_pair<Policies>& pair, int steps) {
        for (int step = 0; step < steps; ++step) {
            CAPTURE(step);
            if (live_.empty() || chance(4)) admit(pair);
            if (!live_.empty() && chance(12)) finish(pair);
            if (!live_.empty() && chance(8)) extend(pair);
            if (kind_ == program_kind::living) live_on(pair);
            round(pair);
            if (step % 8 == 7) pair.compare_everything();
        }
        pair.compare_everything();
    }

private:
    bool chance(int one_in) { return upto(one_in - 1) == 0; }
    std::int32_t upto(std::int64_t most) { return static_cast<std::int32_t>(std::uniform_int_distribution<std::int64_t>(0, most)(random_)); }

    template <class Policies>
    void admit(backend_pair<Policies>& pair) {
        const auto& shape = pair.host.shape();
        dh::demand wanted{upto(context_pages_ * shape.page_positions + 5), 1 + upto(3 * shape.page_positions)};
        if (prefix_ && chance(2)) {
            wanted.prefix = *prefix_;
            wanted.shared = upto(std::min(wanted.positions, pair.host.kept_positions(*prefix_)));
        }
        const auto a = pair.host.try_admit(wanted), b = pair.cuda.try_admit(wanted);
        REQUIRE(a == b);
        if (!a) return;
        pair.advance({});
        const auto p = shape.page_positions;
        const auto pages = static_cast<std::int32_t>((wanted.positions + p - 1) / p);
        REQUIRE(pair.host.shared_positions(*a) == pair.cuda.shared_positions(*a));
        for (std::int32_t page = pair.host.shared_positions(*a) / p; page < pages; pair.advance({})) {
            const auto given = pair.host.import_pages(*a, page, pages - page);
            const std::vector<dh::gpu_page> here(given.begin(), given.end());
            const auto there = pair.cuda.import_pages(*a, page, pages - page);
            REQUIRE(std::equal(here.begin(), here.end(), there.begin(), there.end()));
            for (const auto at : here)
                for (const auto& source : shape.sources)
                    for (int t = 0; t < p; t += source.positions_per_row) pair.write(source.layer, pair.host.location_of(source.layer, at, t), static_cast<std::byte>(upto(255)));
            pair.host.landed(*a, page, static_cast<std::int32_t>(here.size()));
            pair.cuda.landed(*a, page, static_cast<std::int32_t>(here.size()));
            page += static_cast<std::int32_t>(here.size());
        }
        pair.host.finish_import(*a);
        pair.cuda.finish_import(*a);
        start(pair, {*a, static_cast<std::int32_t>(wanted.positions), static_cast<std::int32_t>(wanted.positions + wanted.growth)});
    }

    template <class Policies>
    void finish(backend_pair<Policies>& pair) {
        const auto i = upto(static_cast<std::int64_t>(live_.size()) - 1);
        pair.host.finish(live_[static_cast<std::size_t>(i)].slot);
        pair.cuda.finish(live_[static_cast<std::size_t>(i)].slot);
        live_.erase(live_.begin() + i);
        pair.advance({});
        pair.advance({});
    }

    template <class Policies>
    void extend(backend_pair<Policies>& pair) {
        auto& r = live_[static_cast<std::size_t>(upto(static_cast<std::int64_t>(live_.size()) - 1))];
        const auto positions = r.reserved + upto(pair.host.shape().page_positions * 6);
        const bool done = pair.host.try_extend(r.slot, positions);
        REQUIRE(pair.cuda.try_extend(r.slot, positions) == done);
        if (done) r.reserved = positions;
        pair.advance({});
    }

    /// What residency does to requests: now and then one is parked, another resumed, pages are reclaimed (and kept from refills until a
    /// reclaim of none), a prefix is kept for admissions, rows are gathered.
    template <class Policies>
    void live_on(backend_pair<Policies>& pair) {
        if (chance(4)) {
            const auto pages = upto(12);
            REQUIRE(pair.host.reclaim(pages) == pair.cuda.reclaim(pages));
        }
        if (!live_.empty() && chance(10)) park(pair);
        if (!parked_.empty() && chance(3)) resume(pair);
        if (!live_.empty() && chance(10)) keep(pair);
        if (!live_.empty() && chance(4)) gather(pair);
        pair.advance({});
    }

    template <class Policies>
    void park(backend_pair<Policies>& pair) {
        const auto i = upto(static_cast<std::int64_t>(live_.size()) - 1);
        const auto r = live_[static_cast<std::size_t>(i)];
        const bool done = pair.host.park(r.slot);
        REQUIRE(pair.cuda.park(r.slot) == done);
        if (!done) return;
        live_.erase(live_.begin() + i);
        parked_.push_back(r);
    }

    template <class Policies>
    void resume(backend_pair<Policies>& pair) {
        const auto r = parked_.front();
        REQUIRE(pair.host.fits_resume(r.slot) == pair.cuda.fits_resume(r.slot));
        const bool done = pair.host.try_resume(r.slot);
        REQUIRE(pair.cuda.try_resume(r.slot) == done);
        if (!done) return;
        parked_.erase(parked_.begin());
        start(pair, r);
    }

    template <class Policies>
    void keep(backend_pair<Policies>& pair) {
        if (prefix_) {
            pair.host.drop(*prefix_);
            pair.cuda.drop(*prefix_);
        }
        const auto& r = live_[static_cast<std::size_t>(upto(static_cast<std::int64_t>(live_.size()) - 1))];
        const auto positions = upto(r.frontier);
        prefix_ = pair.host.keep(r.slot, positions);
        REQUIRE(pair.cuda.keep(r.slot, positions) == prefix_);
    }

    template <class Policies>
    void gather(backend_pair<Policies>& pair) {
        const auto& r = live_[static_cast<std::size_t>(upto(static_cast<std::int64_t>(live_.size()) - 1))];
        const auto& sources = pair.host.shape().sources;
        const auto& source = sources[static_cast<std::size_t>(upto(static_cast<std::int64_t>(sources.size()) - 1))];
        const auto last = upto(std::min(pair.host.frontier(r.slot), r.frontier) / source.positions_per_row), first = upto(last);
        pair.compare_gathered(source.layer, r.slot, first, last, (last - first) * source.row_bytes);
    }

    /// Once rounds may include it.
    template <class Policies>
    void start(backend_pair<Policies>& pair, const request& r) {
        for (int i = 0; i < 4 || !pair.host.running(r.slot); ++i) {
            REQUIRE(i < 100);
            pair.advance({});
        }
        REQUIRE(pair.cuda.running(r.slot));
        live_.push_back(r);
    }

    template <class Policies>
    void round(backend_pair<Policies>& pair) {
        auto& m = pair.memory();
        const auto k_max = pair.host.layout().limits().k_max;
        std::vector<request*> chosen;
        for (std::int64_t i = 0; i < m.slots.size(); ++i) {
            auto* r = live_.empty() || chance(4) ? nullptr : &live_[static_cast<std::size_t>(upto(static_cast<std::int64_t>(live_.size()) - 1))];
            m.slots.data()[i] = r ? r->slot.index : chance(5) ? upto(12) : -1; // now and then repeated, dead or out of range
            m.widths.data()[i] = chance(15) ? upto(2 * k_max) - 1 : upto(k_max);
            m.accepted.data()[i] = chance(15) ? upto(10) - 5 : upto(std::max(0, m.widths.data()[i] - 1));
        }
        select(pair.host.shape(), m.rows);
        run_in(pair, dh::pass::target);
        if (pair.has_draft() && !pair.commits_both()) draft_round(pair);
        std::vector<dh::frontier_report> frontiers;
        for (auto& r : live_) {
            r.frontier = pair.host.frontier(r.slot);
            REQUIRE(pair.cuda.frontier(r.slot) == r.frontier);
            const auto settled = pair.host.settled_positions(r.slot);
            REQUIRE(pair.cuda.settled_positions(r.slot) == settled);
            frontiers.push_back({r.slot, settled});
        }
        pair.advance(frontiers);
    }

    /// The draft pass goes as far as the target has come.
    template <class Policies>
    void draft_round(backend_pair<Policies>& pair) {
        auto& m = pair.memory();
        const auto& tables = pair.host.tables();
        for (std::int64_t i = 0; i < m.slots.size(); ++i) {
            const auto slot = m.slots.data()[i];
            const auto behind = tables.live(slot) ? tables.records[slot].frontier - tables.passes[slot].draft_frontier : 0;
            m.widths.data()[i] = behind;
            m.accepted.data()[i] = std::max(0, behind - 1);
        }
        select(pair.host.shape(), m.rows);
        run_in(pair, dh::pass::draft);
    }

    /// A round that writes random rows at its positions.
    template <class Policies>
    void run_in(backend_pair<Policies>& pair, dh::pass of) {
        pair.run_round([&](const dh::round_ref& round) {
            for (int g = 0; g < pair.host.layout().n_groups(); ++g)
                for (std::int32_t q = 0; q < round.n_queries; ++q)
                    if (const auto at = round.group_locations(g)[q]; at >= 0)
                        for (const int layer : pair.host.shape().groups[static_cast<std::size_t>(g)]) pair.write(layer, at, static_cast<std::byte>(upto(255)));
            dh::cuda_check(cudaDeviceSynchronize(), "rows");
        }, of);
    }

    /// One round in three selects rows in sequence, as good as none twice; others at random.
    void select(const dh::model_shape& shape, shared_array<std::int32_t>& rows) {
        const bool sweep = chance(3);
        const auto first = upto(1000), end = longest();
        if (kind_ == program_kind::drifting) {
            window_ += 4;
            for (std::int64_t i = 0; i < rows.size(); ++i) rows.data()[i] = chance(32) ? row(shape) : (window_ + upto(200)) % end;
            return;
        }
        for (std::int64_t i = 0; i < rows.size(); ++i) rows.data()[i] = sweep ? static_cast<std::int32_t>((first + i) % end) : row(shape);
    }
    std::int32_t longest() const {
        std::int32_t out = 1;
        for (const auto& r : live_) out = std::max(out, r.frontier + 1);
        return out;
    }
    std::int32_t row(const dh::model_shape& shape) {
        if (chance(10)) return -1;
        if (chance(40)) return upto(1 << 30) - (1 << 29);
        const auto t = upto(longest() + 2);
        return t / (chance(2) ? shape.sources.front().positions_per_row : 1);
    }

    std::mt19937_64 random_;
    std::int32_t context_pages_, window_ = 0;
    program_kind kind_;
    std::vector<request> live_, parked_;
    std::optional<dh::prefix_id> prefix_;
};

inline dh::model_shape small_shape() {
    dh::model_shape shape{.name = "small", .layers = 5, .k = 24, .page_positions = 16};
    shape.sources = {{.layer = 0, .row_bytes = 64, .index_key_bytes = 32}, {.layer = 1, .row_bytes = 96, .index_key_bytes = 16}, {.layer = 2, .row_bytes = 96}, {.layer = 3, .row_bytes = 96},
                     {.layer = 4, .row_bytes = 64, .positions_per_row = 2}};
    shape.groups = {{0}, {1, 2, 3}, {4}};
    shape.announcements = {{0, 0, {0}}, {1, 1, {1, 2, 3}}, {4, 2, {4}}};
    return shape;
}

/// Rows of two runs, 64-byte values and 8-byte scales, with a block alignment of its own.
inline dh::model_shape split_shape() {
    dh::model_shape shape{.name = "split", .layers = 2, .k = 40, .page_positions = 32};
    for (int layer = 0; layer < 2; ++layer)
        shape.sources.push_back({.layer = layer, .row_bytes = 72, .runs = {{0, 64, 64}, {32 * 64, 8, 8}}, .alignment_bytes = 64});
    shape.groups = {{0, 1}};
    shape.announcements = {{0, 0, {0, 1}}};
    return shape;
}

/// Rows of two runs of 16-byte pieces, 64-byte values and 16-byte scales, of so many layers that what a copy moves at once ends inside a run.
inline dh::model_shape many_lanes_shape() {
    dh::model_shape shape{.name = "many lanes", .layers = 64, .k = 16, .page_positions = 16};
    shape.groups.emplace_back();
    for (int layer = 0; layer < shape.layers; ++layer) {
        shape.sources.push_back({.layer = layer, .row_bytes = 80, .runs = {{0, 64, 64}, {16 * 64, 16, 16}}});
        shape.groups[0].push_back(layer);
    }
    shape.announcements = {{0, 0, shape.groups[0]}};
    return shape;
}

/// Rows of a whole block of positions, wider than what a copy moves at once, readable while unfinished.
inline dh::model_shape wide_shape() {
    dh::model_shape shape{.name = "wide", .layers = 1, .k = 6, .page_positions = 64};
    shape.sources = {{.layer = 0, .row_bytes = 20000 / 16 * 16, .positions_per_row = 16, .partial_readable = true}};
    shape.groups = {{0}};
    shape.announcements = {{0, 0, {0}}};
    return shape;
}

/// Rounds of several blocks a request, and contexts long enough for rows that no two entries share.
inline dh::model_shape long_shape() {
    auto shape = small_shape();
    shape.k = 100;
    shape.page_positions = 64;
    return shape;
}

/// The last group's rows are a drafter's.
inline dh::model_shape drafted_shape() {
    auto shape = small_shape();
    shape.passes = {dh::pass::target, dh::pass::target, dh::pass::draft};
    return shape;
}

template <class Policies>
void differ(const dh::hierarchy_config& config, int programs, int steps, std::int32_t context_pages = 6, program_kind kind = program_kind::plain) {
    if (!has_gpu()) return;
    for (int program = 0; program < programs; ++program)
        for (const bool in_graph : {false, true}) {
            CAPTURE(seed(), program, in_graph);
            backend_pair<Policies> pair(config, in_graph, program % 2 == 1);
            random_program(seed() + static_cast<std::uint64_t>(program), context_pages, kind).run(pair, steps);
        }
}

} // namespace dhisparse_test
