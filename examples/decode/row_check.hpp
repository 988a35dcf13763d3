// Compares what attention reads with the original rows, at the moment that it is read.
#pragma once

#include "shape.hpp"

#include <tiny_dsa/store.hpp>
#include <tiny_dsa/token.hpp>

#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

namespace decode {

/// One of a round's queries.
struct checked_query {
    int index = 0;              // in the round
    tiny_dsa::token token;      // what is processed
    std::int32_t anchor = 0;    // the round's first position of its request
};

class row_check {
public:
    /// Where the original row of (layer, request, position) lies: 256 bytes.
    using originals = std::function<const std::uint16_t*(int layer, int request, int position)>;

    explicit row_check(originals original) : original_(std::move(original)) {}

    /// selections: [n_queries][256] positions, -1: none. Locations for them come with rows().
    void select(int producer, std::span<const std::int32_t> selections) {
        auto& it = groups_[producer];
        it.selected.assign(selections.begin(), selections.end());
        it.wrong.assign(selections.size(), 0);
    }

    /// Called by a thread of the model for each layer and query of a round; each call has its own
    /// entries of `wrong`. A selected row without a location is wrong. own(query): the row that the
    /// round has written for a query; behind the anchor, where a proposal may not be what is decoded
    /// in the end, that is the original.
    template <class Own>
    void compare(int layer, const checked_query& q, const tiny_dsa::rows_view& rows,
                 const Own& own) {
        auto& it = groups_[tiny_dsa::producer_of_layer[static_cast<std::size_t>(layer)]];
        const auto first = static_cast<std::size_t>(q.index) * tiny_dsa::top_k;
        for (std::size_t e = 0; e < rows.locations.size(); ++e) {
            const auto t = it.selected[first + e];
            if (t < 0) continue;
            const auto at = rows.locations[e];
            const auto* const original = t <= q.anchor ? original_(layer, q.token.request, t)
                                                       : own(q.index + t - q.token.position);
            const bool same =
                at >= 0 && std::memcmp(rows.base + std::ptrdiff_t{at} * tiny_dsa::row_width,
                                       original, row_bytes) == 0;
            it.wrong[first + e] |= !same;
        }
    }

    /// All layers of the round have been compared.
    void end_round() {
        for (const auto& it : groups_)
            for (std::size_t e = 0; e < it.selected.size(); ++e)
                if (it.selected[e] >= 0) ++(it.wrong[e] ? n_wrong_ : n_verified_);
    }

    /// Selection entries of which every lane's bytes were the original ones, and the others.
    std::int64_t n_verified() const { return n_verified_; }
    std::int64_t n_wrong() const { return n_wrong_; }

private:
    struct group {
        std::vector<std::int32_t> selected; // [n_queries][256] of the round
        std::vector<std::uint8_t> wrong;    // [n_queries][256] 1: differs in some lane
    };
    originals original_;
    group groups_[tiny_dsa::n_producers];
    std::int64_t n_verified_ = 0, n_wrong_ = 0;
};

} // namespace decode
