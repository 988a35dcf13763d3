/// Model shapes for tests: a few plain ones, and random ones.
#pragma once

#include "random.hpp"

#include <dhisparse/layout/model_shape.hpp>

#include <algorithm>
#include <numeric>
#include <vector>

namespace dhisparse_test {

struct plain_shape_options {
    int page_positions = 4, k = 4, lanes = 1, m = 1;
    std::int64_t row_bytes = 128, index_key_bytes = 0;
};

/// One group; its lanes are layers 0, 1, …; layer 0 announces for all of them.
inline dhisparse::model_shape plain_shape(const plain_shape_options& o = {}) {
    dhisparse::model_shape shape{.name = "plain", .layers = o.lanes, .k = o.k, .page_positions = o.page_positions};
    shape.groups.emplace_back();
    for (int lane = 0; lane < o.lanes; ++lane) {
        shape.sources.push_back({.layer = lane, .row_bytes = o.row_bytes, .index_key_bytes = o.index_key_bytes, .positions_per_row = o.m});
        shape.groups[0].push_back(lane);
    }
    shape.announcements = {{.layer = 0, .group = 0, .consumers = shape.groups[0]}};
    return shape;
}

/// Two runs: all values of a block, then all scales, maybe with a gap between.
inline std::vector<dhisparse::row_run> two_runs(random_source& random, std::int64_t row_bytes, int rows) {
    const auto scale = random.pick<std::int64_t>({4, 8});
    const auto value = row_bytes - scale, stride = value + random.pick<std::int64_t>({0, 0, 4});
    return {{0, stride, value}, {rows * stride + random.pick<std::int64_t>({0, 16}), scale, scale}};
}

inline dhisparse::source_shape random_source_shape(random_source& random, int p) {
    dhisparse::source_shape s;
    s.positions_per_row = random.pick({1, 1, 2, 4});
    s.row_bytes = random.pick<std::int64_t>({16, 32, 48, 64, 96, 32, 64, 20});
    if (random.one_in(4)) s.runs = two_runs(random, s.row_bytes, p / s.positions_per_row);
    if (random.one_in(5)) s.alignment_bytes = random.pick<std::int64_t>({16, 256, 384});
    s.partial_readable = random.one_in(3);
    return s;
}

/// Every group has an announcement at least, and every source a layer that reads it. Layers of groups mix.
inline dhisparse::model_shape random_shape(random_source& random) {
    dhisparse::model_shape shape{.name = "random"};
    shape.page_positions = random.pick({4, 4, 8, 8, 16, 32, 64});
    shape.k = random.pick({1, 2, 3, 5, 8, 8, 16, 24});
    const bool with_keys = random.one_in(2);
    std::vector<int> owner; // [layers] group, -1: no source
    const int n_groups = random.between(1, 4);
    for (int g = 0; g < n_groups; ++g) owner.insert(owner.end(), static_cast<std::size_t>(random.between(1, 4)), g);
    owner.insert(owner.end(), static_cast<std::size_t>(random.between(0, 3)), -1);
    random.shuffle(owner);
    shape.layers = static_cast<int>(owner.size());
    shape.groups.resize(static_cast<std::size_t>(n_groups));
    std::vector<dhisparse::source_shape> kinds;
    for (int g = 0; g < n_groups; ++g) kinds.push_back(random_source_shape(random, shape.page_positions));
    for (int layer = 0; layer < shape.layers; ++layer) {
        const int g = owner[static_cast<std::size_t>(layer)];
        if (g < 0) continue;
        auto source = kinds[static_cast<std::size_t>(g)];
        source.layer = layer;
        if (with_keys && random.one_in(2)) {
            source.index_key_bytes = random.pick<std::int64_t>({4, 8, 20});
            source.positions_per_index_key = random.pick({0, 1, 2});
        }
        shape.sources.push_back(source);
        shape.groups[static_cast<std::size_t>(g)].push_back(layer);
    }
    std::vector<int> said(shape.groups.size(), 0);
    for (int layer = 0; layer < shape.layers; ++layer) {
        const int own = owner[static_cast<std::size_t>(layer)];
        const bool last_chance = own >= 0 && said[static_cast<std::size_t>(own)] == 0 && shape.groups[static_cast<std::size_t>(own)].back() == layer;
        if (!last_chance && !random.one_in(3)) continue;
        const int g = last_chance ? own : random.between(0, n_groups - 1);
        ++said[static_cast<std::size_t>(g)];
        auto consumers = shape.groups[static_cast<std::size_t>(g)];
        if (own < 0) consumers.push_back(layer);
        shape.announcements.push_back({.layer = layer, .group = g, .consumers = consumers});
    }
    return shape;
}

} // namespace dhisparse_test
