/// The rows that most queries of the round selected stay: the next round's are the likeliest to select them too.
#pragma once

#include <dhisparse/policy/promotion.hpp>

namespace dhisparse {

struct most_selected {
    static constexpr const char* name = "most_selected";
    DHISPARSE_HD static constexpr std::uint32_t worth(row_use use, std::uint32_t /*k_max*/) { return use.n_entries; }
};
static_assert(promotion_policy<most_selected>);

} // namespace dhisparse
