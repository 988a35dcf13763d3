// The numbers of the model: its shape, and which layer takes its selection from which producer.
#pragma once

#include <array>
#include <cstdint>

namespace tiny_dsa {

inline constexpr int n_bytes = 256; // the vocabulary
inline constexpr int max_positions = 8192;
inline constexpr int width = 256;
inline constexpr int n_layers = 10;
inline constexpr int n_heads = 8;
inline constexpr int ffn_width = 448;

inline constexpr int row_width = 128; // [latent 96 | rope key 32], bf16
inline constexpr int latent_width = 96;
inline constexpr int head_width = 32;  // of the nope part, the rope part and the value alike
inline constexpr int query_width = 64; // [nope 32 | rope 32]

inline constexpr int n_producers = 4;
inline constexpr std::array<int, n_producers> producer_layer{0, 1, 2, 6};
inline constexpr std::array<int, n_layers> producer_of_layer{0, 1, 2, 2, 2, 2, 3, 3, 3, 3};
inline constexpr int top_k = 256;
inline constexpr int n_index_heads = 4;
inline constexpr int key_width = 32;      // of index keys and index queries, bf16 and fp32
inline constexpr int key_rope_width = 16; // the first of them that are rotated
inline constexpr int keys_per_block = 64;

inline constexpr std::array<int, 3> feature_layers{1, 5, 9};
inline constexpr int feature_width = 768;

inline constexpr int n_draft_layers = 2;
inline constexpr int n_draft_kv_heads = 4;
inline constexpr int draft_kv_width = 128; // 4 heads of 32, of K and of V
inline constexpr int draft_window = 256;
inline constexpr int max_block_length = 8;

/// True if this layer picks the selection itself; the others use that of the producer before them.
constexpr bool is_producer(int layer) {
    return producer_layer[producer_of_layer[layer]] == layer;
}

} // namespace tiny_dsa
