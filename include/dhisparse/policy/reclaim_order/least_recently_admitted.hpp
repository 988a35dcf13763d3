/// The request that was admitted first gives first.
#pragma once

#include <dhisparse/policy/reclaim_order.hpp>

namespace dhisparse {

struct least_recently_admitted {
    static constexpr const char* name = "least_recently_admitted";
    static constexpr std::uint64_t key(const residency& r) { return r.admitted; }
};
static_assert(reclaim_order_policy<least_recently_admitted>);

} // namespace dhisparse
