// All weights of the target and of the drafter, fp32, packed for the kernels.
#pragma once

#include "packed_matrix.hpp"
#include "safetensors.hpp"
#include "spec.hpp"

#include <array>

namespace tiny_dsa {

/// Where the parts of a layer's first projection lie in its outputs.
namespace in_column {
inline constexpr int query = 0;          // [8 heads][nope 32 | rope 32]
inline constexpr int row = 512;          // [latent 96 | rope key 32]
inline constexpr int index_query = 640;  // [4 heads][32]; from here on: producers only
inline constexpr int index_key = 768;    // [32]
inline constexpr int index_weight = 800; // [4]
inline constexpr int end = 804;
inline constexpr int stride = 832; // in whole panels
} // namespace in_column

struct ffn_weights {
    floats norm;           // [256]
    packed_matrix gate_up; // panels of 16 columns of gate, then the same 16 of up
    packed_matrix down;
};

struct layer_weights {
    floats attn_norm;                      // [256]
    packed_matrix in;                      // 256 -> the columns above
    floats kv_norm;                        // [96]
    floats key_norm;                       // [32], producers only
    std::array<packed_matrix, n_heads> uk; // 32 -> 96
    std::array<packed_matrix, n_heads> uv; // 96 -> 32
    packed_matrix out;                     // 256 -> 256
    ffn_weights ffn;
};

struct target_weights {
    explicit target_weights(const safetensors& file);

    floats embed; // [256 bytes][256]
    std::array<layer_weights, n_layers> layers;
    floats final_norm; // [256]
    packed_matrix lm_head;
};

struct draft_layer_weights {
    floats attn_norm;       // [256]
    packed_matrix query_kv; // 256 -> [8 query heads | 4 key heads | 4 value heads][32]
    packed_matrix kv;       // 256 -> [4 key heads | 4 value heads][32], for the context
    packed_matrix out;      // 256 -> 256
    ffn_weights ffn;
};

struct draft_weights {
    explicit draft_weights(const safetensors& file);

    packed_matrix fuse; // 768 -> 256
    floats fuse_norm;   // [256]
    floats mask_embed;  // [256]
    std::array<draft_layer_weights, n_draft_layers> layers;
    floats norm; // [256]
};

} // namespace tiny_dsa
