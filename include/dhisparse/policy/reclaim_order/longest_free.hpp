/// The request whose pages stay free for longest gives first: its optional pages times the positions that it may still add.
#pragma once

#include <dhisparse/policy/reclaim_order.hpp>

namespace dhisparse {

/// A request that loses its history pays for it once, by a cold hot cache; what it gives ends when it would have ended anyway.
struct longest_free {
    static constexpr const char* name = "longest_free";
    static constexpr std::uint64_t key(const residency& r) { return ~(static_cast<std::uint64_t>(r.optional_pages) * (static_cast<std::uint64_t>(r.remaining) + 1)); }
};
static_assert(reclaim_order_policy<longest_free>);

} // namespace dhisparse
