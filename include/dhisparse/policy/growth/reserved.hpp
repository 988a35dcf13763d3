/// A request has the pages of its reserved length from the start, in both tiers: it never waits for one.
#pragma once

#include <dhisparse/policy/growth.hpp>

namespace dhisparse {

struct reserved {
    static constexpr const char* name = "reserved";
    static constexpr std::int64_t positions(std::int64_t /*next*/, std::int64_t reserved) { return reserved; }
};
static_assert(growth_policy<reserved>);

} // namespace dhisparse
