/// The request that gave longest ago gives first.
#pragma once

#include <dhisparse/policy/reclaim_order.hpp>

namespace dhisparse {

struct round_robin {
    static constexpr const char* name = "round_robin";
    static constexpr std::uint64_t key(const residency& r) { return r.served; }
};
static_assert(reclaim_order_policy<round_robin>);

} // namespace dhisparse
