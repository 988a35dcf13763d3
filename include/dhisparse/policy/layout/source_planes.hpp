/// Layout [source][page][row]: a plane a source, for engines that think in per-layer tensors.
/// Location of row r of page P: P · rows + r.
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
            places[i] = {base, requests[i].by_block ? requests[i].rows : requests[i].stride / requests[i].row_bytes, requests[i].stride};
            base = checked_add(base, checked_mul(pages, requests[i].stride, "plane bytes"), "slab bytes");
        }
    }
    static std::int64_t index_block(std::span<const block_request> requests, std::int64_t pages,
                                    std::int64_t /*page_bytes*/, std::int64_t pitch, std::int32_t page, std::int32_t i) {
        std::int64_t base = 0, left = i;
        for (const auto& r : requests) {
            if (left < r.stride / pitch) return (base + page * r.stride) / pitch + left;
            left -= r.stride / pitch;
            base += pages * r.stride;
        }
        return -1;
    }
};
static_assert(layout_policy<source_planes>);

} // namespace dhisparse
