// The tiny model's history as dhisparse sees it: ten sources of 256-byte rows in four groups.
#pragma once

#include <dhisparse/layout/model_shape.hpp>
#include <tiny_dsa/spec.hpp>

namespace decode {

inline constexpr int page_positions = 64; // p
static_assert(page_positions == tiny_dsa::keys_per_block,
              "an index block is what the model scores");
inline constexpr int row_bytes = 2 * tiny_dsa::row_width;
inline constexpr int key_bytes = 2 * tiny_dsa::key_width;

/// Group p is what producer p selects for, and so are announcement p and the p-th source with keys.
inline dhisparse::model_shape tiny_shape() {
    dhisparse::model_shape shape{.name = "tiny_dsa",
                                 .layers = tiny_dsa::n_layers,
                                 .k = tiny_dsa::top_k,
                                 .page_positions = page_positions};
    shape.groups.resize(tiny_dsa::n_producers);
    for (int layer = 0; layer < tiny_dsa::n_layers; ++layer) {
        shape.sources.push_back({.layer = layer,
                                 .row_bytes = row_bytes,
                                 .index_key_bytes = tiny_dsa::is_producer(layer) ? key_bytes : 0});
        const auto group =
            static_cast<std::size_t>(tiny_dsa::producer_of_layer[static_cast<std::size_t>(layer)]);
        shape.groups[group].push_back(layer);
    }
    for (int p = 0; p < tiny_dsa::n_producers; ++p) {
        const auto& layers = shape.groups[static_cast<std::size_t>(p)];
        shape.announcements.push_back({.layer = layers[0], .group = p, .consumers = layers});
    }
    return shape;
}

} // namespace decode
