#include "weights.hpp"

#include <string>
#include <vector>

namespace tiny_dsa {

namespace {

packed_matrix read_matrix(const safetensors& file, const std::string& name, std::size_t n_out,
                          std::size_t n_in) {
    packed_matrix packed(static_cast<int>(n_in), static_cast<int>(n_out));
    packed.place(file.read(name, {n_out, n_in}), 0);
    return packed;
}

ffn_weights read_ffn(const safetensors& file, const std::string& layer) {
    ffn_weights ffn;
    ffn.norm = file.read(layer + "ffn_norm.weight", {width});
    const floats gate = file.read(layer + "ffn.w_gate.weight", {ffn_width, width});
    const floats up = file.read(layer + "ffn.w_up.weight", {ffn_width, width});
    constexpr int half = panel_columns / 2;
    ffn.gate_up = packed_matrix(width, 2 * ffn_width);
    for (int c = 0; c < ffn_width; c += half) {
        ffn.gate_up.place(std::span(gate).subspan(c * width, half * width), 2 * c);
        ffn.gate_up.place(std::span(up).subspan(c * width, half * width), 2 * c + half);
    }
    ffn.down = read_matrix(file, layer + "ffn.w_down.weight", width, ffn_width);
    return ffn;
}

/// w: [8][n_in][n_out].
std::array<packed_matrix, n_heads> split_heads(const floats& w, int n_in, int n_out) {
    std::array<packed_matrix, n_heads> heads;
    for (int i = 0; i < n_heads; ++i) {
        heads[i] = packed_matrix(n_in, n_out);
        heads[i].place_transposed(std::span(w).subspan(i * n_in * n_out, n_in * n_out));
    }
    return heads;
}

void read_indexer(const safetensors& file, const std::string& name, layer_weights& l) {
    l.in.place(file.read(name + "wq.weight", {n_index_heads * key_width, width}),
               in_column::index_query);
    l.in.place(file.read(name + "wk.weight", {key_width, width}), in_column::index_key);
    l.in.place(file.read(name + "ww.weight", {n_index_heads, width}), in_column::index_weight);
    l.key_norm = file.read(name + "k_norm.weight", {key_width});
}

layer_weights read_layer(const safetensors& file, int layer) {
    const std::string name = "layers." + std::to_string(layer) + ".";
    layer_weights l;
    l.attn_norm = file.read(name + "attn_norm.weight", {width});
    l.in = packed_matrix(width, is_producer(layer) ? in_column::end : in_column::index_query);
    l.in.place(file.read(name + "attn.wq.weight", {n_heads * query_width, width}),
               in_column::query);
    l.in.place(file.read(name + "attn.wkv.weight", {row_width, width}), in_column::row);
    if (is_producer(layer)) {
        read_indexer(file, name + "indexer.", l);
    }
    l.kv_norm = file.read(name + "attn.kv_norm.weight", {latent_width});
    const floats uk = file.read(name + "attn.w_uk", {n_heads, head_width, latent_width});
    const floats uv = file.read(name + "attn.w_uv", {n_heads, latent_width, head_width});
    l.uk = split_heads(uk, head_width, latent_width);
    l.uv = split_heads(uv, latent_width, head_width);
    l.out = read_matrix(file, name + "attn.wo.weight", width, n_heads * head_width);
    l.ffn = read_ffn(file, name);
    return l;
}

draft_layer_weights read_draft_layer(const safetensors& file, int layer) {
    const std::string name = "draft.layers." + std::to_string(layer) + ".";
    const floats wk = file.read(name + "attn.wk.weight", {draft_kv_width, width});
    const floats wv = file.read(name + "attn.wv.weight", {draft_kv_width, width});
    constexpr int query_end = n_heads * head_width;
    draft_layer_weights l;
    l.attn_norm = file.read(name + "attn_norm.weight", {width});
    l.query_kv = packed_matrix(width, query_end + 2 * draft_kv_width);
    l.query_kv.place(file.read(name + "attn.wq.weight", {query_end, width}), 0);
    l.query_kv.place(wk, query_end);
    l.query_kv.place(wv, query_end + draft_kv_width);
    l.kv = packed_matrix(width, 2 * draft_kv_width);
    l.kv.place(wk, 0);
    l.kv.place(wv, draft_kv_width);
    l.out = read_matrix(file, name + "attn.wo.weight", width, query_end);
    l.ffn = read_ffn(file, name);
    return l;
}

} // namespace

target_weights::target_weights(const safetensors& file)
    : embed(file.read("embed.weight", {n_bytes, width})),
      final_norm(file.read("final_norm.weight", {width})),
      lm_head(read_matrix(file, "lm_head.weight", n_bytes, width)) {
    for (int l = 0; l < n_layers; ++l) {
        layers[l] = read_layer(file, l);
    }
}

draft_weights::draft_weights(const safetensors& file)
    : fuse(read_matrix(file, "draft.fuse.weight", width, feature_width)),
      fuse_norm(file.read("draft.fuse_norm.weight", {width})),
      mask_embed(file.read("draft.mask_embed", {width})),
      norm(file.read("draft.norm.weight", {width})) {
    for (int l = 0; l < n_draft_layers; ++l) {
        layers[l] = read_draft_layer(file, l);
    }
}

} // namespace tiny_dsa
