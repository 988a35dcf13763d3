// One propose() of the drafter: what its steps share.  Private to the library.
#pragma once

#include "dense.hpp"
#include "drafter.hpp"

#include <algorithm>
#include <cstddef>

namespace tiny_dsa {

/// The most rows that a slot attends to.
inline constexpr int draft_rows = draft_window + max_block_length;

/// [query | k | v] of a slot.
inline constexpr int draft_in_stride = n_heads * head_width + 2 * draft_kv_width;

/// Memory that is kept from one call to the next.  It only grows.
struct draft_workspace {
    floats u;      // [n_slots][256]
    floats in;     // [n_slots][draft_in_stride]
    floats out;    // [n_slots][256], attention output
    floats act;    // [n_slots][448]
    floats rows;   // [n_anchors][k, v][draft_rows][128]
    floats logits; // [n_slots][256]
};

class draft_pass {
public:
    draft_pass(runtime& rt, const draft_weights& w, draft_workspace& ws,
               std::span<const token> anchors, int block_length, draft_store& s);

    /// logits: [n_slots][256]
    void run(const floats& embed, const packed_matrix& lm_head, float* logits);

private:
    void fill_inputs(const floats& embed);
    void rotate(int slot);
    void gather(int layer, int anchor);
    void attend(int slot);

    int n_slots() const { return static_cast<int>(anchors_.size()) * block_length_; }
    int n_context(int anchor) const { return std::min(anchors_[anchor].position, draft_window); }
    float* u(int slot) { return ws_.u.data() + static_cast<std::size_t>(slot) * width; }
    float* in(int slot) { return ws_.in.data() + static_cast<std::size_t>(slot) * draft_in_stride; }
    float* keys(int anchor) {
        return ws_.rows.data() + static_cast<std::size_t>(anchor) * 2 * draft_rows * draft_kv_width;
    }
    float* values(int anchor) { return keys(anchor) + draft_rows * draft_kv_width; }

    runtime& rt_;
    const draft_weights& w_;
    draft_workspace& ws_;
    std::span<const token> anchors_;
    int block_length_;
    draft_store& store_;
};

} // namespace tiny_dsa
