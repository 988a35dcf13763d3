/// The promotion policy: which rows of a union larger than the hot cache stay in it for the next round.
#pragma once

#include <dhisparse/core/config.hpp>

#include <concepts>
#include <cstdint>

namespace dhisparse {

/// What a resolve saw of one row that it gave a hot entry or a staged place.
struct row_use {
    std::uint32_t n_entries = 0;   // selection entries of the round that name the row, >= 1
    std::uint32_t first_query = 0; // the first query that selected it, from the anchor's 0
};

/// worth(use, k_max): the more, the rather the row stays; first_query < k_max. When the resolve's rows are released,
/// a staged row takes the entry of a hot row of less worth. Among staged rows of equal worth the one that was missed
/// first goes first; among hot rows of equal worth the one in the highest entry gives way first. Rows promoted
/// together fill their entries in ascending order, in the order in which they were missed.
template <class Promotion>
concept promotion_policy = requires(row_use use, std::uint32_t k_max) {
    { Promotion::name } -> std::convertible_to<const char*>;
    { Promotion::worth(use, k_max) } -> std::same_as<std::uint32_t>;
};

} // namespace dhisparse
