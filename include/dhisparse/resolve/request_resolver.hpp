/// The host resolver's steps for one request.
#pragma once

#include <dhisparse/cache/hot_cache.hpp>
#include <dhisparse/resolve/resolve_args.hpp>
#include <dhisparse/round/round.hpp>

#include <algorithm>

namespace dhisparse::detail {

inline std::int32_t checked_width_of(const selection_ref& selection, const locations_ref& out) {
    const auto k_padded = out.k_padded > 0 ? out.k_padded : static_cast<std::int32_t>(round_up(selection.k, 64));
    require(selection.stride >= selection.k, "selection stride is ", selection.stride, ", permitted: at least k = ", selection.k);
    require(k_padded >= selection.k, "k_padded is ", k_padded, ", permitted: at least k = ", selection.k);
    require(out.stride >= k_padded, "location stride is ", out.stride, ", permitted: at least k_padded = ", k_padded);
    return k_padded;
}

inline void fill_nothing(const locations_ref& out, std::int32_t first, std::int32_t last, std::int32_t k_padded) {
    for (auto q = first; q < last; ++q) {
        std::fill_n(out.at + q * out.stride, k_padded, no_location);
        if (out.valid) out.valid[q] = 0;
    }
}

template <hot_index_policy Index, replacement_policy Replacement>
class request_resolver {
public:
    request_resolver(const step_ref& step, int g, std::int32_t slot, resolve_scratch& scratch)
        : step_(step), scratch_(scratch), group_(step.tiers.groups[g]), g_(g), slot_(slot),
          page_map_(step.tables.page_map(slot)), hot_pages_(step.tables.hot_pages + std::int64_t{slot} * step.tables.hot_pages_per_slot),
          tail_page_(static_cast<std::uint32_t>(step.tables.records[slot].tail_page)) {
        const auto& tables = step.groups[g];
        cache_ = {Index::at(step.tables.hot_index(slot, tables), tables.codes), step.tables.used(slot, tables),
                  step.tables.entered(slot, tables), step.tables.rows(slot, tables),
                  step.tables.clocks + std::int64_t{slot} * step.tables.n_groups + g, tables.entries};
        now_ = cache_.begin();
        scratch_.n_missing = 0;
    }

    void run(const round_ref& round, std::int32_t first, std::int32_t last, const selection_ref& selection,
             const locations_ref& out, std::int32_t k_padded) {
        for (auto q = first; q < last; ++q) {
            auto* to = out.at + q * out.stride;
            look_up(selection.rows + q * selection.stride, selection.k, visible(round.query_positions[q]), to);
            std::fill(to + selection.k, to + k_padded, no_location);
        }
        if (scratch_.n_missing > 0) {
            const auto given = bring_back();
            for (auto q = first; q < last; ++q) patch(out.at + q * out.stride, selection.k, given);
        }
        if (out.valid)
            for (auto q = first; q < last; ++q) out.valid[q] = count_valid(out.at + q * out.stride, selection.k);
        count();
    }

private:
    /// Rows below this may be selected by a query at position t; those of pages beyond the map may not.
    std::uint32_t visible(std::int32_t t) const {
        const auto positions = std::min(t + 1, step_.tables.records[slot_].positions);
        return static_cast<std::uint32_t>(group_.visible_rows(positions));
    }

    /// Locations of what is on the GPU; a missing row's answer is its ordinal, as pending(ordinal).
    void look_up(const std::int32_t* rows, std::int32_t k, std::uint32_t n_visible, location* to) {
        const auto* page_map = page_map_;
        const auto group = group_;
        const auto tail_page = tail_page_;
        std::uint32_t tail = 0, history = 0;
        for (std::int32_t i = 0; i < k; ++i) {
            const auto row = static_cast<std::uint32_t>(rows[i]);
            if (row >= n_visible) {
                to[i] = no_location;
                step_.counts->violations[static_cast<int>(violation::row_out_of_range)] += rows[i] != -1;
                continue;
            }
            const auto page = group.rows_per_page.quotient(row);
            const auto gpu = page_map[page];
            if (gpu < 0) {
                to[i] = hot_or_pending(rows[i]);
                continue;
            }
            to[i] = group.at(gpu_page{gpu}, row - page * group.rows_per_page.divisor);
            ++(page >= tail_page ? tail : history);
        }
        tail_ += tail;
        history_ += history;
    }

