/// Which staged rows take which hot entries when a resolve's rows are released.
#pragma once

#include <dhisparse/policy/promotion.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace dhisparse {

/// One staged row that goes to a hot entry.
struct promotion {
    std::int32_t staged = 0; // which of the slot's staged rows
    std::int32_t entry = 0;  // of the hot cache; its row is forgotten
    std::int32_t row = 0;    // the staged row
    friend bool operator==(const promotion&, const promotion&) = default;
};

/// Pairs staged rows with the hot entries that they take, the largest difference in worth first, as long as there is
/// one: the n best of `staged` take the n worst of `hot`, in ascending order of both. Writes staged and entry of `out`.
/// hot: [B] and staged: [n] each row's use, hot ones in entry order, staged ones in the order in which they were missed.
/// hot_order, staged_order: scratch of the same lengths. out: room for min(B, n). Returns how many. Allocates nothing.
template <promotion_policy Promotion>
std::int32_t choose_promotions(std::span<const row_use> hot, std::span<const row_use> staged, std::uint32_t k_max,
                               std::span<std::uint64_t> hot_order, std::span<std::uint64_t> staged_order, std::span<promotion> out) {
    const auto order = [&](std::span<const row_use> uses, std::span<std::uint64_t> to, std::uint32_t flip_worth, std::uint32_t flip_number) {
        for (std::size_t i = 0; i < uses.size(); ++i)
            to[i] = std::uint64_t{Promotion::worth(uses[i], k_max) ^ flip_worth} << 32 | (static_cast<std::uint32_t>(i) ^ flip_number);
        std::sort(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(uses.size()));
    };
    constexpr std::uint32_t all = 0xFFFFFFFF;
    order(hot, hot_order, 0, all);       // least worth first, of those the highest entry
    order(staged, staged_order, all, 0); // most worth first, of those the first missed
    const auto most = std::min(hot.size(), staged.size());
    std::size_t n = 0;
    while (n < most && static_cast<std::uint32_t>(~staged_order[n] >> 32) > static_cast<std::uint32_t>(hot_order[n] >> 32)) ++n;
    for (std::size_t i = 0; i < n; ++i) { // numbers alone, in ascending order
        hot_order[i] = static_cast<std::uint32_t>(~hot_order[i]);
        staged_order[i] = static_cast<std::uint32_t>(staged_order[i]);
    }
    std::sort(hot_order.begin(), hot_order.begin() + static_cast<std::ptrdiff_t>(n));
    std::sort(staged_order.begin(), staged_order.begin() + static_cast<std::ptrdiff_t>(n));
    for (std::size_t i = 0; i < n; ++i) out[i] = {static_cast<std::int32_t>(staged_order[i]), static_cast<std::int32_t>(hot_order[i]), 0};
    return static_cast<std::int32_t>(n);
}

} // namespace dhisparse
