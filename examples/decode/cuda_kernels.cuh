// The kernels of cuda_model.cu: block y of a grid is query y, and one thread computes one
// number in the host's order of operations. Plain: the model is an example, not what is measured.
#pragma once

#include "cuda_math.cuh"

#include <dhisparse/residency/slot_tables.hpp>
#include <tiny_dsa/weights.hpp>

namespace decode::gpu {

using namespace tiny_dsa; // the model's numbers

inline constexpr int panels_per_block = 4;
inline constexpr int linear_threads = panels_per_block * panel_columns;

/// y[r] = w x[r], the sum stored or added to y.
struct linear_params {
    const float* x = nullptr;      // [n_queries][n_in]
    const float* gain = nullptr;   // [n_in] x is normalised with it first; null: as it is
    const float* panels = nullptr; // [n_panels][n_in][32]
    int n_in = 0, n_panels = 0;
    float* y = nullptr; // [n_queries][y_stride]
    int y_stride = 0;
};

/// The request's x, normalised where that is asked for, into shared memory.
__device__ inline void load_input(const linear_params& p, float* x) {
    const float* const from = p.x + static_cast<std::size_t>(blockIdx.y) * p.n_in;
    for (int i = static_cast<int>(threadIdx.x); i < p.n_in; i += linear_threads)
        x[i] = from[i];
    __syncthreads();
    if (p.gain) rms(x, p.gain, p.n_in, x);
}

/// One panel's sum for the thread's column. Panels behind the last one repeat it.
__device__ inline float panel_sum(const linear_params& p, const float* x, int panel) {
    const int taken = panel < p.n_panels ? panel : p.n_panels - 1;
    return column_sum(x, p.panels + static_cast<std::size_t>(taken) * p.n_in * panel_columns,
                      p.n_in, static_cast<int>(threadIdx.x) % panel_columns);
}

__device__ inline int panel_of_warp() {
    return static_cast<int>(blockIdx.x) * panels_per_block +
           static_cast<int>(threadIdx.x) / panel_columns;
}

template <bool Add>
__global__ void linear_kernel(const linear_params p) {
    __shared__ float x[ffn_width];
    load_input(p, x);
    const int panel = panel_of_warp();
    const float sum = panel_sum(p, x, panel);
    if (panel >= p.n_panels) return;
    float* const y = p.y + static_cast<std::size_t>(blockIdx.y) * p.y_stride +
                     panel * panel_columns + static_cast<int>(threadIdx.x) % panel_columns;
    *y = Add ? __fadd_rn(*y, sum) : sum;
}

/// y[r][c] = silu(gate) * up: a panel is 16 columns of gate, then the same 16 of up.
static __global__ void gate_kernel(const linear_params p) {
    constexpr int half = panel_columns / 2;
    __shared__ float x[ffn_width];
    load_input(p, x);
    const int panel = panel_of_warp(), lane = static_cast<int>(threadIdx.x) % panel_columns;
    const float sum = panel_sum(p, x, panel);
    const float up = __shfl_down_sync(0xFFFFFFFF, sum, half);
    if (lane >= half || panel >= p.n_panels) return;
    const float silu = __fdiv_rn(sum, __fadd_rn(1.0f, exponential(-sum)));
    p.y[static_cast<std::size_t>(blockIdx.y) * p.y_stride + panel * half + lane] =
        __fmul_rn(silu, up);
}

static __global__ void embed_kernel(const float* embed, const std::uint8_t* bytes, float* h) {
    const auto r = static_cast<std::size_t>(blockIdx.y);
    h[r * width + threadIdx.x] = embed[bytes[r] * width + threadIdx.x];
}

/// Finishes queries, writes the row, and in producers the index key.
struct write_params {
    float* in = nullptr;                                  // [n_queries][in_column::stride]
    const float *kv_norm = nullptr, *key_norm = nullptr;  // key_norm null: no producer
    const float *head_cos = nullptr, *head_sin = nullptr; // [max_positions][16]
    const float *key_cos = nullptr, *key_sin = nullptr;   // [max_positions][8]
    const std::int32_t* positions = nullptr;              // [n_queries] -1: nothing to write
    const std::int32_t* new_rows = nullptr;               // [n_queries] locations
    const std::int32_t* new_blocks = nullptr;             // [n_queries] index blocks
    std::uint16_t* rows = nullptr;
    std::uint16_t* keys = nullptr;
    std::int64_t keys_pitch = 0;
};

inline constexpr int write_threads = 128;
inline constexpr float index_weight_scale = 0.08838834764831845f; // 128^-0.5

__device__ inline void finish_queries(const write_params& p, float* in, int position) {
    const int thread = static_cast<int>(threadIdx.x);
    constexpr int half = head_width / 2, key_half = key_rope_width / 2;
    const int pair = thread % half, at = position * half + pair; // 8 heads of 16 pairs
    rotate(in + in_column::query + thread / half * query_width + head_width + pair, half,
           p.head_cos[at], p.head_sin[at]);
    if (!p.key_norm) return;
    if (thread < n_index_heads * key_half) {
        const int key_pair = thread % key_half, key_at = position * key_half + key_pair;
        rotate(in + in_column::index_query + thread / key_half * key_width + key_pair, key_half,
               p.key_cos[key_at], p.key_sin[key_at]);
    }
    if (thread < n_index_heads) {
        float* const weight = in + in_column::index_weight + thread;
        *weight = __fmul_rn(*weight, index_weight_scale);
    }
}

/// A row or a key: the first n_normed numbers normalised, one run of pairs rotated, all narrowed.
struct stored_numbers {
    int n, n_normed, rotated_from, half;
    const float *gain, *cos, *sin; // cos, sin: of the position
};
__device__ inline void store_numbers(const stored_numbers& what, const float* in,
                                     std::uint16_t* to) {
    __shared__ float x[row_width];
    const int thread = static_cast<int>(threadIdx.x);
    __syncthreads();
    if (thread < what.n) x[thread] = in[thread];
    rms(x, what.gain, what.n_normed, x);
    if (thread < what.half)
        rotate(x + what.rotated_from + thread, what.half, what.cos[thread], what.sin[thread]);
    __syncthreads();
    if (thread < what.n) to[thread] = narrow(x[thread]);
}

static __global__ void __launch_bounds__(write_threads) write_kernel(const write_params p) {
    const auto r = static_cast<int>(blockIdx.y);
    const int position = p.positions[r];
    float* const in = p.in + static_cast<std::size_t>(r) * in_column::stride;
    if (position < 0 || p.new_rows[r] < 0) return;
    finish_queries(p, in, position);
    constexpr int half = head_width / 2, key_half = key_rope_width / 2;
    store_numbers({row_width, latent_width, latent_width, half, p.kv_norm,
                   p.head_cos + position * half, p.head_sin + position * half},
                  in + in_column::row, p.rows + std::int64_t{p.new_rows[r]} * row_width);
    if (!p.key_norm) return;
    std::uint16_t* const key =
        p.keys + p.new_blocks[r] * p.keys_pitch + position % keys_per_block * key_width;
    store_numbers({key_width, key_width, 0, key_half, p.key_norm, p.key_cos + position * key_half,
                   p.key_sin + position * key_half},
                  in + in_column::index_key, key);
}

/// The byte with the largest logit, the lowest one among equals.
static __global__ void argmax_kernel(const float* logits, std::uint8_t* next) {
    __shared__ float value[n_bytes];
    __shared__ int at[n_bytes];
    const int thread = static_cast<int>(threadIdx.x);
    value[thread] = logits[static_cast<std::size_t>(blockIdx.y) * n_bytes + thread];
    at[thread] = thread;
    for (int half = n_bytes / 2; half > 0; half /= 2) {
        __syncthreads();
        if (thread >= half) continue;
        const float a = value[thread], b = value[thread + half];
        if (b > a || (b == a && at[thread + half] < at[thread])) {
            value[thread] = b;
            at[thread] = at[thread + half];
        }
    }
    if (thread == 0) next[blockIdx.y] = static_cast<std::uint8_t>(at[0]);
}

} // namespace decode::gpu
