/// A model shape's bytes: pages, blocks, lanes, host pages, index blocks. Built once, checked once.
#pragma once

#include <dhisparse/core/arithmetic.hpp>
#include <dhisparse/core/types.hpp>
#include <dhisparse/layout/model_shape.hpp>
#include <dhisparse/layout/placement.hpp>
#include <dhisparse/policy/layout.hpp>

#include <cstdint>
#include <vector>

namespace dhisparse {

/// What attention kernels need to address one source's rows.
struct source_view {
    std::byte* base = nullptr;   // 16-byte aligned; row l starts at base + l · row_bytes where rows are packed
    std::int64_t rows = 0;       // locations are in [0, rows); the last row ends inside the slab
    std::int64_t row_bytes = 0;
    std::int64_t rows_per_block = 0;
    std::int64_t block_stride_bytes = 0; // may be less than a block: see page_major
    std::int64_t n_blocks = 0;   // whole blocks, counted from base, that end inside the slab
};

/// How many pages and requests a layout is for.
struct layout_limits {
    std::int64_t n_pages = 0;  // of the pool
    std::int64_t hot_pages = 0; // H, a slot
    int k_max = 1;             // K_max, queries a round
    std::int64_t slots = 0;    // N: requests at a time that staged rows are for; 0: no staging
};

class page_layout {
public:
    /// Staged rows: a round selects at most K_max · k distinct rows of a slot and group that are not in mapped pages,
    /// and of h hits and f misses among them the cache keeps min(h + f, B), since only entries of hits can't give way. So
    /// max(0, K_max · k - B) rows a slot are enough, where equation (11) counts K_max · k.
    /// Throws invalid_argument or out_of_capacity, naming the field and the limit, where the shape is
    /// wrong, a location would reach 2^31, B_g + K_max · k exceeds 65,534, or padding exceeds half a page.
    template <layout_policy Layout>
    static page_layout make(const model_shape& shape, const layout_limits& limits);

    const model_shape& shape() const { return shape_; }
    const layout_limits& limits() const { return limits_; }

    std::int64_t page_bytes() const { return page_bytes_; }
    std::int64_t payload_bytes() const { return payload_bytes_; } // of a page, padding left out
    std::int64_t host_page_bytes() const { return host_page_bytes_; }
    std::int64_t slab_bytes() const { return slab_bytes_; } // pages and staging
    std::int64_t staging_bytes() const { return slab_bytes_ - limits_.n_pages * page_bytes_; }

    int n_groups() const { return static_cast<int>(groups_.size()); }
    const std::vector<group_placement>& groups() const { return groups_; }
    const group_placement& group(int g) const { return groups_[static_cast<std::size_t>(g)]; }
    /// [sources], each group's lanes side by side: group g's are [first_lane, first_lane + n_lanes).
    const std::vector<source_placement>& lanes() const { return lanes_; }
    /// Index in lanes() of the source that this layer writes; throws where it writes none.
    int lane_of_layer(int layer) const;
    /// B_g: entries of the hot cache of group g.
    std::int64_t hot_entries(int g) const { return limits_.hot_pages * groups_[static_cast<std::size_t>(g)].rows_per_page.divisor; }

    /// [groups] where each group's staged rows lie.
    const std::vector<staging_placement>& staging() const { return staging_; }
    /// Most rows of a slot that any group stages; 0: nothing is ever staged.
    std::int32_t staged_rows_per_slot() const;

    const index_placement& index() const { return index_; }
    /// Layers whose source has index keys, in source order: the rows of an index table.
    const std::vector<int>& index_layers() const { return index_layers_; }
    /// Pages that hold the index blocks of so many pages of positions.
    std::int64_t index_pages(std::int64_t position_pages) const {
        return index_.n_sources == 0 ? 0 : ceil_div<std::int64_t>(position_pages * index_.n_sources, index_.blocks_per_page);
    }
    /// Number b of a page's i-th index block, i in [0, blocks_per_page): at slab + b · pitch.
    std::int32_t index_block(gpu_page page, std::int32_t i) const;

    source_view view(std::byte* slab, int lane) const;

private:
    model_shape shape_;
    layout_limits limits_;
    std::int64_t page_bytes_ = 0, payload_bytes_ = 0, host_page_bytes_ = 0, slab_bytes_ = 0;
    std::vector<group_placement> groups_;
    std::vector<source_placement> lanes_;
    std::vector<staging_placement> staging_;
    std::vector<int> lane_layers_; // [lanes] the layer of each
    std::vector<int> index_layers_;
    index_placement index_;
    std::vector<block_request> requests_; // [lanes]
    std::int64_t (*index_block_)(std::span<const block_request>, std::int64_t, std::int64_t, std::int64_t,
                                 std::int32_t, std::int32_t) = nullptr;

    void request_blocks();
    std::int64_t overflow(int g) const;
    void place_host();
    void choose_page_bytes(std::int64_t minimum, std::int64_t unit,
                           std::int64_t (*pitch_unit)(std::span<const block_request>, std::int64_t));
    void place_groups(std::span<const block_place> places);
    void place_staging(std::span<const block_place> places);
    void check_limits() const;
};

} // namespace dhisparse

#include <dhisparse/layout/page_layout_impl.hpp>
