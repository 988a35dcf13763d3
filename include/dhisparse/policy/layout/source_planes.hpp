/// Layout [source][page][row]: a plane a source, for engines that think in per-layer tensors.
/// Location of row r of page P: P · rows + r. Staged rows lie at the end of each plane, as pages would: groups don't
/// share that memory, which makes it as many times larger than with page_major.
#pragma once

#include <dhisparse/core/arithmetic.hpp>
#include <dhisparse/policy/layout.hpp>

#include <numeric>

namespace dhisparse {

struct source_planes {
    static constexpr const char* name = "source_planes";

    static std::int64_t page_minimum(std::span<const block_request> requests) {
        std::int64_t sum = 0;
        for (const auto& r : requests) sum = checked_add(sum, r.stride, "page bytes");
        return sum;
    }
    static std::int64_t page_unit(std::span<const block_request> requests) { return page_minimum(requests); }

    /// An index block may not cross from one source's block into another's: its pitch divides them all.
    static std::int64_t pitch_unit(std::span<const block_request> requests, std::int64_t /*page_bytes*/) {
        std::int64_t unit = 0;
        for (const auto& r : requests) unit = std::gcd(unit, r.stride);
        return unit;
    }
    static void place(std::span<const block_request> requests, std::int64_t pages, std::int64_t /*page_bytes*/,
                      std::span<block_place> places) {
        std::int64_t base = 0;
        for (std::size_t i = 0; i < requests.size(); ++i) {
            const auto& r = requests[i];
            places[i] = {base, r.by_block ? r.rows : r.stride / r.row_bytes, r.stride};
            places[i].first_staged = checked_mul(pages, places[i].locations_per_page, "locations");
            places[i].locations_per_chunk = places[i].locations_per_page;
            base = checked_add(base, plane_bytes(r, pages), "slab bytes");
        }
    }
    static std::int64_t slab_bytes(std::span<const block_request> requests, std::int64_t pages, std::int64_t page_bytes) {
        auto bytes = checked_mul(pages, page_bytes, "slab bytes");
        for (const auto& r : requests) bytes = checked_add(bytes, checked_mul(r.staging_chunks, r.stride, "staging bytes"), "slab bytes");
        return bytes;
    }
    static std::int64_t index_block(std::span<const block_request> requests, std::int64_t pages,
                                    std::int64_t /*page_bytes*/, std::int64_t pitch, std::int32_t page, std::int32_t i) {
        std::int64_t base = 0, left = i;
        for (const auto& r : requests) {
            if (left < r.stride / pitch) return (base + page * r.stride) / pitch + left;
            left -= r.stride / pitch;
            base += plane_bytes(r, pages);
        }
        return -1;
    }

private:
    static std::int64_t plane_bytes(const block_request& r, std::int64_t pages) {
        return checked_mul(checked_add(pages, r.staging_chunks, "blocks of a plane"), r.stride, "plane bytes");
    }
};
static_assert(layout_policy<source_planes>);

} // namespace dhisparse
