#include "forward_pass.hpp"

#include "bf16.hpp"

#include <algorithm>

namespace tiny_dsa {

namespace {

constexpr float index_weight_scale = 0.08838834764831845f; // 128^-0.5

} // namespace

forward_pass::forward_pass(runtime& rt, const target_weights& w, workspace& ws,
                           std::span<const token> tokens, store& s)
    : rt_(rt), w_(w), ws_(ws), tokens_(tokens), store_(s) {
    const std::size_t n = tokens.size();
    at_least(ws.h, n * width);
    at_least(ws.in, n * in_column::stride);
    at_least(ws.u, n * width);
    ws.selections.resize(n * top_k);
    for (const token& t : tokens) {
        score_stride_ = std::max(score_stride_, (t.position / keys_per_block + 1) * keys_per_block);
    }
}

void forward_pass::run(const forward_outputs& out) {
    embed();
    for (int layer = 0; layer < n_layers; ++layer) {
        run_layer(layer);
        keep_feature(layer, out.features);
    }
    write_logits(out.logits);
}

void forward_pass::embed() {
    for (int i = 0; i < n(); ++i) {
        std::copy_n(w_.embed.data() + tokens_[i].byte * width, width, h(i));
    }
}

void forward_pass::run_layer(int layer) {
    const layer_weights& w = w_.layers[layer];
    norm_project(rt_, w.attn_norm, w.in, h(0), n(), in(0, 0), in_column::stride);
    write_rows(layer);
    if (is_producer(layer)) {
        select(producer_of_layer[layer]);
    }
    attend(layer);
    project(rt_, w.out, ws_.u.data(), n(), h(0), width, true);
    add_ffn(rt_, w.ffn, h(0), n(), ws_.act);
}

void forward_pass::write_rows(int layer) {
    for_ranges(rt_, n(), 16, [&](int first, int end) {
        for (int i = first; i < end; ++i) {
            write_row(layer, i);
            if (is_producer(layer)) {
                write_key(layer, i);
            }
        }
    });
}

void forward_pass::write_row(int layer, int i) {
    const int position = tokens_[i].position;
    for (int head = 0; head < n_heads; ++head) {
        rt_.head_rope.rotate(in(i, in_column::query + head * query_width + head_width), position);
    }
    float* const kv = in(i, in_column::row);
    rt_.k.rms(kv, w_.layers[layer].kv_norm.data(), latent_width, kv);
    rt_.head_rope.rotate(kv + latent_width, position);
    std::transform(kv, kv + row_width, store_.row(layer, i), narrow);
}

void forward_pass::write_key(int layer, int i) {
    const int position = tokens_[i].position;
    for (int head = 0; head < n_index_heads; ++head) {
        rt_.key_rope.rotate(in(i, in_column::index_query + head * key_width), position);
    }
    for (int head = 0; head < n_index_heads; ++head) {
        *in(i, in_column::index_weight + head) *= index_weight_scale;
    }
    float* const key = in(i, in_column::index_key);
    rt_.k.rms(key, w_.layers[layer].key_norm.data(), key_width, key);
    rt_.key_rope.rotate(key, position);
    std::transform(key, key + key_width, store_.key(producer_of_layer[layer], i), narrow);
}

void forward_pass::keep_feature(int layer, std::span<float> features) {
    const auto part = std::find(feature_layers.begin(), feature_layers.end(), layer);
    if (features.empty() || part == feature_layers.end()) {
        return;
    }
    const auto column = (part - feature_layers.begin()) * width;
    for (int i = 0; i < n(); ++i) {
        std::copy_n(h(i), width,
                    features.data() + static_cast<std::size_t>(i) * feature_width + column);
    }
}

void forward_pass::write_logits(std::span<float> logits) {
    const int n_wanted = static_cast<int>(logits.size() / n_bytes);
    norm_project(rt_, w_.final_norm, w_.lm_head, h(n() - n_wanted), n_wanted, logits.data(),
                 n_bytes);
}

} // namespace tiny_dsa
