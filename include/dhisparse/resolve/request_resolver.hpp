/// The host resolver's steps for one request.
#pragma once

#include <dhisparse/resolve/resolve_args.hpp>
#include <dhisparse/round/slot_cache.hpp>
#include <dhisparse/staging/promotions.hpp>

#include <algorithm>
#include <span>

namespace dhisparse::detail {

inline void fill_nothing(const locations_ref& out, std::int32_t first, std::int32_t last, std::int32_t k_padded) {
    for (auto q = first; q < last; ++q) {
        std::fill_n(out.at + q * out.stride, k_padded, no_location);
        if (out.valid) out.valid[q] = 0;
    }
}

template <hot_index_policy Index, replacement_policy Replacement, promotion_policy Promotion>
class request_resolver {
public:
    request_resolver(const step_ref& step, int g, std::int32_t slot, resolve_scratch& scratch)
        : step_(step), scratch_(scratch), group_(step.tiers.groups[g]), g_(g), slot_(slot),
          page_map_(step.tables.page_map(slot)),
          tail_page_(static_cast<std::uint32_t>(step.tables.records[slot].tail_page)) {
        cache_ = hot_cache_of<Index, Replacement>(step, g, slot);
        now_ = cache_.begin();
        scratch_.n_missing = 0;
        const auto* hot_pages = step.tables.hot_pages + std::int64_t{slot} * step.tables.hot_pages_per_slot;
        for (std::int32_t i = 0; i < step.tables.hot_pages_per_slot; ++i) // entry e lies at its page's base + e
            scratch_.hot_bases[static_cast<std::size_t>(i)] =
                group_.at(gpu_page{hot_pages[i]}, 0) - i * static_cast<std::int32_t>(group_.rows_per_page.divisor);
    }

    void run(const round_ref& round, std::int32_t first, std::int32_t last, const selection_ref& selection,
             const locations_ref& out, std::int32_t k_padded) {
        for (auto q = first; q < last; ++q) {
            const auto* rows = selection.rows + q * selection.stride;
            const auto n_visible = visible(round.query_positions[q]);
            auto* to = out.at + q * out.stride;
            const auto& d = group_.rows_per_page;
            const auto found = d.is_power_of_two() ? look_up(rows, selection.k, n_visible, to, shift_divisor(d.divisor)) : look_up(rows, selection.k, n_visible, to, d);
            std::fill(to + selection.k, to + k_padded, no_location);
            if (out.valid) out.valid[q] = found;
        }
        if (scratch_.n_missing > 0) {
            const auto given = bring_back();
            if (given < scratch_.n_missing) stage(round, first, last, selection, given);
            for (auto q = first; q < last; ++q) {
                const auto placed = patch(out.at + q * out.stride, selection.k);
                if (out.valid) out.valid[q] += placed;
                host_ += placed;
            }
        }
        count();
    }

private:
    /// Rows below this may be selected by a query at position t; those of pages beyond the map may not.
    std::uint32_t visible(std::int32_t t) const {
        const auto positions = std::min(t + 1, step_.tables.records[slot_].positions);
        return static_cast<std::uint32_t>(group_.visible_rows(positions));
    }

    /// Locations of what is on the GPU, and how many those are. The loop calls nothing and reads locals
    /// alone, since its stores could alias the members, and keeps two counts in one register: this is
    /// what holds it within four times a bare table look-up.
    template <class Divisor>
    [[gnu::noinline]] std::int32_t look_up(const std::int32_t* rows, std::int32_t k, std::uint32_t n_visible, location* to, Divisor per_page) {
        const auto* page_map = page_map_;
        const auto* hot_bases = scratch_.hot_bases.data();
        auto* used = cache_.used;
        const auto index = cache_.index;
        const auto now = now_;
        const auto entries = static_cast<std::uint32_t>(cache_.entries), tail_page = tail_page_;
        const auto step = group_.locations_per_page;
        std::uint64_t mapped = 0, others = 0; // low halves: all; high halves: in the tail, out of range
        bool missing = false;
        for (std::int32_t i = 0; i < k; ++i) {
            const auto row = static_cast<std::uint32_t>(rows[i]);
            if (row >= n_visible) [[unlikely]] {
                to[i] = no_location;
                others += rows[i] == -1 ? one : one_in_both;
                continue;
            }
            const auto page = per_page.quotient(row);
            if (const auto gpu = page_map[page]; gpu >= 0) {
                to[i] = gpu * step + static_cast<std::int32_t>(per_page.remainder(row, page));
                mapped += page >= tail_page ? one_in_both : one;
                continue;
            }
            const std::uint32_t code = index.find(rows[i]);
            if (code >= entries) [[unlikely]] {
                to[i] = not_here;
                missing = true;
                others += one;
                continue;
            }
            used[code] = now;
            to[i] = hot_bases[per_page.quotient(code)] + static_cast<std::int32_t>(code);
        }
        if (missing) note_missing(rows, k, to);
        return count_found(k, mapped, others);
    }

