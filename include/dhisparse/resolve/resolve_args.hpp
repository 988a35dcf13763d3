/// What a resolve takes and where its answers go.
#pragma once

#include <dhisparse/core/arithmetic.hpp>
#include <dhisparse/core/types.hpp>
#include <dhisparse/policy/promotion.hpp>

#include <cstdint>
#include <vector>

namespace dhisparse {

/// What the model chose. Any entry may be -1; an entry may repeat.
struct selection_ref {
    const std::int32_t* rows = nullptr; // [n_queries][stride] of which the first k count
    std::int64_t stride = 0;            // >= k
    std::int32_t k = 0;                 // <= the shape's k
};

/// Where the answers go; the caller's memory.
struct locations_ref {
    location* at = nullptr;          // [n_queries][stride], all of [0, k_padded) written; -1: none
    std::int64_t stride = 0;         // >= k_padded
    std::int32_t k_padded = 0;       // 0: k rounded up to 64
    std::int32_t* valid = nullptr;   // [n_queries] locations other than -1; null: not wanted
};

/// Columns of a location row that a resolve writes. Throws invalid_argument where a stride is too small.
inline std::int32_t padded_width(const selection_ref& selection, const locations_ref& out) {
    const auto k_padded = out.k_padded > 0 ? out.k_padded : static_cast<std::int32_t>(round_up(selection.k, 64));
    require(selection.stride >= selection.k, "selection stride is ", selection.stride, ", permitted: at least k = ", selection.k);
    require(k_padded >= selection.k, "k_padded is ", k_padded, ", permitted: at least k = ", selection.k);
    require(out.stride >= k_padded, "location stride is ", out.stride, ", permitted: at least k_padded = ", k_padded);
    return k_padded;
}

/// Scratch of a resolve, allocated once. entries: most of any group; selected: K_max · k; staged: whether rows may be staged.
struct resolve_scratch {
    resolve_scratch(std::int64_t entries, std::int64_t selected, std::int64_t hot_pages, bool staged = false)
        : candidates(static_cast<std::size_t>(entries)), victims(static_cast<std::size_t>(entries)),
          missing(static_cast<std::size_t>(selected)), places(missing.size()), hot_bases(static_cast<std::size_t>(hot_pages)),
          uses(staged ? candidates.size() + missing.size() : 0), staged_order(staged ? missing.size() : 0) {}
    std::vector<std::uint64_t> candidates; // [B]
    std::vector<std::int32_t> victims;     // [B]
    std::vector<std::int32_t> missing;     // [K_max · k] distinct missed rows, first appearance first
    std::vector<location> places;          // [K_max · k] where they went
    std::vector<location> hot_bases;       // [H] what an entry's number is added to, in the request at hand
    std::vector<row_use> uses;               // [B + K_max · k] by code; empty: rows are never staged
    std::vector<std::uint64_t> staged_order; // [K_max · k] as uses
    std::int32_t n_missing = 0;
};

} // namespace dhisparse
