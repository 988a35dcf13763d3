/// Boundary state: what a model keeps of each position of a row that is not finished yet (sources with several positions
/// a row). A ring a slot, written by the model, read by it when a later position completes the row.
#pragma once

#include <dhisparse/core/arithmetic.hpp>
#include <dhisparse/core/config.hpp>
#include <dhisparse/core/error.hpp>
#include <dhisparse/layout/model_shape.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dhisparse {

/// One source's rings; what kernels take. Position t of a slot is at base + slot · slot_bytes + (t mod entries) · entry_bytes.
struct boundary_ring_ref {
    std::byte* base = nullptr;      // null: the source keeps no boundary state
    std::int64_t slot_bytes = 0;    // entries · entry_bytes
    std::int64_t entry_bytes = 0;   // boundary_bytes, padded to 16
    fast_divisor entries;

    DHISPARSE_HD std::byte* at(std::int32_t slot, std::int32_t t) const {
        const auto position = static_cast<std::uint32_t>(t);
        return base + slot * slot_bytes + std::int64_t{entries.remainder(position, entries.quotient(position))} * entry_bytes;
    }
};

/// Where the rings of all sources lie in one block of memory; no memory of its own.
class boundary_layout {
public:
    /// A ring has m - 1 + max_unsettled + K_max entries. At a frontier n the state of positions from m · ⌊(n - u)/m⌋ on is
    /// needed, u of them unsettled, and a round writes n … n + K_max - 1: so many consecutive positions at most, of which
    /// no two have the same entry. What a rejected position wrote is overwritten by the next round before it is read.
    static boundary_layout make(const model_shape& shape, std::int32_t n_slots, std::int32_t k_max, std::int32_t max_unsettled = 0) {
        require_in(n_slots, 1, 1 << 20, "slots");
        require_in(k_max, 1, 65534, "k_max");
        require_in(max_unsettled, 0, 1024, "max_unsettled");
        boundary_layout out;
        for (const auto& source : shape.sources) {
            boundary_ring_ref ring;
            ring.entries = fast_divisor(static_cast<std::uint32_t>(source.positions_per_row - 1 + max_unsettled + k_max));
            ring.entry_bytes = round_up(source.boundary_bytes, 16);
            ring.slot_bytes = checked_mul(ring.entries.divisor, ring.entry_bytes, "boundary bytes");
            out.rings_.push_back(ring);
            out.offsets_.push_back(out.bytes_);
            out.bytes_ = checked_add(out.bytes_, round_up(checked_mul(n_slots, ring.slot_bytes, "boundary bytes"), 128), "boundary bytes");
        }
        return out;
    }

    std::int64_t bytes() const { return bytes_; }
    /// The rings of shape.sources[source] in memory of bytes().
    boundary_ring_ref at(std::byte* memory, int source) const {
        auto out = rings_[static_cast<std::size_t>(source)];
        if (out.entry_bytes > 0) out.base = memory + offsets_[static_cast<std::size_t>(source)];
        return out;
    }

private:
    std::vector<boundary_ring_ref> rings_; // [sources] without a base
    std::vector<std::int64_t> offsets_;    // [sources]
    std::int64_t bytes_ = 0;
};

} // namespace dhisparse
