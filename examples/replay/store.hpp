// What every page of both tiers holds, and, with --real-bytes, the rows themselves: the proof that nothing is lost.
#pragma once

#include <dhisparse/copy/page_copy.hpp>
#include <dhisparse/layout/page_layout.hpp>

#include <cstdint>
#include <vector>

namespace replay {

/// Names a page's contents for as long as the program runs, whoever shares them. 0: nobody's.
using content = std::uint64_t;

class store {
public:
    /// real_bytes: both tiers are memory, rows are written, copied and compared; else pages only have labels.
    store(const dhisparse::page_layout& layout, std::int32_t host_pages, bool real_bytes);
    store(const store&) = delete;
    store& operator=(const store&) = delete;

    content fresh() { return ++last_; }
    /// The model writes positions [first, last) of a page.
    void write(dhisparse::gpu_page page, content what, int first, int last);
    /// The commit copies the rows that positions [first, last) complete.
    void back_up(dhisparse::gpu_page from, dhisparse::host_page to, int first, int last);

    struct label {
        content what = 0;
        int positions = 0; // [0, positions) are written
        friend bool operator==(const label&, const label&) = default;
    };
    /// What the copy is to bring, as of now.
    label of(const dhisparse::page_copy& copy) const;
    /// The copy is complete. A source that has changed since it started leaves nobody's contents.
    void copied(const dhisparse::page_copy& copy, const label& at_start);

    /// Of positions [0, needed) of these contents, how many can't be read: on the GPU where the page is mapped, else in the host tier.
    int lost(content what, int needed, dhisparse::gpu_page gpu, dhisparse::host_page host) const;

private:
    label& at(dhisparse::gpu_page page) { return gpu_[static_cast<std::size_t>(number(page))]; }
    label& at(dhisparse::host_page page) { return host_[static_cast<std::size_t>(number(page))]; }
    bool has_bytes() const { return !slab_.empty(); }
    void write_rows(dhisparse::gpu_page page, content what, int first, int last);
    bool row_is(content what, const dhisparse::group_placement& group, int row, dhisparse::gpu_page gpu, dhisparse::host_page host) const;

    dhisparse::page_layout layout_;
    dhisparse::tiers_ref tiers_;
    std::vector<label> gpu_, host_;
    std::vector<std::byte> slab_, host_memory_; // empty without real bytes
    std::vector<std::int32_t> index_first_, index_step_;
    content last_ = 0;
};

} // namespace replay
