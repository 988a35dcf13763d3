/// The layout policy: how a page's blocks are spread over the slab.
#pragma once

#include <dhisparse/core/types.hpp>

#include <concepts>
#include <cstdint>
#include <span>

namespace dhisparse {

/// What a layout policy is told of one source.
struct block_request {
    std::int64_t bytes = 0;     // one block's payload
    std::int64_t stride = 0;    // bytes rounded up to `unit`
    std::int64_t unit = 0;      // block starts and page steps are multiples of it
    std::int64_t row_bytes = 0; // of a location step
    std::int64_t rows = 0;      // a block's
    bool by_block = false;      // locations count whole blocks (runs, or an alignment of its own)
    std::int64_t lane = 0, lanes = 1; // its place in its group, and the group's lanes; they have equal blocks
    std::int64_t staging_chunks = 0;  // blocks of every lane that the group's staged rows take; 0: none
};

/// What it answers for one source.
struct block_place {
    std::int64_t base_bytes = 0;         // of page 0's block, from the slab's start
    std::int64_t locations_per_page = 0; // from a page's first location to the next page's
    std::int64_t block_step_bytes = 0;   // by_block: from one block id's start to the next's, a divisor of stride
    std::int64_t first_staged = 0;       // location of the group's first staged row, the same for all of its lanes
    std::int64_t locations_per_chunk = 0; // from a chunk of staged rows to the next
};

/// place(requests, pages, page_bytes, places): page_bytes is a multiple of page_unit(requests) and
/// >= page_minimum(requests). index_block(requests, pages, page_bytes, pitch, page, i): the number
/// b of page's i-th index block, at b · pitch from the slab's start. pitch_unit: what an index pitch divides.
/// slab_bytes(requests, pages, page_bytes): pages and staged rows together.
template <class Layout>
concept layout_policy = requires(std::span<const block_request> requests, std::span<block_place> places,
                                 std::int64_t n, std::int32_t page, std::int32_t i) {
    { Layout::name } -> std::convertible_to<const char*>;
    { Layout::page_minimum(requests) } -> std::same_as<std::int64_t>;
    { Layout::page_unit(requests) } -> std::same_as<std::int64_t>;
    { Layout::pitch_unit(requests, n) } -> std::same_as<std::int64_t>;
    { Layout::place(requests, n, n, places) };
    { Layout::slab_bytes(requests, n, n) } -> std::same_as<std::int64_t>;
    { Layout::index_block(requests, n, n, n, page, i) } -> std::same_as<std::int64_t>;
};

} // namespace dhisparse
