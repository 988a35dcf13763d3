/// The request admitted first gets all of its history back before the next gets any.
#pragma once

#include <dhisparse/policy/refill_order.hpp>

namespace dhisparse {

struct first_admitted {
    static constexpr const char* name = "first_admitted";
    static constexpr std::uint64_t key(const residency& r) { return r.admitted; }
};
static_assert(refill_order_policy<first_admitted>);

} // namespace dhisparse
