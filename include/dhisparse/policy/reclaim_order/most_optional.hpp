/// The request with most optional pages gives first: fewest requests lose their history.
#pragma once

#include <dhisparse/policy/reclaim_order.hpp>

namespace dhisparse {

struct most_optional {
    static constexpr const char* name = "most_optional";
    static constexpr std::uint64_t key(const residency& r) { return ~static_cast<std::uint64_t>(r.optional_pages); }
};
static_assert(reclaim_order_policy<most_optional>);

} // namespace dhisparse
