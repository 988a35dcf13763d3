/// A page each in turn: the request that got one longest ago gets the next.
#pragma once

#include <dhisparse/policy/refill_order.hpp>

namespace dhisparse {

struct in_turn {
    static constexpr const char* name = "in_turn";
    static constexpr std::uint64_t key(const residency& r) { return r.served; }
};
static_assert(refill_order_policy<in_turn>);

} // namespace dhisparse
