/// The windowed KV of a drafter: the rows of the last W positions and of the round at hand, for every slot.
/// Needs nothing else of the library.
#pragma once

#include <dhisparse/draft/draft_ring_ref.hpp>
#include <dhisparse/memory/buffer.hpp>

#include <cstring>
#include <type_traits>
#include <vector>

namespace dhisparse {

static_assert(std::is_trivially_copyable_v<draft_ring_ref> && sizeof(draft_ring_ref) <= 64);

/// What a draft layer keeps of one position.
struct draft_layer {
    std::int64_t key_bytes = 0;   // 1 or more; multiples of 16 suit wide loads
    std::int64_t value_bytes = 0; // 0: values are read from the keys
};

struct draft_ring_config {
    std::int32_t slots = 1;
    std::int32_t window = 0;         // W >= 1: positions before a round that the drafter reads
    std::int32_t k_max = 1;          // positions that a round writes at most
    std::int32_t page_positions = 1; // p
    std::vector<draft_layer> layers = {};
    std::span<std::byte> memory = {}; // lent, aligned to 128 bytes; empty: made
};

/// Sets ordinary memory to zero; a ring in device memory is given what does so there.
struct zero_on_host {
    void operator()(std::byte* memory, std::int64_t bytes) const { std::memset(memory, 0, static_cast<std::size_t>(bytes)); }
};

/// Owns the planes, K then V of each layer, and the slots' spans. Move-only. Never allocates after construction.
template <memory_resource Resource = host_resource>
class draft_ring {
public:
    /// What a ring allocates, or has to be lent. Throws as the constructor.
    static std::int64_t bytes_needed(const draft_ring_config& config) { return measure(config).bytes; }

    /// Every slot is empty. zero(memory, bytes): called once, for the spans; rows stay undefined. Throws
    /// invalid_argument or out_of_capacity before anything is allocated.
    template <class Zero = zero_on_host>
    explicit draft_ring(const draft_ring_config& config, Resource resource = {}, const Zero& zero = {}) : draft_ring(config, measure(config), std::move(resource)) {
        zero(memory_.data(), spans_bytes(config));
    }

    draft_ring_ref ref() const {
        return {reinterpret_cast<ring_span*>(memory_.data()), fast_divisor(static_cast<std::uint32_t>(rows_)), window_, slots_};
    }
    draft_plane keys(int layer) const { return plane(2 * layer); }
    /// The keys of a layer without values of its own.
    draft_plane values(int layer) const { return plane(2 * layer + (plane(2 * layer + 1).row_bytes > 0)); }
    int n_layers() const { return static_cast<int>(planes_.size() / 2); }
    std::int32_t rows() const { return rows_; } // R_d, of one slot
    std::int64_t bytes() const { return memory_.bytes(); }

private:
    static constexpr std::int64_t alignment = 128;
    struct placed {
        std::int64_t offset = 0, row_bytes = 0;
    };
    struct memory_plan {
        std::int64_t bytes = 0, rows = 0;
        std::vector<placed> planes = {}; // [2 · layers]
    };

    static std::int64_t spans_bytes(const draft_ring_config& config) { return std::int64_t{config.slots} * static_cast<std::int64_t>(sizeof(ring_span)); }
    static void check(const draft_ring_config& config) {
        require_in(config.slots, 1, INT32_MAX, "slots");
        require_in(config.window, 1, INT32_MAX, "window");
        require_in(config.k_max, 1, INT32_MAX, "k_max");
        require_in(config.page_positions, 1, INT32_MAX, "page_positions");
        require(!config.layers.empty(), "layers of a draft ring are 0, permitted: 1 or more");
        for (const auto& layer : config.layers) {
            require(layer.key_bytes >= 1, "key_bytes is ", layer.key_bytes, ", permitted: 1 or more");
            require(layer.value_bytes >= 0, "value_bytes is ", layer.value_bytes, ", permitted: 0 or more");
        }
    }
    static memory_plan measure(const draft_ring_config& config) {
        check(config);
        memory_plan out{round_up(spans_bytes(config), alignment), ring_rows(config.page_positions, config.window, config.k_max)};
        const auto all_rows = checked_mul(out.rows, config.slots, "rows of all draft rings");
        require<out_of_capacity>(all_rows <= INT32_MAX, "draft rings have ", all_rows, " rows, permitted: ", INT32_MAX, " at most (32-bit locations)");
        for (const auto& layer : config.layers)
            for (const auto row_bytes : {layer.key_bytes, layer.value_bytes}) {
                out.planes.push_back({out.bytes, row_bytes});
                out.bytes = checked_add(out.bytes, round_up(checked_mul(all_rows, row_bytes, "draft ring bytes"), alignment), "draft ring bytes");
            }
        return out;
    }
    draft_ring(const draft_ring_config& config, memory_plan sizes, Resource resource)
        : memory_(std::move(resource), sizes.bytes, alignment, config.memory, "draft ring"), planes_(std::move(sizes.planes)),
          rows_(static_cast<std::int32_t>(sizes.rows)), window_(config.window), slots_(config.slots) {}
    draft_plane plane(int i) const {
        const auto& it = planes_.at(static_cast<std::size_t>(i));
        return {memory_.data() + it.offset, it.row_bytes};
    }

    buffer<Resource> memory_; // spans, then the planes
    std::vector<placed> planes_;
    std::int32_t rows_, window_, slots_;
};

} // namespace dhisparse
