/// The reclaim order: which requests give their optional history back first.
#pragma once

#include <dhisparse/policy/residency.hpp>

#include <concepts>

namespace dhisparse {

/// Requests with the smallest key go first; of equal keys the one admitted first. `served` numbers reclaims.
template <class Order>
concept reclaim_order_policy = requires(const residency& r) {
    { Order::name } -> std::convertible_to<const char*>;
    { Order::key(r) } -> std::same_as<std::uint64_t>;
};

} // namespace dhisparse
