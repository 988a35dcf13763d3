/// The pages of one tier: which are free, and how many hold each of the others.
#pragma once

#include <dhisparse/core/error.hpp>
#include <dhisparse/core/types.hpp>

#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

namespace dhisparse {

/// Book-keeping alone: no memory, no lock, no clock. Page: gpu_page or host_page. A page that is taken
/// has one holder; map entries and copies in flight hold it too, and the last to release it frees it.
template <class Page>
class page_pool {
public:
    explicit page_pool(std::int32_t n_pages) : holders_(size(n_pages), 0), free_(size(n_pages)) {
        require_in(n_pages, 0, INT32_MAX, "pages of a pool");
        std::iota(free_.rbegin(), free_.rend(), 0); // page 0 is given first
    }

    std::int32_t capacity() const { return static_cast<std::int32_t>(holders_.size()); }
    std::int32_t n_free() const { return static_cast<std::int32_t>(free_.size()); }

    /// A free page with one holder; none where all are held. The one given back last comes first.
    std::optional<Page> take() {
        if (free_.empty()) return std::nullopt;
        const auto page = free_.back();
        free_.pop_back();
        holders_[size(page)] = 1;
        return Page{page};
    }

    /// One more holder. Throws invalid_argument where the page is free or not of this pool.
    void hold(Page page) { ++held(page, "hold"); }

    /// One holder fewer; true where that freed the page. Throws invalid_argument where it is free already.
    bool release(Page page) {
        if (--held(page, "release") > 0) return false;
        free_.push_back(number(page));
        return true;
    }

    std::int32_t holders(Page page) const { return in_range(page) ? holders_[size(number(page))] : 0; }

private:
    static std::size_t size(std::int32_t n) { return static_cast<std::size_t>(n < 0 ? 0 : n); }
    bool in_range(Page page) const { return number(page) >= 0 && number(page) < capacity(); }
    std::int32_t& held(Page page, const char* what) {
        require(in_range(page), what, ": page ", number(page), " is not in [0, ", capacity(), ")");
        auto& count = holders_[size(number(page))];
        require(count > 0, what, ": page ", number(page), " is free");
        return count;
    }
    std::vector<std::int32_t> holders_; // [n_pages]
    std::vector<std::int32_t> free_;    // a stack
};

} // namespace dhisparse
