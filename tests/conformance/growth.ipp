// What every growth policy must show: never fewer pages than the next steps need, never more than are reserved.
#include "catch.hpp"

#include <string>

using growth = policy_under_test;

TEST_CASE("an admission gets pages for what comes next at least, and for its reserved length at most", "[growth]") {
    for (std::int64_t next = 0; next < 40; ++next)
        for (std::int64_t reserved = next; reserved < 60; ++reserved) {
            CHECK(growth::positions(next, reserved) >= next);
            CHECK(growth::positions(next, reserved) <= reserved);
        }
    CHECK_FALSE(std::string(growth::name).empty());
}
