/// Layout [page][source][row]: one pool for everything. Location of row r of page P: P · (page_bytes / row_bytes) + r.
/// Locations that count whole blocks count their strides, as long as those have a common multiple that costs
/// at most 2 % of a page; else the blocks' units (128 bytes or the alignment), so that block ids lie closer than blocks.
/// Staged rows lie behind the last page in one arena for all groups, [chunk][lane][row]: each group starts at the
/// first of its locations that is not in a page.
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

    static void place(std::span<const block_request> requests, std::int64_t pages, std::int64_t page_bytes,
                      std::span<block_place> places) {
        const bool by_unit = unlike_strides(requests, page_minimum(requests));
        std::int64_t end = 0;
        for (std::size_t i = 0; i < requests.size(); ++i) {
            const auto& r = requests[i];
            const auto base = round_up(end, r.unit), bytes = location_bytes(r, by_unit);
            places[i] = {base, page_bytes / bytes * location_step(r), by_unit ? r.unit : r.stride};
            if (r.staging_chunks > 0) {
                places[i].first_staged = ceil_div(pages * page_bytes - first_lane(r, base), bytes) * location_step(r);
                places[i].locations_per_chunk = r.lanes * r.stride / bytes * location_step(r);
            }
            end = base + r.stride;
        }
    }
    static std::int64_t slab_bytes(std::span<const block_request> requests, std::int64_t pages, std::int64_t page_bytes) {
        const auto arena = checked_mul(pages, page_bytes, "slab bytes");
        const bool by_unit = unlike_strides(requests, page_minimum(requests));
        std::int64_t end = arena, base = 0;
        for (const auto& r : requests) {
            base = round_up(base, r.unit);
            const auto first = first_lane(r, base);
            const auto staged = checked_mul(r.staging_chunks, r.lanes * r.stride, "staging bytes");
            if (staged > 0) end = std::max(end, checked_add(first + round_up(arena - first, location_bytes(r, by_unit)), staged, "slab bytes"));
            base += r.stride;
        }
        return round_up(end, 128);
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
    /// Bytes that location_step locations take: a row, a whole block, or a unit.
    static std::int64_t location_bytes(const block_request& r, bool by_unit) { return !r.by_block ? r.row_bytes : by_unit ? r.unit : r.stride; }
    static std::int64_t location_step(const block_request& r) { return r.by_block ? r.rows : 1; }
    /// Where the block of the group's first lane starts in page 0: lanes lie side by side.
    static std::int64_t first_lane(const block_request& r, std::int64_t base) { return base - r.lane * r.stride; }
};
static_assert(layout_policy<page_major>);

} // namespace dhisparse
