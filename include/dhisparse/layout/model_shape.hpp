/// What a model stores: its sources, which of them are chosen together, and which layers choose.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dhisparse {

/// One of the pieces that a row consists of inside its block: row r's piece is at offset + r * stride.
struct row_run {
    std::int64_t offset_bytes = 0; // from the block's start
    std::int64_t stride_bytes = 0; // from one row's piece to the next row's
    std::int64_t bytes = 0;
    friend bool operator==(const row_run&, const row_run&) = default;
};

/// One stream of stored rows.
struct source_shape {
    int layer = 0;                     // the layer that writes it
    std::int64_t row_bytes = 0;        // all runs together
    std::int64_t index_key_bytes = 0;  // of one stored index key; 0: no keys, or the engine keeps them
    int positions_per_row = 1;         // m
    int positions_per_index_key = 0;   // 0: as many as a row
    std::vector<row_run> runs = {};    // empty: one run, rows packed
    std::int64_t boundary_bytes = 0;   // state of one position of an unfinished row
    bool partial_readable = false;     // an unfinished row may be selected
    std::int64_t alignment_bytes = 0;  // of a block's start and stride; 0: no demand beyond the layout's
    int key_positions() const { return positions_per_index_key ? positions_per_index_key : positions_per_row; }
    friend bool operator==(const source_shape&, const source_shape&) = default;
};

/// Rows that no selection covers: a window, a dense compressed store, a layer's fixed state (one row).
/// Required memory as long as the request lives; the engine keeps them in leased pages.
struct unselected_shape {
    int layer = 0;
    std::int64_t row_bytes = 0;
    int positions_per_row = 1; // m
    int window = 0;            // newest positions that are kept; 0: all
    /// Bytes of a request of so many positions.
    std::int64_t bytes(std::int64_t positions) const {
        const auto kept = window > 0 && window < positions ? window : positions;
        return (kept + positions_per_row - 1) / positions_per_row * row_bytes;
    }
    friend bool operator==(const unselected_shape&, const unselected_shape&) = default;
};

/// One layer's selection for a group, and the layers that read through its locations.
struct announcement_shape {
    int layer = 0;
    int group = 0;
    std::vector<int> consumers = {}; // the announcing layer included
    friend bool operator==(const announcement_shape&, const announcement_shape&) = default;
};

/// A drafter whose KV is a window of recent positions.
struct drafter_shape {
    std::string name = {};
    int window = 0; // positions
    int layers = 0;
    std::int64_t row_bytes = 0; // of one position, all draft layers together
    int k_max = 0;
    friend bool operator==(const drafter_shape&, const drafter_shape&) = default;
};

/// Who computes a group's rows: the target model, or a drafter with full history (MTP) that runs after it.
enum class pass : std::uint8_t { target, draft };
inline constexpr int n_passes = 2;

/// Layers [first, first + count) of a model: one pipeline stage.
struct layer_range {
    int first = 0;
    int count = 0;
    bool contains(int layer) const { return first <= layer && layer - first < count; }
};

struct model_shape {
    std::string name = {};
    int layers = 0;
    int k = 0;              // rows that a query selects at most
    int page_positions = 0; // p
    std::vector<source_shape> sources = {};
    std::vector<std::vector<int>> groups = {}; // the layers of each group's sources, lane by lane
    std::vector<announcement_shape> announcements = {}; // in layer order
    std::vector<pass> passes = {};                      // one a group; empty: all target
    std::optional<drafter_shape> drafter = {};
    std::vector<unselected_shape> unselected = {}; // stored as well, but in no group
    std::int64_t max_positions = 0;                // longest context of the model; 0: not said
    friend bool operator==(const model_shape&, const model_shape&) = default;

    /// What a pipeline stage stores and reads; layers keep their numbers. A group whose announcing layer
    /// is elsewhere keeps the announcement: its selection comes from the engine. The drafter goes with the
    /// last layer. Throws invalid_argument where a layer of the stage reads rows that another stage holds.
    inline model_shape slice(const layer_range& stage) const;
};

/// Throws invalid_argument naming the first field that is wrong.
inline void validate(const model_shape& shape);

/// Index in shape.sources of the source that this layer writes, or -1.
inline int source_of(const model_shape& shape, int layer);

/// Index of the source that a consumer of the announcement reads: its own lane where it writes one
/// of the group's sources, else the group's first.
inline int source_read_by(const model_shape& shape, const announcement_shape& announcement, int consumer);

/// Calls of resolve in one step: one an announcement.
inline std::int64_t resolver_calls(const model_shape& shape) { return static_cast<std::int64_t>(shape.announcements.size()); }
/// Lanes that a step's resolves fetch beside the first of their groups.
inline std::int64_t follower_lanes(const model_shape& shape) {
    std::int64_t lanes = 0;
    for (const auto& said : shape.announcements)
        lanes += static_cast<std::int64_t>(shape.groups[static_cast<std::size_t>(said.group)].size()) - 1;
    return lanes;
}

} // namespace dhisparse

#include <dhisparse/layout/model_shape_impl.hpp>
