// The plainest draft store: all positions of all requests in memory.
#pragma once

#include "draft_store.hpp"
#include "spec.hpp"

#include <cstddef>
#include <vector>

namespace tiny_dsa {

class flat_draft_store final : public draft_store {
public:
    /// Room for positions [0, n_positions) of requests [0, n_requests).
    explicit flat_draft_store(int n_positions, int n_requests = 1)
        : n_positions_(n_positions),
          rows_(std::size_t{2 * n_draft_layers * draft_kv_width} * n_positions * n_requests) {}

    kv_rows at(int layer, std::int32_t request, std::int32_t position) override {
        const std::size_t lane = static_cast<std::size_t>(request) * n_draft_layers + layer;
        float* const k = rows_.data() + (lane * n_positions_ + position) * 2 * draft_kv_width;
        return {k, k + draft_kv_width};
    }

private:
    int n_positions_;
    std::vector<float> rows_; // [n_requests][2 layers][n_positions][k 128 | v 128]
};

} // namespace tiny_dsa
