/// The replacement policy: which hot entries give way first.
#pragma once

#include <dhisparse/core/config.hpp>

#include <concepts>
#include <cstdint>

namespace dhisparse {

/// A resolve's number in its slot and group, from 1; 0: never.
using stamp = std::uint32_t;

/// key(used, entered): used is the resolve that last selected the entry's row, entered the one that
/// brought it in. Entries with the smallest key go first; those with used == now never do. Among equal
/// keys the lowest entry goes first, or the highest where `highest_entry_first`. Rows of one resolve
/// fill entries in ascending order, best rank first, so that the entry stands for the rank.
template <class Replacement>
concept replacement_policy = requires(stamp s) {
    { Replacement::name } -> std::convertible_to<const char*>;
    { Replacement::key(s, s) } -> std::same_as<stamp>;
    { Replacement::highest_entry_first } -> std::convertible_to<bool>;
};

/// Total order in which entries give way, smallest first.
template <replacement_policy Replacement>
DHISPARSE_HD constexpr std::uint64_t replacement_order(stamp used, stamp entered, std::uint32_t entry) {
    return std::uint64_t{Replacement::key(used, entered)} << 32 | (Replacement::highest_entry_first ? ~entry : entry);
}

} // namespace dhisparse
