// The arithmetic of the model, compiled once per instruction set and chosen at run time.
//
// Every result is one chain of operations in a fixed order, whatever else is computed beside it:
// vectors run over outputs, and a multiply-add is fused or not by the instruction set alone.  So
// the result of a token does not depend on how many tokens, threads or tasks there are.
#pragma once

#include <cstdint>

namespace tiny_dsa {

/// Weights come in panels of 32 outputs: [n_panels][n_in][32].
inline constexpr int panel_columns = 32;

/// 256 selected ones, or the drafter's window and a block of 8.
inline constexpr int max_attended_rows = 264;

enum class instruction_set { baseline, avx2, avx512 };

/// y[t][o] = sum over i of x[t][i] * panels[o / 32][i][o % 32], added to y or stored.
struct linear_args {
    const float* x; // [n_tokens][n_in], a row every x_stride floats
    int x_stride;
    const float* panels; // [n_panels][n_in][32]
    float* y;            // [n_tokens][n_panels * 32], a row every y_stride floats
    int y_stride;
    int n_tokens, n_in, n_panels;
    bool add;
};

/// y[t][c] = silu(gate) * up of 16 columns.
struct silu_args {
    const float* gate_up; // [n_tokens][gate 16 | up 16]
    float* y;             // [n_tokens][16], a row every y_stride floats
    int y_stride;
    int n_tokens;
};

/// Softmax attention of one token, 8 heads over the same rows.
struct attend_args {
    const float* query;  // [8][128]
    const float* keys;   // [n_rows][128]
    const float* values; // [n_rows][128]; may be keys
    int n_rows;          // [1, max_attended_rows]
    int n_columns;       // of the values that are wanted: a multiple of 32
    float scale;         // of the logits
    float* out;          // [8][128], of which [8][n_columns] are written
};

/// Scores of the 64 positions of one block for one token:
/// sum over j of weights[j] * max(0, queries[j] . key).
struct score_args {
    const float* queries; // [4][32]
    const float* weights; // [4]
    const float* panels;  // [2][32][32]: the block's keys as pack_keys() leaves them
    float* scores;        // [64]
};

struct kernels {
    instruction_set set;
    const char* name;
    void (*linear)(const linear_args&);
    void (*silu_product)(const silu_args&);
    void (*rms)(const float* x, const float* gain, int n, float* y); // 16 divides n; y may be x
    void (*attend)(const attend_args&);
    void (*pack_keys)(const std::uint16_t* keys, float* panels); // [64][32] bf16 -> [2][32][32]
    void (*score)(const score_args&);
    void (*widen)(const std::uint16_t* bits, int n, float* y); // [n] bf16 -> [n]
};

/// Null if this processor or this build does not have the instruction set.
const kernels* find_kernels(instruction_set set);

/// The fastest ones that this processor runs: always the same ones within a process.
const kernels& best_kernels();

} // namespace tiny_dsa
