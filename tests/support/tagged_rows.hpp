/// Rows whose bytes follow from a tag: written and compared in either tier, all lanes and runs.
#pragma once

#include <dhisparse/copy/tiers.hpp>

#include <cstdint>

namespace dhisparse_test {

/// Byte i of the row with this tag in a lane.
inline std::byte tagged_byte(std::int32_t tag, int lane, std::int64_t i) {
    auto x = static_cast<std::uint32_t>(tag) * 0x9E3779B1u +
             static_cast<std::uint32_t>(lane) * 0x85EBCA77u +
             static_cast<std::uint32_t>(i) * 0xC2B2AE3Du;
    x ^= x >> 15;
    return static_cast<std::byte>(x * 0x2C1B3C6Du >> 24);
}

/// Calls visit(address, lane, i) for byte i of every lane of the row at a location.
template <class Visit>
void visit_row(const dhisparse::tiers_ref& tiers, int g, dhisparse::location at, Visit visit) {
    const auto& group = tiers.groups[g];
    for (int lane = group.first_lane; lane < group.first_lane + group.n_lanes; ++lane) {
        const auto& source = tiers.lanes[lane];
        std::int64_t i = 0;
        for (int run = 0; run < source.n_runs; ++run)
            for (std::int64_t b = 0; b < source.runs[run].bytes; ++b)
                visit(tiers.slab + source.offset_bytes(at, run) + b, lane, i++);
    }
}

/// The same for a row of a host page.
template <class Visit>
void visit_host_row(const dhisparse::tiers_ref& tiers, int g, std::int32_t page, std::int32_t row,
                    Visit visit) {
    const auto& group = tiers.groups[g];
    auto* at = tiers.host + group.host_offset(dhisparse::host_page{page}, tiers.host_page_bytes,
                                              static_cast<std::uint32_t>(row));
    for (int lane = group.first_lane; lane < group.first_lane + group.n_lanes; ++lane) {
        for (std::int64_t i = 0; i < tiers.lanes[lane].row_bytes; ++i)
            visit(at + i, lane, i);
        at += group.host_lane_bytes;
    }
}

/// For visit_row: writes the bytes of a tag.
inline auto writer(std::int32_t tag) {
    return [tag](std::byte* at, int lane, std::int64_t i) { *at = tagged_byte(tag, lane, i); };
}

/// For visit_row: clears `same` at the first byte that isn't the tag's.
inline auto comparer(std::int32_t tag, bool& same) {
    return [tag, &same](const std::byte* at, int lane, std::int64_t i) {
        same = same && *at == tagged_byte(tag, lane, i);
    };
}

} // namespace dhisparse_test
