/// The refill order: whose history comes back to the GPU next, page by page.
#pragma once

#include <dhisparse/policy/residency.hpp>

#include <concepts>

namespace dhisparse {

/// The request with the smallest key gets the next page; of equal keys the one admitted first. `served`
/// numbers refilled pages. A request's key is asked for anew when one of its pages comes or goes.
template <class Order>
concept refill_order_policy = requires(const residency& r) {
    { Order::name } -> std::convertible_to<const char*>;
    { Order::key(r) } -> std::same_as<std::uint64_t>;
};

} // namespace dhisparse