    location hot_or_pending(std::int32_t row) {
        const auto code = cache_.index.find(row);
        if (code < cache_.entries) {
            cache_.used[code] = now_;
            ++hot_;
            return hot_location(code);
        }
        if (code != no_code) return pending(code - cache_.entries);
        cache_.index.set(row, static_cast<hot_code>(cache_.entries + scratch_.n_missing));
        scratch_.missing[static_cast<std::size_t>(scratch_.n_missing)] = row;
        return pending(scratch_.n_missing++);
    }

    static location pending(std::int32_t ordinal) { return -2 - ordinal; }

    location hot_location(std::uint32_t entry) const {
        const auto page = group_.rows_per_page.quotient(entry);
        return group_.at(gpu_page{hot_pages_[page]}, entry - page * group_.rows_per_page.divisor);
    }

    /// Gives entries to the missing rows and copies them there; in `missing` each row is replaced by
    /// its location. Rows without a host copy, and those beyond the entries that may give way, get none.
    std::int32_t bring_back() {
        const auto reachable = drop_unreachable();
        const auto given = cache_.choose(std::min(reachable, cache_.entries), now_, scratch_.candidates, scratch_.victims);
        std::int32_t taken = 0;
        for (std::int32_t i = 0; i < scratch_.n_missing; ++i) {
            auto& missing = scratch_.missing[static_cast<std::size_t>(i)];
            if (missing < 0) continue;
            if (taken == given) {
                cache_.index.erase(missing);
                missing = no_location;
                step_.counts->count(violation::selection_too_wide);
                continue;
            }
            const auto entry = scratch_.victims[static_cast<std::size_t>(taken++)];
            cache_.place(entry, missing, now_);
            missing = fetch(missing, hot_location(static_cast<std::uint32_t>(entry)));
        }
        return given;
    }

    /// Marks missing rows without a host copy as -1; returns how many rows are left.
    std::int32_t drop_unreachable() {
        std::int32_t left = 0;
        for (std::int32_t i = 0; i < scratch_.n_missing; ++i) {
            auto& missing = scratch_.missing[static_cast<std::size_t>(i)];
            if (step_.tables.host_map(slot_)[group_.rows_per_page.quotient(static_cast<std::uint32_t>(missing))] >= 0) ++left;
            else {
                cache_.index.erase(missing);
                missing = no_location;
                step_.counts->count(violation::row_unreachable);
            }
        }
        return left;
    }

    location fetch(std::int32_t row, location to) {
        const auto page = group_.rows_per_page.quotient(static_cast<std::uint32_t>(row));
        const auto in_page = static_cast<std::uint32_t>(row) - page * group_.rows_per_page.divisor;
        copy_group_row(step_.tiers, g_, to, host_page{step_.tables.host_map(slot_)[page]}, in_page, direction::to_gpu);
        return to;
    }

    void patch(location* to, std::int32_t k, std::int32_t given) {
        for (std::int32_t i = 0; i < k; ++i) {
            if (to[i] >= no_location) continue;
            to[i] = scratch_.missing[static_cast<std::size_t>(-2 - to[i])];
            host_ += to[i] >= 0;
        }
        host_rows_ = static_cast<std::uint32_t>(given);
    }

    static std::int32_t count_valid(const location* to, std::int32_t k) {
        return static_cast<std::int32_t>(std::count_if(to, to + k, [](location at) { return at >= 0; }));
    }

    void count() {
        auto& counts = *step_.counts;
        counts.tail += tail_;
        counts.history += history_;
        counts.hot += hot_;
        counts.host += host_;
        counts.selected += std::uint64_t{tail_} + history_ + hot_ + host_;
        counts.host_rows += host_rows_;
        counts.host_bytes += std::uint64_t{host_rows_} * static_cast<std::uint64_t>(group_.n_lanes * step_.tiers.lanes[group_.first_lane].row_bytes);
    }

    const step_ref& step_;
    resolve_scratch& scratch_;
    const group_placement group_;
    const int g_;
    const std::int32_t slot_;
    const std::int32_t* page_map_;
    const std::int32_t* hot_pages_;
    const std::uint32_t tail_page_;
    hot_cache_ref<Index, Replacement> cache_;
    stamp now_ = 0;
    std::uint32_t tail_ = 0, history_ = 0, hot_ = 0, host_ = 0, host_rows_ = 0;
};

} // namespace dhisparse::detail
