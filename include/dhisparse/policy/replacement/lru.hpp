/// Least recently selected first; of rows last selected together, the one in the highest entry: its rank was worse.
#pragma once

#include <dhisparse/core/config.hpp>
#include <dhisparse/policy/replacement.hpp>

namespace dhisparse {

struct lru {
    static constexpr const char* name = "lru";
    static constexpr bool highest_entry_first = true;
    DHISPARSE_HD static constexpr stamp key(stamp used, stamp /*entered*/) { return used; }
};
static_assert(replacement_policy<lru>);

} // namespace dhisparse
