/// First in, first out: hits change nothing; of rows that came together, the better rank came first.
#pragma once

#include <dhisparse/core/config.hpp>
#include <dhisparse/policy/replacement.hpp>

namespace dhisparse {

struct fifo {
    static constexpr const char* name = "fifo";
    static constexpr bool highest_entry_first = false;
    DHISPARSE_HD static constexpr stamp key(stamp /*used*/, stamp entered) { return entered; }
};
static_assert(replacement_policy<fifo>);

} // namespace dhisparse
