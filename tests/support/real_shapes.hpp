/// Model shapes with the row widths and groupings of models in use.
#pragma once

#include <dhisparse/layout/model_shape.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dhisparse_test {

using dhisparse::model_shape;
using dhisparse::source_shape;

/// Appends a group of so many sources with these rows; its first layer announces and has the index
/// keys.
inline void add_group(model_shape& shape, source_shape row, int lanes) {
    auto& layers = shape.groups.emplace_back();
    for (int lane = 0; lane < lanes; ++lane, row.index_key_bytes = 0) {
        row.layer = shape.layers++;
        layers.push_back(row.layer);
        shape.sources.push_back(row);
    }
    shape.announcements.push_back(
        {layers.front(), static_cast<int>(shape.groups.size()) - 1, layers});
}

/// A shape of groups that are given as {rows, lanes}.
inline model_shape shape_of(int page_positions, int k,
                            const std::vector<std::pair<source_shape, int>>& groups) {
    model_shape shape;
    shape.k = k;
    shape.page_positions = page_positions;
    for (const auto& [row, lanes] : groups)
        add_group(shape, row, lanes);
    return shape;
}

/// 78 layers in 21 groups ({0}, {1}, {2 … 5}, …), 132-byte index keys.
inline model_shape glm_5_3(std::int64_t row_bytes) {
    const source_shape row{.row_bytes = row_bytes, .index_key_bytes = 132};
    std::vector<std::pair<source_shape, int>> groups(21, {row, 4});
    groups[0].second = groups[1].second = 1;
    return shape_of(64, 2048, groups);
}

/// 584-byte rows: 576 bytes packed, and 8 bytes of scales behind all of them.
inline source_shape row_with_scales(int page_positions, int positions_per_row,
                                    std::int64_t alignment_bytes) {
    const std::int64_t rows = page_positions / positions_per_row;
    return {.row_bytes = 584,
            .positions_per_row = positions_per_row,
            .runs = {{0, 576, 576}, {rows * 576, 8, 8}},
            .alignment_bytes = alignment_bytes};
}

/// DeepSeek-V4.1-Flash as some engines keep it: rows of 512 values and 16 bytes of scales, the scales behind all values of a block, blocks of whole 512 bytes.
inline model_shape v4_1_in_528_bytes(model_shape shape) {
    shape.name += ", rows of 528 bytes";
    for (auto& source : shape.sources) {
        source.row_bytes = 528;
        source.runs = {{0, 512, 512}, {shape.page_positions / source.positions_per_row * 512, 16, 16}};
        source.alignment_bytes = 512;
    }
    return shape;
}

/// Rows of a key part and, behind all key parts of the block, a value part.
inline source_shape row_with_keys_and_values(int page_positions, std::int64_t part_bytes) {
    return {.row_bytes = 2 * part_bytes,
            .index_key_bytes = 64,
            .runs = {{0, part_bytes, part_bytes},
                     {page_positions * part_bytes, part_bytes, part_bytes}}};
}

/// 288-byte rows of 2, 2, 2 and 1 positions, a group each.
inline model_shape mixed_positions_per_row() {
    const auto row = [](int m) {
        return source_shape{.row_bytes = 288, .index_key_bytes = 68, .positions_per_row = m};
    };
    return shape_of(64, 64, {{row(2), 1}, {row(2), 1}, {row(2), 1}, {row(1), 1}});
}

} // namespace dhisparse_test