    std::int32_t count_found(std::int32_t k, std::uint64_t mapped, std::uint64_t others) {
        const auto low = [](std::uint64_t both) { return both & 0xFFFFFFFF; };
        const auto found = static_cast<std::uint64_t>(k) - low(others);
        step_.counts->count(violation::row_out_of_range, others >> 32);
        tail_ += mapped >> 32;
        history_ += low(mapped) - (mapped >> 32);
        hot_ += found - low(mapped);
        return static_cast<std::int32_t>(found);
    }

    /// Puts the rows that are not here on the list, each once, first appearance first; the answer is
    /// for now their place on it, as pending(ordinal). Rows without a host copy get none.
    void note_missing(const std::int32_t* rows, std::int32_t k, location* to) {
        const auto* host_map = step_.tables.host_map(slot_);
        for (std::int32_t i = 0; i < k; ++i) {
            if (to[i] != not_here) continue;
            to[i] = no_location;
            if (host_map[group_.rows_per_page.quotient(static_cast<std::uint32_t>(rows[i]))] < 0) {
                step_.counts->count(violation::row_unreachable);
                continue;
            }
            auto code = cache_.index.find(rows[i]);
            if (code == no_code) {
                code = static_cast<hot_code>(cache_.entries + scratch_.n_missing);
                cache_.index.set(rows[i], code);
                scratch_.missing[static_cast<std::size_t>(scratch_.n_missing++)] = rows[i];
            }
            to[i] = pending(code - cache_.entries);
        }
    }

    static constexpr location not_here = INT32_MIN;
    static constexpr std::uint64_t one = 1, one_in_both = std::uint64_t{1} << 32 | 1;
    static location pending(std::int32_t ordinal) { return -2 - ordinal; }

    location hot_location(std::int32_t entry) const {
        return scratch_.hot_bases[group_.rows_per_page.quotient(static_cast<std::uint32_t>(entry))] + entry;
    }

    /// Gives entries to the missing rows, first come first served, and copies them there. Returns how many
    /// had one: the others find every entry in use by this resolve.
    std::int32_t bring_back() {
        const auto wanted = std::min(scratch_.n_missing, cache_.entries);
        const auto given = cache_.choose(wanted, now_, scratch_.candidates, scratch_.victims);
        for (std::int32_t i = 0; i < given; ++i) {
            const auto entry = scratch_.victims[static_cast<std::size_t>(i)];
            cache_.place(entry, missing(i), now_);
            scratch_.places[static_cast<std::size_t>(i)] = fetch(missing(i), hot_location(entry));
        }
        return given;
    }

    /// Stages the missing rows from the given-th on, as many as the arena has room for, and plans their promotion.
    void stage(const round_ref& round, std::int32_t first, std::int32_t last, const selection_ref& selection, std::int32_t given) {
        const auto room = step_.staging.any() ? step_.staging.groups[g_].rows_per_slot : 0;
        const auto n = std::min(scratch_.n_missing - given, room);
        for (std::int32_t i = 0; i < n; ++i)
            scratch_.places[static_cast<std::size_t>(given + i)] = fetch(missing(given + i), step_.staging.groups[g_].at(group_.rows_per_page, slot_, i));
        for (auto i = given + n; i < scratch_.n_missing; ++i) {
            scratch_.places[static_cast<std::size_t>(i)] = no_location;
            step_.counts->count(violation::selection_too_wide);
        }
        if (n > 0) plan_promotions(round, first, last, selection, given, n);
        for (auto i = given; i < scratch_.n_missing; ++i) cache_.index.erase(missing(i));
        step_.counts->staged_rows += static_cast<std::uint64_t>(n);
    }

