/// The request admitted last: the oldest always gets on, so that all do.
#pragma once

#include <dhisparse/policy/park_order.hpp>

namespace dhisparse {

struct youngest {
    static constexpr const char* name = "youngest";
    static constexpr std::uint64_t key(const residency& r) { return ~r.admitted; }
};
static_assert(park_order_policy<youngest>);

} // namespace dhisparse
