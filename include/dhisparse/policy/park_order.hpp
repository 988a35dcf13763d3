/// The park order: which request the ledger names where one must be parked so that others can grow.
#pragma once

#include <dhisparse/policy/residency.hpp>

#include <concepts>

namespace dhisparse {

/// The request with the smallest key is named; of equal keys the one admitted first.
template <class Order>
concept park_order_policy = requires(const residency& r) {
    { Order::name } -> std::convertible_to<const char*>;
    { Order::key(r) } -> std::same_as<std::uint64_t>;
};

} // namespace dhisparse
