/// No staged row outlives its resolve: the hot cache keeps what it has.
#pragma once

#include <dhisparse/policy/promotion.hpp>

namespace dhisparse {

struct keep_staged_none {
    static constexpr const char* name = "keep_staged_none";
    DHISPARSE_HD static constexpr std::uint32_t worth(row_use /*use*/, std::uint32_t /*k_max*/) { return 0; }
};
static_assert(promotion_policy<keep_staged_none>);

} // namespace dhisparse
