/// The pages of one tier: which are free, what the others are for, and how many hold each.
#pragma once

#include <dhisparse/core/error.hpp>
#include <dhisparse/core/types.hpp>

#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace dhisparse {

/// What a page is for. Hot, tail, index and leased pages are required; history is optional on the GPU.
enum class page_class : std::uint8_t { free, hot, tail, index, history, leased };
inline constexpr int n_page_classes = 6;

/// Book-keeping alone: no memory, no lock, no clock. Page: gpu_page or host_page. A page that is taken
/// has one holder; map entries and copies in flight hold it too, and the last to release it frees it.
template <class Page>
class page_pool {
public:
    explicit page_pool(std::int32_t n_pages) : holders_(size(n_pages), 0), classes_(size(n_pages), page_class::free), free_(size(n_pages)) {
        require_in(n_pages, 0, INT32_MAX, "pages of a pool");
        count(page_class::free) = n_pages;
        std::iota(free_.rbegin(), free_.rend(), 0); // page 0 is given first
    }

    std::int32_t capacity() const { return static_cast<std::int32_t>(holders_.size()); }
    std::int32_t n_free() const { return static_cast<std::int32_t>(free_.size()); }

    /// A free page with one holder; none where all are held. The one given back last comes first.
    std::optional<Page> take(page_class as = page_class::history) {
        if (free_.empty()) return std::nullopt;
        const auto page = free_.back();
        free_.pop_back();
        holders_[size(page)] = 1;
        set_class(page, as);
        return Page{page};
    }

    /// One more holder. Throws invalid_argument where the page is free or not of this pool.
    void hold(Page page) { ++held(page, "hold"); }

    /// One holder fewer; true where that freed the page. Throws invalid_argument where it is free already.
    bool release(Page page) {
        if (--held(page, "release") > 0) return false;
        free_.push_back(number(page));
        set_class(number(page), page_class::free);
        return true;
    }

    /// A held page is now for something else. Throws invalid_argument where it is free or not of this pool.
    void reclassify(Page page, page_class as) {
        held(page, "reclassify");
        set_class(number(page), as);
    }
    page_class class_of(Page page) const { return in_range(page) ? classes_[size(number(page))] : page_class::free; }
    std::int32_t n_of(page_class of) const { return counts_[static_cast<std::size_t>(of)]; }

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
    std::int32_t& count(page_class of) { return counts_[static_cast<std::size_t>(of)]; }
    void set_class(std::int32_t page, page_class as) {
        --count(std::exchange(classes_[size(page)], as));
        ++count(as);
    }
    std::vector<std::int32_t> holders_; // [n_pages]
    std::vector<page_class> classes_;   // [n_pages]
    std::array<std::int32_t, n_page_classes> counts_{};
    std::vector<std::int32_t> free_;    // a stack
};

} // namespace dhisparse
