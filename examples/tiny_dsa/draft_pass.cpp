#include "draft_pass.hpp"

#include <algorithm>

namespace tiny_dsa {

namespace {

constexpr float logit_scale = 0.17677669529663687f; // 32^-0.5
constexpr int query_floats = n_heads * head_width;
constexpr int heads_per_kv = n_heads / n_draft_kv_heads;

} // namespace

draft_pass::draft_pass(runtime& rt, const draft_weights& w, draft_workspace& ws,
                       std::span<const token> anchors, int block_length, draft_store& s)
    : rt_(rt), w_(w), ws_(ws), anchors_(anchors), block_length_(block_length), store_(s) {
    const std::size_t n = static_cast<std::size_t>(n_slots());
    at_least(ws.u, n * width);
    at_least(ws.in, n * draft_in_stride);
    at_least(ws.out, n * width);
    at_least(ws.rows, anchors.size() * 2 * draft_rows * draft_kv_width);
}

void draft_pass::run(const floats& embed, const packed_matrix& lm_head, float* logits) {
    fill_inputs(embed);
    for (int layer = 0; layer < n_draft_layers; ++layer) {
        const draft_layer_weights& w = w_.layers[layer];
        norm_project(rt_, w.attn_norm, w.query_kv, u(0), n_slots(), in(0), draft_in_stride);
        for (int slot = 0; slot < n_slots(); ++slot) {
            rotate(slot);
        }
        rt_.pool.run(static_cast<int>(anchors_.size()),
                     [&](int anchor, int) { gather(layer, anchor); });
        rt_.pool.run(n_slots(), [&](int slot, int) { attend(slot); });
        project(rt_, w.out, ws_.out.data(), n_slots(), u(0), width, true);
        add_ffn(rt_, w.ffn, u(0), n_slots(), ws_.act);
    }
    norm_project(rt_, w_.norm, lm_head, u(0), n_slots(), logits, n_bytes);
}

void draft_pass::fill_inputs(const floats& embed) {
    for (int slot = 0; slot < n_slots(); ++slot) {
        const bool is_anchor = slot % block_length_ == 0;
        const float* const from = is_anchor
                                      ? embed.data() + anchors_[slot / block_length_].byte * width
                                      : w_.mask_embed.data();
        std::copy_n(from, width, u(slot));
    }
}

/// The heads of the query and of k, which follow each other.
void draft_pass::rotate(int slot) {
    const int position = anchors_[slot / block_length_].position + slot % block_length_;
    for (int c = 0; c < query_floats + draft_kv_width; c += head_width) {
        rt_.head_rope.rotate(in(slot) + c, position);
    }
}

/// The context, then the block's own slots.
void draft_pass::gather(int layer, int anchor) {
    const token& a = anchors_[anchor];
    float* k = keys(anchor);
    float* v = values(anchor);
    const auto take = [&](const float* from_k, const float* from_v) {
        k = std::copy_n(from_k, draft_kv_width, k);
        v = std::copy_n(from_v, draft_kv_width, v);
    };
    for (int s = a.position - n_context(anchor); s < a.position; ++s) {
        const kv_rows row = store_.at(layer, a.request, s);
        take(row.k, row.v);
    }
    for (int i = 0; i < block_length_; ++i) {
        const float* const own = in(anchor * block_length_ + i) + query_floats;
        take(own, own + draft_kv_width);
    }
}

/// Two query heads share a kv head.  For the kernel, which knows whole rows only, a query is zero
/// outside the 32 numbers of its kv head, and of the output only those 32 are kept.
void draft_pass::attend(int slot) {
    const int anchor = slot / block_length_;
    alignas(64) float query[n_heads * draft_kv_width] = {};
    alignas(64) float out[n_heads * draft_kv_width];
    const auto own_part = [](float* rows, int head) {
        return rows + head * draft_kv_width + head / heads_per_kv * head_width;
    };
    for (int head = 0; head < n_heads; ++head) {
        std::copy_n(in(slot) + head * head_width, head_width, own_part(query, head));
    }
    rt_.k.attend({.query = query,
                  .keys = keys(anchor),
                  .values = values(anchor),
                  .n_rows = n_context(anchor) + block_length_,
                  .n_columns = draft_kv_width,
                  .scale = logit_scale,
                  .out = out});
    float* to = ws_.out.data() + static_cast<std::size_t>(slot) * width;
    for (int head = 0; head < n_heads; ++head) {
        to = std::copy_n(own_part(out, head), head_width, to);
    }
}

} // namespace tiny_dsa
