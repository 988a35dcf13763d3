/// Rows of a round's union that the hot cache can't hold: where they lie until they are released, and what becomes
/// of them then. One resolve's rows are staged at a time; append, resolve and release are the only writers.
#pragma once

#include <dhisparse/core/config.hpp>
#include <dhisparse/layout/placement.hpp>
#include <dhisparse/staging/promotions.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace dhisparse {

/// What a slot has staged. A round's append empties it, so that a round that was dropped promotes nothing.
struct staged_slot {
    std::int32_t group = 0;
    std::int32_t n_rows = 0;       // staged, in places [0, n_rows)
    std::int32_t n_promotions = 0; // of them go to hot entries at the release
};

/// The view that the step path takes.
struct staging_ref {
    const staging_placement* groups = nullptr; // [n_groups]
    staged_slot* slots = nullptr;              // [n_slots]; null: the hot caches hold every union, nothing is staged
    promotion* promotions = nullptr;           // [n_slots][rows_per_slot] the first n_promotions of a slot count
    std::int32_t rows_per_slot = 0;            // most of any group

    DHISPARSE_HD bool any() const { return slots != nullptr; }
    DHISPARSE_HD promotion* of(std::int32_t slot) const { return promotions + std::int64_t{slot} * rows_per_slot; }
};
static_assert(sizeof(staging_ref) <= 64);

/// Owns that state on the host; the rows' bytes lie in the slab.
class staging {
public:
    /// groups: page_layout::staging(). Allocates nothing where no group stages rows.
    staging(std::vector<staging_placement> groups, std::int32_t n_slots) : groups_(std::move(groups)) {
        for (const auto& group : groups_) rows_per_slot_ = group.rows_per_slot > rows_per_slot_ ? group.rows_per_slot : rows_per_slot_;
        if (rows_per_slot_ == 0) return;
        slots_.resize(static_cast<std::size_t>(n_slots));
        promotions_.resize(slots_.size() * static_cast<std::size_t>(rows_per_slot_));
    }
    staging(staging&&) = default;
    staging& operator=(staging&&) = default;

    staging_ref ref() {
        if (rows_per_slot_ == 0) return {};
        return {groups_.data(), slots_.data(), promotions_.data(), rows_per_slot_};
    }

private:
    std::vector<staging_placement> groups_;
    std::vector<staged_slot> slots_;
    std::vector<promotion> promotions_;
    std::int32_t rows_per_slot_ = 0;
};

} // namespace dhisparse
