/// The hot cache's state for one slot and group: which rows are in which entries, and who goes next.
/// It holds no row bytes: entry e's bytes lie in the slot's hot pages.
#pragma once

#include <dhisparse/core/config.hpp>
#include <dhisparse/core/error.hpp>
#include <dhisparse/policy/hot_index.hpp>
#include <dhisparse/policy/replacement.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dhisparse {

/// The view that resolvers take. One resolve at a time may use it.
template <hot_index_policy Index, replacement_policy Replacement>
struct hot_cache_ref {
    typename Index::ref index;
    stamp* used = nullptr;          // [entries] the resolve that last selected the entry's row; 0: never
    stamp* entered = nullptr;       // [entries] the resolve that brought it in; 0: the entry is empty
    std::int32_t* rows = nullptr;   // [entries] the entry's row; -1: empty
    stamp* clock = nullptr;         // [1] resolves so far
    std::int32_t entries = 0;       // B

    /// Starts a resolve; returns its stamp.
    DHISPARSE_HD stamp begin() const { return ++*clock; }

    /// Picks the n entries that go first of those that the resolve `now` has not selected, in entry order, into
    /// victims. candidates: scratch of at least `entries` elements. Returns how many there were, <= n.
    std::int32_t choose(std::int32_t n, stamp now, std::span<std::uint64_t> candidates,
                        std::span<std::int32_t> victims) const {
        std::int32_t found = 0;
        for (std::int32_t e = 0; e < entries; ++e)
            if (used[e] != now)
                candidates[static_cast<std::size_t>(found++)] =
                    replacement_order<Replacement>(used[e], entered[e], static_cast<std::uint32_t>(e));
        n = std::min(n, found);
        const auto begin = candidates.begin();
        std::nth_element(begin, begin + n, begin + found);
        for (std::int32_t i = 0; i < n; ++i) {
            const auto low = static_cast<std::uint32_t>(candidates[static_cast<std::size_t>(i)]);
            victims[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(Replacement::highest_entry_first ? ~low : low);
        }
        std::sort(victims.begin(), victims.begin() + n);
        return n;
    }

    /// Gives the entry to the row; the row it held is forgotten.
    DHISPARSE_HD void place(std::int32_t entry, std::int32_t row, stamp now) const {
        if (rows[entry] >= 0) index.erase(rows[entry]);
        rows[entry] = row;
        used[entry] = entered[entry] = now;
        index.set(row, static_cast<hot_code>(entry));
    }
};

/// Owns one slot's and group's state, for use without the rest of the library.
template <hot_index_policy Index, replacement_policy Replacement>
class hot_cache {
public:
    /// rows: the history's length, [1, 2^31). entries: B; codes: B + the most rows that one access selects, <= 65,534.
    /// Throws invalid_argument where one of them is out of range.
    hot_cache(std::int64_t rows, std::int32_t entries, std::int32_t codes)
        : codes_(checked_codes(rows, entries, codes)), index_(static_cast<std::size_t>(rows * Index::bytes_per_row + Index::fixed_bytes(codes)), std::byte{0xFF}),
          used_(size(entries)), entered_(size(entries)), row_of_(size(entries), -1), candidates_(size(entries)),
          missing_(size(codes)), victims_(size(entries)) {}
    hot_cache(hot_cache&&) = default;
    hot_cache& operator=(hot_cache&&) = default;

    hot_cache_ref<Index, Replacement> ref() {
        return {Index::at(index_.data(), codes_), used_.data(), entered_.data(), row_of_.data(), &clock_,
                static_cast<std::int32_t>(used_.size())};
    }

    /// One resolve without bytes. selection: rows in [0, rows), any order; entries: as long, the entry
    /// of each, -1 where more distinct rows are missing than entries are free to give way.
    /// missed(row): called once a row that was brought in, in first-appearance order.
    template <class Missed>
    void access(std::span<const std::int32_t> selection, std::span<std::int32_t> entries, Missed missed) {
        const auto cache = ref();
        const auto now = cache.begin();
        std::int32_t n = 0;
        for (const auto row : selection) {
            const auto code = cache.index.find(row);
            if (code < cache.entries) cache.used[code] = now;
            else if (code == no_code) {
                cache.index.set(row, static_cast<hot_code>(cache.entries + n));
                missing_[static_cast<std::size_t>(n++)] = row;
            }
        }
        const auto given = cache.choose(std::min(n, cache.entries), now, candidates_, victims_);
        for (std::int32_t i = 0; i < n; ++i) {
            const auto row = missing_[static_cast<std::size_t>(i)];
            if (i >= given) cache.index.erase(row);
            else { cache.place(victims_[static_cast<std::size_t>(i)], row, now); missed(row); }
        }
        for (std::size_t i = 0; i < selection.size(); ++i) {
            const auto code = cache.index.find(selection[i]);
            entries[i] = code == no_code ? -1 : code;
        }
    }

private:
    /// codes, before anything is allocated for sizes that are wrong.
    static std::int32_t checked_codes(std::int64_t rows, std::int32_t entries, std::int32_t codes) {
        require_in<std::int64_t>(rows, 1, INT32_MAX, "rows");
        require_in(entries, 0, 65533, "entries");
        require_in(codes, entries + 1, 65534, "codes");
        return codes;
    }
    static std::size_t size(std::int32_t n) { return static_cast<std::size_t>(n); }
    std::int64_t codes_;
    stamp clock_ = 0;
    std::vector<std::byte> index_;
    std::vector<stamp> used_, entered_;
    std::vector<std::int32_t> row_of_;
    std::vector<std::uint64_t> candidates_;
    std::vector<std::int32_t> missing_, victims_;
};

} // namespace dhisparse
