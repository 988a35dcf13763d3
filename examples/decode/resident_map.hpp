// Position → location of requests whose pages all stay on the GPU.
#pragma once

#include "session.hpp"

#include <span>
#include <vector>

namespace decode {

class resident_map {
public:
    /// Of every position that has a page now. Throws invalid_argument where one before `n` has
    /// none.
    template <class Session>
    resident_map(const Session& session, int n) {
        const auto& shape = session.kv().shape();
        for (int r = 0; r < session.n_requests(); ++r) {
            const auto pages = session.kv().ledger().page_table(session.slot(r));
            for (const auto& said : shape.announcements) {
                auto& row = locations_.emplace_back();
                for (int t = 0; t < n; ++t) {
                    const auto page = pages[static_cast<std::size_t>(t / page_positions)];
                    dh::require(page != dh::gpu_page::none, "position ", t, " of request ", r,
                                " is not resident");
                    row.push_back(session.kv().location_of(said.layer, page, t % page_positions));
                }
            }
        }
    }

    /// [n] locations of a request's rows of the group that this producer selects for.
    std::span<const dh::location> of(int producer, int request) const {
        return locations_[static_cast<std::size_t>(request * tiny_dsa::n_producers + producer)];
    }
    dh::location at(int layer, int request, int position) const {
        const auto p = tiny_dsa::producer_of_layer[static_cast<std::size_t>(layer)];
        return of(p, request)[static_cast<std::size_t>(position)];
    }

private:
    std::vector<std::vector<dh::location>> locations_; // [n_requests][n_producers][n]
};

} // namespace decode
