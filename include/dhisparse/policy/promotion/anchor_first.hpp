/// Rows of the earliest queries stay: the anchor is always accepted, each later query less surely.
#pragma once

#include <dhisparse/policy/promotion.hpp>

namespace dhisparse {

struct anchor_first {
    static constexpr const char* name = "anchor_first";
    DHISPARSE_HD static constexpr std::uint32_t worth(row_use use, std::uint32_t k_max) { return k_max - use.first_query; }
};
static_assert(promotion_policy<anchor_first>);

} // namespace dhisparse
