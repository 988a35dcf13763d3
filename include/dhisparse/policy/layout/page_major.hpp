/// Layout [page][source][row]: one pool for everything. Location of row r of page P: P · (page_bytes / row_bytes) + r.
#pragma once

#include <dhisparse/core/arithmetic.hpp>
#include <dhisparse/policy/layout.hpp>

#include <algorithm>

namespace dhisparse {

struct page_major {
    static constexpr const char* name = "page_major";

    static std::int64_t page_minimum(std::span<const block_request> requests) {
        std::int64_t end = 0;
        for (const auto& r : requests) end = checked_add(round_up(end, r.unit), r.stride, "page bytes");
        return end;
    }
    static std::int64_t page_unit(std::span<const block_request> requests) {
        std::int64_t unit = 128;
        for (const auto& r : requests)
            unit = checked_lcm(unit, r.by_block ? r.stride : r.unit, "common multiple of the row widths");
        return unit;
    }
    static std::int64_t pitch_unit(std::span<const block_request>, std::int64_t page_bytes) { return page_bytes; }

    static void place(std::span<const block_request> requests, std::int64_t /*pages*/, std::int64_t page_bytes,
                      std::span<block_place> places) {
        std::int64_t end = 0;
        for (std::size_t i = 0; i < requests.size(); ++i) {
            const auto& r = requests[i];
            const auto base = round_up(end, r.unit);
            places[i] = {base, r.by_block ? page_bytes / r.stride * r.rows : page_bytes / r.row_bytes};
            end = base + r.stride;
        }
    }
    static std::int64_t index_block(std::span<const block_request>, std::int64_t /*pages*/, std::int64_t page_bytes,
                                    std::int64_t pitch, std::int32_t page, std::int32_t i) {
        return page * (page_bytes / pitch) + i;
    }
};
static_assert(layout_policy<page_major>);

} // namespace dhisparse
