/// The rows that most queries of the round selected stay: the next round's are the likeliest to select them too.
/// The default, since it leaves the fewest misses to the next rounds of the K = 4 traces of examples/tiny_dsa (k = 256, four
/// groups, 127 rounds of three requests; tests/trace/promotion_test.cpp). Rows missed a round, all groups together:
///     B    keep_staged_none    most_selected    anchor_first
///   256               604.5            595.0           648.1
///   384               357.1            355.8           371.7
///   512               250.4            250.3           252.2
///   768               155.4            155.4           155.4
#pragma once

#include <dhisparse/policy/promotion.hpp>

namespace dhisparse {

struct most_selected {
    static constexpr const char* name = "most_selected";
    DHISPARSE_HD static constexpr std::uint32_t worth(row_use use, std::uint32_t /*k_max*/) { return use.n_entries; }
};
static_assert(promotion_policy<most_selected>);

} // namespace dhisparse
