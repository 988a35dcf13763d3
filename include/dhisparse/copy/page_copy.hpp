/// A page's copy as an order: what a copier is given.
#pragma once

#include <dhisparse/core/types.hpp>
#include <dhisparse/copy/tiers.hpp>

namespace dhisparse {

/// One page to copy between the tiers. It may start once the plan's edits are in the stream.
struct page_copy {
    ticket id = 0;
    direction way = direction::to_host;
    gpu_page gpu = gpu_page::none;
    host_page host = host_page::none;
    std::int32_t index_part = -1; // -1: the page's rows; else that part of an index page: copy_index_part
    friend bool operator==(const page_copy&, const page_copy&) = default;
};

} // namespace dhisparse
