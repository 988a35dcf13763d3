/// What a model writes: a row's bytes follow from the tokens of its positions and from its layer, so that
/// each (request, layer, position, attempt) has bytes of its own. Addressed without the library's help.
#pragma once

#include "random.hpp"

#include <dhisparse/hierarchy.hpp>

#include <cstring>
#include <span>
#include <vector>

namespace dhisparse_test {

using token = std::uint64_t; // of one position; 0: not written

/// Bytes [first, last) of a row that the i-th of its m positions determines.
inline std::int64_t part_of(std::int64_t row_bytes, int i, int m) { return row_bytes * i / m; }

/// Byte b of a row of this layer, where the position that determines it has this token.
inline std::byte row_byte(token from, int layer, std::int64_t b) {
    const auto word = mix(mix(from) + (static_cast<std::uint64_t>(layer) << 32 | static_cast<std::uint64_t>(b / 8))); // token and place don't commute
    return static_cast<std::byte>(word >> (b % 8 * 8));
}

/// A whole row, its runs one after another. tokens: [m], 0 leaves that part as it is in `row`.
inline void make_row(std::span<const token> tokens, int layer, std::span<std::byte> row) {
    const auto m = static_cast<int>(tokens.size());
    const auto bytes = static_cast<std::int64_t>(row.size());
    for (int i = 0; i < m; ++i)
        for (auto b = part_of(bytes, i, m); tokens[static_cast<std::size_t>(i)] && b < part_of(bytes, i + 1, m); ++b)
            row[static_cast<std::size_t>(b)] = row_byte(tokens[static_cast<std::size_t>(i)], layer, b);
}

/// One source's rows on the GPU as an engine sees them.
struct row_window {
    dhisparse::source_view view;
    std::vector<dhisparse::row_run> runs;
    int layer = 0; // that writes them

    row_window(const dhisparse::source_view& seen, const dhisparse::source_shape& source) : view(seen), runs(source.runs), layer(source.layer) {
        if (runs.empty()) runs.push_back({0, source.row_bytes, source.row_bytes});
    }
    std::byte* at(dhisparse::location where, std::size_t run) const {
        const auto block = where / view.rows_per_block, row = where % view.rows_per_block;
        return view.base + block * view.block_stride_bytes + runs[run].offset_bytes + row * runs[run].stride_bytes;
    }
    void read(dhisparse::location where, std::span<std::byte> row) const {
        auto* to = row.data();
        for (std::size_t r = 0; r < runs.size(); to += runs[r++].bytes) std::memcpy(to, at(where, r), static_cast<std::size_t>(runs[r].bytes));
    }
    void write(dhisparse::location where, std::span<const std::byte> row) const {
        const auto* from = row.data();
        for (std::size_t r = 0; r < runs.size(); from += runs[r++].bytes) std::memcpy(at(where, r), from, static_cast<std::size_t>(runs[r].bytes));
    }
};

} // namespace dhisparse_test
