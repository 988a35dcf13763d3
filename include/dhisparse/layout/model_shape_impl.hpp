/// Definitions for model_shape.hpp: look-ups, and the checks that name the wrong field.
#pragma once

#include <dhisparse/core/arithmetic.hpp>
#include <dhisparse/core/error.hpp>
#include <dhisparse/layout/model_shape.hpp>

#include <algorithm>
#include <limits>

namespace dhisparse {
namespace detail {

/// Where a run of a block of so many rows ends, from the block's start.
inline std::int64_t end_of_run(const row_run& run, std::int64_t rows) {
    const auto last = checked_add(checked_mul(rows - 1, run.stride_bytes, "run bytes"), run.bytes, "run bytes");
    return checked_add(run.offset_bytes, last, "run bytes");
}

inline void validate_runs(const source_shape& source, std::int64_t rows_per_block, const std::string& where) {
    require(source.runs.size() <= 4, where, ".runs: ", source.runs.size(), " runs, permitted: 1 to 4");
    std::int64_t bytes = 0;
    for (const auto& run : source.runs) {
        require(run.bytes > 0 && run.stride_bytes >= run.bytes && run.offset_bytes >= 0, where,
                ".runs: a run needs bytes > 0, stride >= bytes and offset >= 0; has bytes ", run.bytes,
                ", stride ", run.stride_bytes, ", offset ", run.offset_bytes);
        bytes = checked_add(bytes, run.bytes, "run bytes");
        const auto end = end_of_run(run, rows_per_block);
        for (const auto& other : source.runs) // runs of one block may not overlap
            require(&run == &other || end <= other.offset_bytes || other.offset_bytes < run.offset_bytes,
                    where, ".runs: the run at ", run.offset_bytes, " ends at ", end,
                    ", inside the run at ", other.offset_bytes);
    }
    require(source.runs.empty() || bytes == source.row_bytes, where, ".runs hold ", bytes,
            " bytes a row, row_bytes is ", source.row_bytes);
}

inline void validate_source(const model_shape& shape, const source_shape& source, std::size_t i) {
    const auto where = text("sources[", i, "]");
    const auto check = [&](std::int64_t value, std::int64_t low, std::int64_t high, const char* field) {
        require_in(value, low, high, (where + "." + field).c_str());
    };
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    check(source.layer, 0, shape.layers - 1, "layer");
    check(source.row_bytes, 1, most, "row_bytes");
    check(source.index_key_bytes, 0, most, "index_key_bytes");
    check(source.boundary_bytes, 0, most, "boundary_bytes");
    check(source.alignment_bytes, 0, most, "alignment_bytes");
    check(source.positions_per_row, 1, shape.page_positions, "positions_per_row");
    require(shape.page_positions % source.positions_per_row == 0, where, ".positions_per_row is ",
            source.positions_per_row, ", which does not divide page_positions ", shape.page_positions);
    check(source.key_positions(), 1, shape.page_positions, "positions_per_index_key");
    require(shape.page_positions % source.key_positions() == 0, where, ".positions_per_index_key is ",
            source.key_positions(), ", which does not divide page_positions ", shape.page_positions);
    require(source_of(shape, source.layer) == static_cast<int>(i), where, ".layer ", source.layer,
            " has a source already");
    validate_runs(source, shape.page_positions / source.positions_per_row, where);
}

inline void validate_group(const model_shape& shape, std::size_t g, std::vector<int>& owner) {
    const auto where = text("groups[", g, "]");
    require(!shape.groups[g].empty(), where, " has no layer");
    const source_shape* first = nullptr;
    for (const int layer : shape.groups[g]) {
        const int s = source_of(shape, layer);
        require(s >= 0, where, " names layer ", layer, ", which has no source");
        auto& owned = owner[static_cast<std::size_t>(s)];
        require(owned < 0, where, " names layer ", layer, ", which is in groups[", owned, "] already");
        owned = static_cast<int>(g);
        const auto& source = shape.sources[static_cast<std::size_t>(s)];
        if (!first) first = &source;
        require(source.row_bytes == first->row_bytes && source.positions_per_row == first->positions_per_row &&
                    source.runs == first->runs && source.partial_readable == first->partial_readable &&
                    source.alignment_bytes == first->alignment_bytes,
                where, ": layer ", layer, " has other rows than layer ", first->layer,
                "; sources of a group have equal row_bytes, positions_per_row, runs and alignment");
    }
}

inline void validate_announcement(const model_shape& shape, std::size_t a) {
    const auto where = text("announcements[", a, "]");
    const auto& said = shape.announcements[a];
    require_in(said.layer, 0, shape.layers - 1, (where + ".layer").c_str());
    require_in(said.group, 0, static_cast<int>(shape.groups.size()) - 1, (where + ".group").c_str());
    require(!said.consumers.empty(), where, ".consumers is empty");
    for (const int layer : said.consumers) {
        require_in(layer, 0, shape.layers - 1, (where + ".consumers").c_str());
        require(std::count(said.consumers.begin(), said.consumers.end(), layer) == 1, where, ".consumers has layer ", layer, " more than once");
    }
    require(a == 0 || shape.announcements[a - 1].layer < said.layer, where, ".layer is ", said.layer,
            "; announcements come in ascending layer order");
}

/// Each layer of a group reads its rows through an announcement for the group: a list of announcing
/// layers that begins behind a layer with rows would leave that one without locations.
inline void validate_readers(const model_shape& shape, std::size_t g) {
    for (const int layer : shape.groups[g]) {
        const auto reads = [&](const announcement_shape& said) {
            return said.group == static_cast<int>(g) &&
                   std::find(said.consumers.begin(), said.consumers.end(), layer) != said.consumers.end();
        };
        require(std::any_of(shape.announcements.begin(), shape.announcements.end(), reads), "groups[", g, "]: layer ",
                layer, " is among the consumers of no announcement for this group");
    }
}

inline void validate_drafter(const drafter_shape& drafter) {
    require_in(drafter.window, 1, 1 << 24, "drafter.window");
    require_in(drafter.layers, 0, 1 << 24, "drafter.layers");
    require_in<std::int64_t>(drafter.row_bytes, 1, std::numeric_limits<std::int32_t>::max(), "drafter.row_bytes");
    require_in(drafter.k_max, 1, 65534, "drafter.k_max");
}

inline void validate_unselected(const model_shape& shape, const unselected_shape& source, std::size_t i) {
    const auto name = [&](const char* field) { return text("unselected[", i, "].", field); };
    require_in(source.layer, 0, shape.layers - 1, name("layer").c_str());
    require_in<std::int64_t>(source.row_bytes, 1, std::numeric_limits<std::int32_t>::max(), name("row_bytes").c_str());
    require_in(source.positions_per_row, 1, 1 << 24, name("positions_per_row").c_str());
    require_in(source.window, 0, 1 << 30, name("window").c_str());
}

/// The consumers of an announcement that lie in the stage. Throws where one of them reads rows outside.
inline std::vector<int> consumers_in(const model_shape& shape, const announcement_shape& said, const layer_range& stage) {
    std::vector<int> out;
    for (const int layer : said.consumers) {
        if (!stage.contains(layer)) continue;
        const int from = shape.sources[static_cast<std::size_t>(source_read_by(shape, said, layer))].layer;
        require(stage.contains(from), "layer ", layer, " reads the rows of layer ", from, ", which is not among layers ",
                stage.first, " to ", stage.first + stage.count - 1, " of the stage");
        out.push_back(layer);
    }
    return out;
}

} // namespace detail

inline int source_of(const model_shape& shape, int layer) {
    const auto at = std::find_if(shape.sources.begin(), shape.sources.end(),
                                 [&](const source_shape& s) { return s.layer == layer; });
    return at == shape.sources.end() ? -1 : static_cast<int>(at - shape.sources.begin());
}

inline int source_read_by(const model_shape& shape, const announcement_shape& announcement, int consumer) {
    const auto& lanes = shape.groups[static_cast<std::size_t>(announcement.group)];
    const bool own = std::find(lanes.begin(), lanes.end(), consumer) != lanes.end();
    return source_of(shape, own ? consumer : lanes.front());
}

inline void validate(const model_shape& shape) {
    constexpr int most = 1 << 24;
    require_in(shape.layers, 1, most, "layers");
    require_in(shape.k, 1, most, "k");
    require_in(shape.page_positions, 1, most, "page_positions");
    require(!shape.sources.empty(), "sources is empty");
    require(!shape.groups.empty(), "groups is empty");
    require(!shape.announcements.empty(), "announcements is empty");
    for (std::size_t i = 0; i < shape.sources.size(); ++i) detail::validate_source(shape, shape.sources[i], i);
    std::vector<int> owner(shape.sources.size(), -1);
    for (std::size_t g = 0; g < shape.groups.size(); ++g) detail::validate_group(shape, g, owner);
    for (std::size_t i = 0; i < owner.size(); ++i)
        require(owner[i] >= 0, "sources[", i, "] (layer ", shape.sources[i].layer, ") is in no group");
    for (std::size_t a = 0; a < shape.announcements.size(); ++a) detail::validate_announcement(shape, a);
    for (std::size_t g = 0; g < shape.groups.size(); ++g) detail::validate_readers(shape, g);
    if (shape.drafter) detail::validate_drafter(*shape.drafter);
    for (std::size_t i = 0; i < shape.unselected.size(); ++i) detail::validate_unselected(shape, shape.unselected[i], i);
    require_in<std::int64_t>(shape.max_positions, 0, 1 << 30, "max_positions");
    require(shape.passes.empty() || shape.passes.size() == shape.groups.size(), "passes has ",
            shape.passes.size(), " entries, groups has ", shape.groups.size());
}

inline model_shape model_shape::slice(const layer_range& stage) const {
    require(stage.first >= 0 && stage.count > 0 && stage.first <= layers - stage.count, "stage of ", stage.count,
            " layers from ", stage.first, ", permitted: within layers 0 to ", layers - 1);
    model_shape out = *this;
    const auto elsewhere = [&](const auto& source) { return !stage.contains(source.layer); };
    std::erase_if(out.sources, elsewhere);
    std::erase_if(out.unselected, elsewhere);
    out.groups.clear();
    out.passes.clear();
    out.announcements.clear();
    std::vector<int> number(groups.size(), -1); // of each group in the stage
    for (std::size_t g = 0; g < groups.size(); ++g) {
        auto lanes = groups[g];
        std::erase_if(lanes, [&](int layer) { return !stage.contains(layer); });
        if (lanes.empty()) continue;
        number[g] = static_cast<int>(out.groups.size());
        out.groups.push_back(lanes);
        if (!passes.empty()) out.passes.push_back(passes[g]);
    }
    for (const auto& said : announcements) {
        const auto consumers = detail::consumers_in(*this, said, stage);
        if (!consumers.empty())
            out.announcements.push_back({said.layer, number[static_cast<std::size_t>(said.group)], consumers});
    }
    if (!stage.contains(layers - 1)) out.drafter.reset();
    return out;
}

} // namespace dhisparse
