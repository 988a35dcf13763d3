/// The growth policy: for how many of its positions an admitted request gets pages at once.
#pragma once

#include <concepts>
#include <cstdint>

namespace dhisparse {

/// positions(next, reserved): next, the prompt and the positions that the next steps may append, at most
/// the reserved length; the answer is in [next, reserved].
template <class Growth>
concept growth_policy = requires(std::int64_t n) {
    { Growth::name } -> std::convertible_to<const char*>;
    { Growth::positions(n, n) } -> std::same_as<std::int64_t>;
};

} // namespace dhisparse
