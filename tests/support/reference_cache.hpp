/// One slot's and group's hot cache written as a list: the entry that goes first is at the front; and the rows that
/// it had no entry for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace dhisparse_test {

class reference_cache {
public:
    /// A row that a query of a round selected.
    struct use {
        int row = -1, query = 0;
    };
    reference_cache(int entries, bool fifo, std::string promotion = "keep_staged_none") : fifo_(fifo), promotion_(std::move(promotion)), rows_(entries, -1), used_(entries, 0), entered_(entries, 0) {
        for (int e = 0; e < entries; ++e) fifo ? order_.push_back(e) : order_.push_front(e); // of equals: fifo lowest, lru highest
    }

    const std::vector<int>& rows() const { return rows_; }
    const std::vector<std::uint32_t>& used() const { return used_; }
    const std::vector<std::uint32_t>& entered() const { return entered_; }
    std::uint32_t clock() const { return clock_; }
    int entry_of(int row) const {
        const auto at = entry_of_.find(row);
        return at == entry_of_.end() ? -1 : at->second;
    }

    /// Rows of the last resolve that found every entry in use, in order.
    const std::vector<int>& staged() const { return staged_; }
    int place_of(int row) const { // among the staged
        const auto at = std::find(staged_.begin(), staged_.end(), row);
        return at == staged_.end() ? -1 : static_cast<int>(at - staged_.begin());
    }

    /// One resolve that selects these rows, all that were staged released; returns those that it brings in, in order.
    std::vector<int> resolve(const std::vector<use>& selected) {
        ++clock_;
        uses_ = selected;
        std::set<int> kept;
        std::vector<int> missing;
        for (const auto& [row, query] : selected) {
            const int e = entry_of(row);
            if (e >= 0) kept.insert(e);
            else if (std::find(missing.begin(), missing.end(), row) == missing.end()) missing.push_back(row);
        }
        const auto victims = choose(missing.size(), kept);
        std::size_t i = 0;
        for (const int e : victims) place(e, missing[i++]);
        staged_.assign(missing.begin() + static_cast<std::ptrdiff_t>(i), missing.end());
        for (const int e : kept) used_[e] = clock_;
        if (!fifo_) kept.insert(victims.begin(), victims.end());
        fifo_ ? to_the_back(victims.begin(), victims.end()) : to_the_back(kept.rbegin(), kept.rend());
        return missing;
    }

    std::vector<int> resolve(const std::vector<int>& rows) {
        std::vector<use> selected;
        for (const int row : rows) selected.push_back({row, 0});
        return resolve(selected);
    }

    /// Ends the last resolve: the staged rows that are worth more than hot ones take their entries. Returns how many.
    int release() {
        if (staged_.empty()) return 0;
        std::map<int, int> worth; // of the rows that the resolve selected; a query's come before a later one's
        for (const auto& [row, query] : uses_) {
            if (promotion_ == "most_selected") ++worth[row];
            if (promotion_ == "anchor_first") worth.try_emplace(row, -query);
        }
        std::set<std::pair<int, int>> best, worst; // in front: worth most, missed first; worth least, in the highest entry
        for (int i = 0; i < static_cast<int>(staged_.size()); ++i) best.insert({-worth[staged_[i]], i});
        for (int e = 0; e < static_cast<int>(rows_.size()); ++e) worst.insert({worth[rows_[e]], -e});
        std::set<int> from, to; // places among the staged, entries
        while (!best.empty() && !worst.empty() && -best.begin()->first > worst.begin()->first) {
            from.insert(best.extract(best.begin()).value().second);
            to.insert(-worst.extract(worst.begin()).value().second);
        }
        auto entry = to.begin();
        for (const int i : from) place(*entry++, staged_[i]);
        if (fifo_)
            for (int e = 0; e < static_cast<int>(rows_.size()) && !to.empty(); ++e)
                if (entered_[e] == clock_) to_the_back(&e, &e + 1);
        staged_.clear();
        return static_cast<int>(to.size());
    }
    /// A new round begins without the last one's release.
    void drop() { staged_.clear(); }

private:
    std::set<int> choose(std::size_t n, const std::set<int>& kept) const {
        std::set<int> out;
        for (const int e : order_)
            if (out.size() < n && !kept.contains(e)) out.insert(e);
        return out;
    }
    void place(int e, int row) {
        entry_of_.erase(rows_[e]);
        rows_[e] = row;
        entry_of_[row] = e;
        used_[e] = entered_[e] = clock_;
    }
    template <class Iterator>
    void to_the_back(Iterator first, Iterator last) {
        for (; first != last; ++first) {
            order_.remove(*first);
            order_.push_back(*first);
        }
    }

    bool fifo_;
    std::string promotion_;
    std::vector<use> uses_;   // of the last resolve
    std::vector<int> staged_;
    std::uint32_t clock_ = 0;
    std::vector<int> rows_; // [entries] -1: empty
    std::vector<std::uint32_t> used_, entered_;
    std::map<int, int> entry_of_;
    std::list<int> order_;
};

} // namespace dhisparse_test