    void plan_promotions(const round_ref& round, std::int32_t first, std::int32_t last, const selection_ref& selection, std::int32_t given, std::int32_t n) {
        const std::span<row_use> uses(scratch_.uses.data(), static_cast<std::size_t>(cache_.entries + scratch_.n_missing));
        std::fill(uses.begin(), uses.end(), row_use{});
        for (auto q = first; q < last; ++q) note_uses(selection.rows + q * selection.stride, selection.k, visible(round.query_positions[q]), static_cast<std::uint32_t>(q - first));
        const auto size = [](std::int32_t m) { return static_cast<std::size_t>(m); };
        const std::span<promotion> out(step_.staging.of(slot_), size(step_.staging.rows_per_slot));
        auto& staged = step_.staging.slots[slot_];
        staged = {g_, n, choose_promotions<Promotion>(uses.first(size(cache_.entries)), uses.subspan(size(cache_.entries + given), size(n)),
                                                      static_cast<std::uint32_t>(step_.k_max), scratch_.candidates, scratch_.staged_order, out)};
        for (auto& chosen : out.first(size(staged.n_promotions))) chosen.row = missing(given + chosen.staged);
    }

    /// Counts a query's entries by the code that their row has: a hot entry, or B + its place among the missing. Rows in
    /// mapped pages have none by now: a row that was hot before its page was mapped has given way to a missing one.
    void note_uses(const std::int32_t* rows, std::int32_t k, std::uint32_t n_visible, std::uint32_t query) {
        for (std::int32_t i = 0; i < k; ++i) {
            const auto row = static_cast<std::uint32_t>(rows[i]);
            if (row >= n_visible) continue;
            const auto code = cache_.index.find(rows[i]);
            if (code == no_code) continue; // in a mapped page, or unreachable
            auto& use = scratch_.uses[code];
            if (use.n_entries++ == 0) use.first_query = query;
        }
    }

    std::int32_t missing(std::int32_t i) const { return scratch_.missing[static_cast<std::size_t>(i)]; }

    location fetch(std::int32_t row, location to) {
        const auto page = group_.rows_per_page.quotient(static_cast<std::uint32_t>(row));
        const auto in_page = static_cast<std::uint32_t>(row) - page * group_.rows_per_page.divisor;
        if (is_departing(page_map_[page])) {
            move_group_row(step_.tiers, g_, group_.at(departing_page(page_map_[page]), in_page), to);
        } else {
            copy_group_row(step_.tiers, g_, to, host_page{step_.tables.host_map(slot_)[page]}, in_page, direction::to_gpu);
            ++host_rows_;
        }
        return to;
    }

    /// Puts the missing rows' locations in; returns how many entries got one.
    std::int32_t patch(location* to, std::int32_t k) const {
        std::int32_t placed = 0;
        for (std::int32_t i = 0; i < k; ++i) {
            if (to[i] >= no_location) continue;
            to[i] = scratch_.places[static_cast<std::size_t>(-2 - to[i])];
            placed += to[i] >= 0;
        }
        return placed;
    }

    void count() {
        auto& counts = *step_.counts;
        counts.tail += tail_;
        counts.history += history_;
        counts.hot += hot_;
        counts.host += static_cast<std::uint64_t>(host_);
        counts.selected += tail_ + history_ + hot_ + static_cast<std::uint64_t>(host_);
        counts.host_rows += static_cast<std::uint64_t>(host_rows_);
        counts.host_bytes += static_cast<std::uint64_t>(host_rows_ * group_.n_lanes * step_.tiers.lanes[group_.first_lane].row_bytes);
    }

    const step_ref& step_;
    resolve_scratch& scratch_;
    const group_placement group_;
    const int g_;
    const std::int32_t slot_;
    const std::int32_t* page_map_;
    const std::uint32_t tail_page_;
    hot_cache_ref<Index, Replacement> cache_;
    stamp now_ = 0;
    std::uint64_t tail_ = 0, history_ = 0, hot_ = 0;
    std::int32_t host_ = 0, host_rows_ = 0;
};

} // namespace dhisparse::detail
