/// One slot's and group's hot cache written as a list: the entry that goes first is at the front.
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <map>
#include <set>
#include <vector>

namespace dhisparse_test {

class reference_cache {
public:
    reference_cache(int entries, bool fifo) : fifo_(fifo), rows_(entries, -1), used_(entries, 0), entered_(entries, 0) {
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

    /// One resolve that selects these rows; returns those that it brings in, in order.
    std::vector<int> resolve(const std::vector<int>& selected) {
        ++clock_;
        std::set<int> kept;
        std::vector<int> missing;
        for (const int row : selected) {
            const int e = entry_of(row);
            if (e >= 0) kept.insert(e);
            else if (std::find(missing.begin(), missing.end(), row) == missing.end()) missing.push_back(row);
        }
        const auto victims = choose(missing.size(), kept);
        std::size_t i = 0;
        for (const int e : victims) place(e, missing[i++]);
        for (const int e : kept) used_[e] = clock_;
        if (!fifo_) kept.insert(victims.begin(), victims.end());
        fifo_ ? to_the_back(victims.begin(), victims.end()) : to_the_back(kept.rbegin(), kept.rend());
        return missing;
    }

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
    std::uint32_t clock_ = 0;
    std::vector<int> rows_; // [entries] -1: empty
    std::vector<std::uint32_t> used_, entered_;
    std::map<int, int> entry_of_;
    std::list<int> order_;
};

} // namespace dhisparse_test
