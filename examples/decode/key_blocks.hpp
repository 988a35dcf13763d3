// Where the index keys of each request lie, page after page, in the blocks that dhisparse gave.
#pragma once

#include "shape.hpp"

#include <dhisparse/core/types.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace decode {

class key_blocks {
public:
    explicit key_blocks(int n_requests)
        : n_requests_(static_cast<std::size_t>(n_requests)),
          blocks_(tiny_dsa::n_producers * n_requests_) {}

    /// Adds blocks until positions [0, n_positions) of the request are covered.
    template <class Hierarchy, class Machine>
    void cover(const Hierarchy& kv, Machine& machine, dhisparse::slot_id slot, int request,
               int n_positions) {
        const auto n_pages =
            static_cast<std::size_t>((n_positions + page_positions - 1) / page_positions);
        for (int p = 0; p < tiny_dsa::n_producers; ++p) {
            auto& known = blocks_[index(p, request)];
            if (known.size() >= n_pages) continue;
            std::vector<std::int32_t> table(n_pages - known.size());
            machine.read(kv.index_table(slot, p) + known.size(), std::span(table));
            for (const auto block : table)
                known.push_back(at(kv, block));
        }
    }

    /// Nothing is covered any more: the request's place has another index table.
    void forget(int request) {
        for (int p = 0; p < tiny_dsa::n_producers; ++p)
            blocks_[index(p, request)].clear();
    }

    /// [blocks] of 64 keys each.
    std::span<const std::uint16_t* const> blocks(int producer, int request) const {
        const auto& known = blocks_[index(producer, request)];
        return {known.data(), known.size()};
    }

    std::uint16_t* key(int producer, int request, int position) const {
        const auto page = static_cast<std::size_t>(position / page_positions);
        return blocks_[index(producer, request)][page] +
               position % page_positions * tiny_dsa::key_width;
    }

    /// The first key of an index block.
    template <class Hierarchy>
    static std::uint16_t* at(const Hierarchy& kv, std::int32_t block) {
        return reinterpret_cast<std::uint16_t*>(kv.index_base() +
                                                block * kv.layout().index().pitch_bytes);
    }

private:
    std::size_t index(int producer, int request) const {
        return static_cast<std::size_t>(producer) * n_requests_ + static_cast<std::size_t>(request);
    }

    std::size_t n_requests_;
    std::vector<std::vector<std::uint16_t*>> blocks_; // [n_producers][n_requests][pages]
};

} // namespace decode
