// The kernels of cuda_model.cu that read a request's history: the indexer and the attention.
#pragma once

#include "cuda_math.cuh"

#include <dhisparse/residency/slot_tables.hpp>
#include <tiny_dsa/spec.hpp>
#include <tiny_dsa/weights.hpp>

namespace decode::gpu {

using namespace tiny_dsa; // the model's numbers

/// Rank keys of all positions that the new one sees.
struct score_params {
    const float* in = nullptr;                                 // [n_queries][in_column::stride]
    const std::int32_t *slots = nullptr, *positions = nullptr; // [n_queries]
    dhisparse::slot_tables_ref tables;
    int producer = 0;
    const std::uint16_t* keys = nullptr; // index block b is keys + b * keys_pitch
    std::int64_t keys_pitch = 0;
    std::uint64_t* ranks = nullptr; // [n_queries][max_positions]
};

/// Block x scores the positions of page x; a thread scores one.
static __global__ void score_kernel(const score_params p) {
    __shared__ float queries[n_index_heads * key_width];
    const auto r = static_cast<int>(blockIdx.y), thread = static_cast<int>(threadIdx.x);
    const auto page = static_cast<int>(blockIdx.x);
    const int last = p.positions[r], position = page * keys_per_block + thread;
    if (page * keys_per_block > last) return;
    const float* const in = p.in + static_cast<std::size_t>(r) * in_column::stride;
    for (int i = thread; i < n_index_heads * key_width; i += keys_per_block)
        queries[i] = in[in_column::index_query + i];
    __syncthreads();
    if (position > last) return;
    const auto block = p.tables.index_table(p.slots[r], p.producer)[page];
    const std::uint16_t* const key = p.keys + block * p.keys_pitch + thread * key_width;
    float sum = 0;
    for (int head = 0; head < n_index_heads; ++head) {
        float dot = 0;
        for (int c = 0; c < key_width; ++c)
            dot = fma(queries[head * key_width + c], widen(key[c]), dot);
        const float positive = dot > 0.0f ? dot : 0.0f;
        const float weight = in[in_column::index_weight + head];
        sum = head == 0 ? __fmul_rn(weight, positive) : fma(weight, positive, sum);
    }
    p.ranks[static_cast<std::size_t>(r) * max_positions + position] =
        rank_key(sum, static_cast<std::uint32_t>(position));
}

inline constexpr int top_k_threads = 1024;

/// The best 256 positions in rank order: sorts all rank keys in shared memory, [max_positions].
static __global__ void __launch_bounds__(top_k_threads)
    top_k_kernel(const std::uint64_t* ranks, const std::int32_t* positions,
                 std::int32_t* selected) {
    extern __shared__ std::uint64_t sorted[];
    const auto r = static_cast<std::size_t>(blockIdx.y);
    const int n = positions[r] + 1, thread = static_cast<int>(threadIdx.x);
    int size = top_k;
    while (size < n)
        size *= 2;
    for (int i = thread; i < size; i += top_k_threads)
        sorted[i] = i < n ? ranks[r * max_positions + i] : ~std::uint64_t{0};
    for (int run = 2; run <= size; run *= 2) // bitonic
        for (int gap = run / 2; gap > 0; gap /= 2) {
            __syncthreads();
            for (int i = thread; i < size / 2; i += top_k_threads) {
                const int low = i / gap * gap * 2 + i % gap, high = low + gap;
                const auto a = sorted[low], b = sorted[high];
                if ((a > b) != ((low & run) == 0)) continue;
                sorted[low] = b;
                sorted[high] = a;
            }
        }
    __syncthreads();
    for (int i = thread; i < top_k; i += top_k_threads)
        selected[r * top_k + i] = i < n ? static_cast<std::int32_t>(sorted[i] & 0xffffffffu) : -1;
}

/// Sparse attention of one layer.
struct attend_params {
    const float* in = nullptr;                // [n_queries][in_column::stride], queries finished
    const float *uk = nullptr, *uv = nullptr; // [8][3][32][32], [8][96][32]
    const std::int32_t* positions = nullptr;  // [n_queries] -1: no query
    const std::uint16_t* rows = nullptr;      // a row at location l is rows + l * 128
    const std::int32_t* at = nullptr;         // [n_queries][256] locations; -1 entries are skipped
    float* u = nullptr;                       // [n_queries][256]
};

inline constexpr int attend_threads = top_k; // one a selected row
inline constexpr float logit_scale = 0.125f; // 64^-0.5

/// Shared memory of a head.
struct attend_shared {
    float query[row_width]; // absorbed: [latent 96 | rope 32]
    float weights[top_k];   // logits, then exp(logit - largest)
    float largest[top_k];
    std::int32_t at[top_k];
    float out[latent_width];
    float sum;
    int n_rows;
};

/// query = [uk nope | rope].
__device__ inline void absorb_query(const float* query, const float* uk, attend_shared& s) {
    const int thread = static_cast<int>(threadIdx.x), panel = thread / panel_columns;
    if (thread < latent_width)
        s.query[thread] = column_sum(query, uk + panel * head_width * panel_columns, head_width,
                                     thread % panel_columns);
    else if (thread < row_width)
        s.query[thread] = query[head_width + thread - latent_width];
}

/// The locations other than -1, in order, to the front.
__device__ inline void pack_locations(const std::int32_t* at, attend_shared& s) {
    const int thread = static_cast<int>(threadIdx.x);
    s.at[thread] = at[thread];
    __syncthreads();
    if (thread == 0) {
        s.n_rows = 0;
        for (int e = 0; e < top_k; ++e)
            if (s.at[e] >= 0) s.at[s.n_rows++] = s.at[e];
    }
    __syncthreads();
}

/// Each row's logit, and the largest of them in s.largest[0].
__device__ inline void logits(const attend_params& p, attend_shared& s) {
    const int thread = static_cast<int>(threadIdx.x);
    float logit = -1e30f; // less than any
    if (thread < s.n_rows) {
        const std::uint16_t* const row = p.rows + std::int64_t{s.at[thread]} * row_width;
        float sum = 0;
        for (int c = 0; c < row_width; ++c)
            sum = fma(widen(row[c]), s.query[c], sum);
        logit = __fmul_rn(sum, logit_scale);
    }
    s.weights[thread] = s.largest[thread] = logit;
    for (int half = attend_threads / 2; half > 0; half /= 2) {
        __syncthreads();
        if (thread < half && s.largest[thread + half] > s.largest[thread])
            s.largest[thread] = s.largest[thread + half];
    }
    __syncthreads();
}

/// Weights and their sum, added up row by row.
__device__ inline void softmax(attend_shared& s) {
    const int thread = static_cast<int>(threadIdx.x);
    s.weights[thread] = exponential(__fsub_rn(s.weights[thread], s.largest[0]));
    __syncthreads();
    if (thread == 0) {
        float sum = 0;
        for (int e = 0; e < s.n_rows; ++e)
            sum = __fadd_rn(sum, s.weights[e]);
        s.sum = sum;
    }
    __syncthreads();
}

/// Block (head, query).
static __global__ void __launch_bounds__(attend_threads) attend_kernel(const attend_params p) {
    __shared__ attend_shared s;
    const auto r = static_cast<std::size_t>(blockIdx.y);
    const int head = static_cast<int>(blockIdx.x), thread = static_cast<int>(threadIdx.x);
    if (p.positions[r] < 0) return;
    absorb_query(p.in + r * in_column::stride + in_column::query + head * query_width,
                 p.uk + head * head_width * latent_width, s);
    pack_locations(p.at + r * top_k, s);
    logits(p, s);
    softmax(s);
    if (thread < latent_width) {
        float sum = 0;
        for (int e = 0; e < s.n_rows; ++e)
            sum = fma(s.weights[e], widen(p.rows[std::int64_t{s.at[e]} * row_width + thread]), sum);
        s.out[thread] = s.n_rows > 0 ? __fdiv_rn(sum, s.sum) : 0.0f;
    }
    __syncthreads();
    if (thread < head_width)
        p.u[r * width + static_cast<std::size_t>(head * head_width + thread)] =
            column_sum(s.out, p.uv + head * latent_width * head_width, latent_width, thread);
}

} // namespace decode::gpu
