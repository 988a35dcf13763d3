/// Layout [page][source][row]: one pool for everything. Location of row r of page P: P · (page_bytes / row_bytes) + r.
/// Locations that count whole blocks count their strides, as long as those have a common multiple that costs
/// at most 2 % of a page; else the blocks' units (128 bytes or the alignment), so that block ids lie closer than blocks.
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
        const auto least = page_minimum(requests);
        if (unlike_strides(requests, least)) return unit_of(requests, [](const block_request& r) { return r.unit; });
        return unit_of(requests, by_stride);
    }
    static std::int64_t pitch_unit(std::span<const block_request>, std::int64_t page_bytes) { return page_bytes; }

    static void place(std::span<const block_request> requests, std::int64_t /*pages*/, std::int64_t page_bytes,
                      std::span<block_place> places) {
        const bool by_unit = unlike_strides(requests, page_minimum(requests));
        std::int64_t end = 0;
        for (std::size_t i = 0; i < requests.size(); ++i) {
            const auto& r = requests[i];
            const auto base = round_up(end, r.unit), step = by_unit ? r.unit : r.stride;
            places[i] = {base, r.by_block ? page_bytes / step * r.rows : page_bytes / r.row_bytes, step};
            end = base + r.stride;
        }
    }
    static std::int64_t index_block(std::span<const block_request>, std::int64_t /*pages*/, std::int64_t page_bytes,
                                    std::int64_t pitch, std::int32_t page, std::int32_t i) {
        return page * (page_bytes / pitch) + i;
    }

private:
    static std::int64_t by_stride(const block_request& r) { return r.by_block ? r.stride : r.unit; }
    template <class Of>
    static std::int64_t unit_of(std::span<const block_request> requests, Of of) {
        std::int64_t unit = 128;
        for (const auto& r : requests) unit = checked_lcm(unit, of(r), "common multiple of the row widths");
        return unit;
    }
    /// Whether whole blocks have no common multiple that costs little.
    static bool unlike_strides(std::span<const block_request> requests, std::int64_t least) {
        const auto unit = unit_of(requests, by_stride);
        return round_up(least, unit) - least > least / 50;
    }
};
static_assert(layout_policy<page_major>);

} // namespace dhisparse
