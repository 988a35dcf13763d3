// The plainest store: every row of every position in memory, location = position.
#pragma once

#include "spec.hpp"
#include "store.hpp"
#include "token.hpp"

#include <cstddef>
#include <vector>

namespace tiny_dsa {

class flat_store : public store {
public:
    /// Room for positions [0, n_positions) of requests [0, n_requests).
    explicit flat_store(int n_positions, int n_requests = 1)
        : n_blocks_((n_positions + keys_per_block - 1) / keys_per_block),
          rows_(std::size_t{n_layers} * n_requests * capacity() * row_width),
          keys_(std::size_t{n_producers} * n_requests * capacity() * key_width) {
        for (std::size_t b = 0; b < keys_.size(); b += keys_per_block * key_width) {
            blocks_.push_back(keys_.data() + b);
        }
    }
    flat_store(const flat_store&) = delete; // blocks_ points into keys_

    /// Says which tokens the next forward() processes; before each of them.
    void begin(std::span<const token> tokens) { tokens_.assign(tokens.begin(), tokens.end()); }

    std::uint16_t* row(int layer, int i) override {
        return row_at(layer, tokens_[i].request, tokens_[i].position);
    }

    std::uint16_t* key(int producer, int i) override {
        return key_at(producer, tokens_[i].request, tokens_[i].position);
    }

    std::span<const std::uint16_t* const> keys(int producer, int i) override {
        const std::size_t first = lane(n_producers, producer, tokens_[i].request) * n_blocks_;
        return std::span(blocks_).subspan(first, n_blocks_);
    }

    void select(int producer, std::span<const std::int32_t> selections) override {
        selections_[producer].assign(selections.begin(), selections.end());
    }

    rows_view rows(int layer, int i) override {
        return {row_at(layer, tokens_[i].request, 0), selection(producer_of_layer[layer], i)};
    }

    // ---- For the caller: what has been stored ----

    int capacity() const { return n_blocks_ * keys_per_block; } // positions of a request

    /// [128] bf16; the rows of a request and layer follow each other.
    std::uint16_t* row_at(int layer, int request, int position) {
        return rows_.data() + (lane(n_layers, layer, request) * capacity() + position) * row_width;
    }

    /// [32] bf16; the keys of a request and producer follow each other.
    std::uint16_t* key_at(int producer, int request, int position) {
        return keys_.data() +
               (lane(n_producers, producer, request) * capacity() + position) * key_width;
    }

    /// [256] of token i of the last forward().
    std::span<const std::int32_t> selection(int producer, int i) const {
        return std::span(selections_[producer]).subspan(static_cast<std::size_t>(i) * top_k, top_k);
    }

private:
    std::size_t lane(int n, int which, int request) const {
        return static_cast<std::size_t>(request) * n + which;
    }

    int n_blocks_;                             // of a request
    std::vector<std::uint16_t> rows_;          // [n_requests][n_layers][capacity][128]
    std::vector<std::uint16_t> keys_;          // [n_requests][n_producers][n_blocks][64][32]
    std::vector<const std::uint16_t*> blocks_; // [n_requests][n_producers][n_blocks]
    std::vector<token> tokens_;
    std::vector<std::int32_t> selections_[n_producers];
};

} // namespace tiny_dsa
