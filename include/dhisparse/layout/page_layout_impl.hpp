/// Definitions for page_layout.hpp.
#pragma once

#include <dhisparse/core/arithmetic.hpp>
#include <dhisparse/layout/page_layout.hpp>

#include <algorithm>
#include <limits>

namespace dhisparse {
namespace detail {

/// One source's block: packed rows step by row_bytes, rows of several runs (or of a block with an
/// alignment of its own) step by whole blocks.
inline block_request request_of(const source_shape& source, std::int64_t rows) {
    block_request r;
    r.rows = rows;
    r.row_bytes = source.row_bytes;
    r.by_block = !source.runs.empty() || source.alignment_bytes > 0;
    r.bytes = checked_mul(rows, source.row_bytes, "block bytes");
    for (const auto& run : source.runs) r.bytes = std::max(r.bytes, end_of_run(run, rows));
    r.unit = checked_lcm(128, r.by_block ? std::max<std::int64_t>(source.alignment_bytes, 1) : source.row_bytes,
                         "block alignment");
    r.stride = round_up(r.bytes, r.unit);
    return r;
}

/// Smallest divisor of `whole` that is a multiple of 16 and >= bytes; 0 where there is none.
inline std::int64_t index_pitch(std::int64_t whole, std::int64_t bytes) {
    for (auto n = whole / bytes; n > 0; --n)
        if (whole % n == 0 && whole / n % 16 == 0) return whole / n;
    return 0;
}

} // namespace detail

inline void page_layout::request_blocks() {
    const auto p = shape_.page_positions;
    std::int32_t lane = 0;
    for (const auto& layers : shape_.groups) {
        const auto& first = shape_.sources[static_cast<std::size_t>(source_of(shape_, layers.front()))];
        group_placement g;
        g.first_lane = lane;
        g.n_lanes = static_cast<std::int32_t>(layers.size());
        g.positions_per_row = first.positions_per_row;
        g.partial_readable = first.partial_readable;
        if (!shape_.passes.empty()) g.of = shape_.passes[groups_.size()];
        g.rows_per_page = fast_divisor(static_cast<std::uint32_t>(p / first.positions_per_row));
        lane += g.n_lanes;
        groups_.push_back(g);
        const auto staged = checked_mul(limits_.slots, overflow(n_groups() - 1), "staged rows");
        for (const int layer : layers) {
            const auto& source = shape_.sources[static_cast<std::size_t>(source_of(shape_, layer))];
            requests_.push_back(detail::request_of(source, g.rows_per_page.divisor));
            requests_.back().lane = static_cast<std::int64_t>(requests_.size()) - 1 - g.first_lane;
            requests_.back().lanes = g.n_lanes;
            requests_.back().staging_chunks = ceil_div<std::int64_t>(staged, g.rows_per_page.divisor);
            lane_layers_.push_back(layer);
            payload_bytes_ = checked_add(payload_bytes_, requests_.back().rows * source.row_bytes, "page bytes");
        }
    }
    for (const auto& source : shape_.sources)
        if (source.index_key_bytes > 0) index_layers_.push_back(source.layer);
}

/// Rows of a round that the hot cache of group g may be too small for, in one slot.
inline std::int64_t page_layout::overflow(int g) const {
    return std::max<std::int64_t>(0, checked_mul(limits_.k_max, shape_.k, "K_max x k") - hot_entries(g));
}

inline void page_layout::place_host() {
    std::int64_t at = 0;
    for (auto& g : groups_) {
        const auto row_bytes = requests_[static_cast<std::size_t>(g.first_lane)].row_bytes;
        g.host_lane_bytes = round_up(row_bytes, 16);
        g.host_row_bytes = checked_mul(g.n_lanes, g.host_lane_bytes, "group row bytes");
        g.host_offset_bytes = at;
        at = checked_add(at, checked_mul(g.rows_per_page.divisor, g.host_row_bytes, "host page bytes"), "host page bytes");
    }
    host_page_bytes_ = at;
}

/// Takes the page size, at most 2 % above the smallest, at which the shares lost to page padding and
/// to the index pitch are least: hot pages pay the one, index keys the other, and both are required.
inline void page_layout::choose_page_bytes(std::int64_t minimum, std::int64_t unit,
                                           std::int64_t (*pitch_unit)(std::span<const block_request>, std::int64_t)) {
    const auto smallest = round_up(minimum, unit);
    std::int64_t block = 0; // the widest source's index block
    for (const auto& source : shape_.sources)
        block = std::max(block, checked_mul(shape_.page_positions / source.key_positions(), source.index_key_bytes, "index block bytes"));
    page_bytes_ = smallest;
    index_.n_sources = static_cast<std::int32_t>(index_layers_.size());
    if (block == 0) return;
    auto least = std::numeric_limits<double>::max();
    const auto share = [](std::int64_t padded, std::int64_t bytes) { return static_cast<double>(padded) / static_cast<double>(bytes); };
    const auto largest = std::max(smallest + smallest / 50, round_up(block, unit));
    for (auto bytes = std::max(smallest, round_up(block, unit)); bytes <= largest; bytes += unit) {
        const auto pitch = detail::index_pitch(pitch_unit(requests_, bytes), block);
        const auto cost = share(bytes, payload_bytes_) + share(pitch, block);
        if (pitch == 0 || cost >= least) continue;
        least = cost;
        page_bytes_ = bytes;
        index_.pitch_bytes = pitch;
    }
    require(index_.pitch_bytes > 0, "no index block of ", block, " bytes fits into a page of ", smallest,
            " bytes with this layout; let the engine keep the index keys (index_key_bytes 0)");
    index_.blocks_per_page = static_cast<std::int32_t>(page_bytes_ / index_.pitch_bytes);
}

inline void page_layout::place_groups(std::span<const block_place> places) {
    for (std::size_t i = 0; i < requests_.size(); ++i) {
        const auto& r = requests_[i];
        const auto& source = shape_.sources[static_cast<std::size_t>(source_of(shape_, lane_layers_[i]))];
        source_placement lane;
        lane.base_bytes = places[i].base_bytes;
        lane.row_bytes = r.row_bytes;
        lane.rows_per_block = fast_divisor(static_cast<std::uint32_t>(r.rows));
        lane.block_stride_bytes = r.by_block ? places[i].block_step_bytes : r.rows * r.row_bytes;
        lane.n_runs = std::max(1, static_cast<std::int32_t>(source.runs.size()));
        lane.runs[0] = {0, r.row_bytes, r.row_bytes};
        std::copy(source.runs.begin(), source.runs.end(), lane.runs);
        lane.rows = (limits_.n_pages - 1) * places[i].locations_per_page + r.rows;
        lanes_.push_back(lane);
    }
    for (auto& g : groups_)
        g.locations_per_page = static_cast<std::int32_t>(
            std::min<std::int64_t>(places[static_cast<std::size_t>(g.first_lane)].locations_per_page, std::numeric_limits<std::int32_t>::max()));
}

inline void page_layout::place_staging(std::span<const block_place> places) {
    const auto limited = [](std::int64_t n) { return static_cast<std::int32_t>(std::min<std::int64_t>(n, std::numeric_limits<std::int32_t>::max())); };
    for (int g = 0; g < n_groups(); ++g) {
        const auto first_lane = static_cast<std::size_t>(group(g).first_lane);
        const auto& place = places[first_lane];
        staging_.emplace_back();
        if (requests_[first_lane].staging_chunks == 0) continue;
        staging_.back() = {limited(place.first_staged), limited(place.locations_per_chunk), limited(overflow(g))};
        for (auto lane = first_lane; lane < first_lane + static_cast<std::size_t>(group(g).n_lanes); ++lane)
            lanes_[lane].rows = checked_add(place.first_staged, checked_mul(requests_[lane].staging_chunks - 1, place.locations_per_chunk, "locations"), "locations") + requests_[lane].rows;
    }
}

inline std::int32_t page_layout::staged_rows_per_slot() const {
    std::int32_t most = 0;
    for (const auto& group : staging_) most = std::max(most, group.rows_per_slot);
    return most;
}

inline void page_layout::check_limits() const {
    require(page_bytes_ - payload_bytes_ <= payload_bytes_ / 2, "a page of ", page_bytes_, " bytes holds ", payload_bytes_,
            " bytes of rows: these row widths have no small common multiple; use layout source_planes");
    for (std::size_t i = 0; i < lanes_.size(); ++i)
        require(lanes_[i].rows <= std::numeric_limits<std::int32_t>::max(), "layer ", lane_layers_[i], " needs ",
                lanes_[i].rows, " locations, permitted: 2147483647; use fewer pages or layout source_planes");
    const auto blocks = index_.n_sources > 0 ? slab_bytes_ / index_.pitch_bytes : 0;
    require(blocks <= std::numeric_limits<std::int32_t>::max(), "the pool has ", blocks, " index blocks of ", index_.pitch_bytes,
            " bytes, permitted: 2147483647; use fewer pages");
    for (int g = 0; g < n_groups(); ++g) {
        const auto codes = checked_add(hot_entries(g), checked_mul(limits_.k_max, shape_.k, "K_max x k"), "B + K_max x k");
        require(codes <= 65534, "group ", g, " needs hot entries + k_max x k = ", hot_entries(g), " + ", limits_.k_max,
                " x ", shape_.k, " = ", codes, ", permitted: up to 65534");
    }
}

template <layout_policy Layout>
page_layout page_layout::make(const model_shape& shape, const layout_limits& limits) {
    validate(shape);
    require_in<std::int64_t>(limits.n_pages, 1, std::numeric_limits<std::int32_t>::max(), "n_pages");
    require_in<std::int64_t>(limits.hot_pages, 0, 65534, "hot_pages");
    require_in(limits.k_max, 1, 65534, "k_max");
    require_in<std::int64_t>(limits.slots, 0, 1 << 20, "slots");
    page_layout out;
    out.shape_ = shape;
    out.limits_ = limits;
    out.request_blocks();
    out.place_host();
    out.choose_page_bytes(Layout::page_minimum(out.requests_), Layout::page_unit(out.requests_), &Layout::pitch_unit);
    std::vector<block_place> places(out.requests_.size());
    Layout::place(out.requests_, limits.n_pages, out.page_bytes_, places);
    out.slab_bytes_ = Layout::slab_bytes(out.requests_, limits.n_pages, out.page_bytes_);
    out.place_groups(places);
    out.place_staging(places);
    out.index_block_ = &Layout::index_block;
    out.check_limits();
    return out;
}

inline int page_layout::lane_of_layer(int layer) const {
    const auto at = std::find(lane_layers_.begin(), lane_layers_.end(), layer);
    require(at != lane_layers_.end(), "layer ", layer, " writes no source of this shape");
    return static_cast<int>(at - lane_layers_.begin());
}

inline std::int32_t page_layout::index_block(gpu_page page, std::int32_t i) const {
    return static_cast<std::int32_t>(index_block_(requests_, limits_.n_pages, page_bytes_, index_.pitch_bytes, number(page), i));
}

inline source_view page_layout::view(std::byte* slab, int lane) const {
    const auto& at = lanes_[static_cast<std::size_t>(lane)];
    const auto block = std::max(requests_[static_cast<std::size_t>(lane)].bytes, at.block_stride_bytes);
    return {slab + at.base_bytes, at.rows, at.row_bytes, at.rows_per_block.divisor, at.block_stride_bytes,
            (slab_bytes_ - at.base_bytes - block) / at.block_stride_bytes + 1};
}

} // namespace dhisparse
