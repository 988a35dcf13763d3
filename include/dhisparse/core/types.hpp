/// The numbers that name things: pages of either tier, slots, tickets, locations.
#pragma once

#include <dhisparse/core/config.hpp>

#include <cstddef>
#include <cstdint>

namespace dhisparse {

/// Row number on the GPU, counted from the source's base; what attention kernels take.
using location = std::int32_t;
inline constexpr location no_location = -1;

/// A page of the GPU pool and a page of the host tier. Distinct types: mixing them doesn't compile.
enum class gpu_page : std::int32_t { none = -1 };
enum class host_page : std::int32_t { none = -1 };

DHISPARSE_HD constexpr std::int32_t number(gpu_page page) { return static_cast<std::int32_t>(page); }
DHISPARSE_HD constexpr std::int32_t number(host_page page) { return static_cast<std::int32_t>(page); }

/// An admitted request's place in the per-request tables. The generation tells a slot from its
/// earlier owners: a call with a stale id is refused.
struct slot_id {
    std::int32_t index = -1; // [0, slots)
    std::uint32_t generation = 0;
    friend bool operator==(const slot_id&, const slot_id&) = default;
};

/// Names one piece of asynchronous work (a copy, a fence). Counted up by the ledger; the engine
/// hands back those that have completed.
using ticket = std::int64_t;
/// How a copy that failed is handed back: by the negative of its ticket.
constexpr ticket failure_of(ticket id) { return -id; }

/// Names a prefix that is kept without a slot. 0: none.
enum class prefix_id : std::int64_t { none = 0 };

inline constexpr std::int64_t KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB, TiB = 1024 * GiB;

} // namespace dhisparse
