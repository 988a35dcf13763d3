/// The durability of a history page: whether the host tier holds all of it.
#pragma once

#include <cstdint>

namespace dhisparse {

enum class durability : std::uint8_t {
    none,    // the host copy is missing or incomplete
    pending, // a copy is under way
    durable, // every row has a complete host copy
};

} // namespace dhisparse
