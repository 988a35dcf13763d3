/// Pages come as they are needed: from free pages, the reserve, optional history. A request may have to wait for one.
#pragma once

#include <dhisparse/policy/growth.hpp>

namespace dhisparse {

struct stepwise {
    static constexpr const char* name = "stepwise";
    static constexpr std::int64_t positions(std::int64_t next, std::int64_t /*reserved*/) { return next; }
};
static_assert(growth_policy<stepwise>);

} // namespace dhisparse
