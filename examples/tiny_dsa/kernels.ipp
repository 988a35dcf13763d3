// The kernels' source, included by one file per instruction set.  Unnamed namespace: see simd.hpp.
#include "kernels.hpp"
#include "simd.hpp"

namespace tiny_dsa {
namespace {

// A tile of products: rows of x times a few registers of outputs, sized so that the sums stay in
// registers (16 of them, 32 with AVX-512) and are enough to hide the latency of an addition.
constexpr int column_registers = lanes == 4 ? 4 : 2;
constexpr int tile_columns = column_registers * lanes;
constexpr int tile_rows = lanes == 4 ? 3 : lanes == 8 ? 6 : 12;

/// sums[m][v] += x[m][i * x_step] * w[i * w_step + v], i = 0, 1, .. n_in - 1 in this order.
template <int M, int V>
[[gnu::always_inline]] inline void accumulate(const float* const (&x)[M], int x_step,
                                              const float* w, int w_step, int n_in,
                                              vec (&sums)[M][V]) {
    for (int i = 0; i < n_in; ++i) {
        vec columns[V];
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v) {
            columns[v] = load(w + static_cast<std::int64_t>(i) * w_step + v * lanes);
        }
#pragma GCC unroll 16
        for (int m = 0; m < M; ++m) {
            const vec factor = splat(x[m][i * x_step]);
#pragma GCC unroll 8
            for (int v = 0; v < V; ++v) {
                sums[m][v] = fma(factor, columns[v], sums[m][v]);
            }
        }
    }
}

/// Rows behind the last one of a tile repeat it: the same code for all, and their sums are dropped.
template <int M>
[[gnu::always_inline]] inline void tile_pointers(const float* x, int stride, int first, int n,
                                                 const float* (&rows)[M]) {
    for (int m = 0; m < M; ++m) {
        const int row = first + m < n ? first + m : n - 1;
        rows[m] = x + static_cast<std::int64_t>(row) * stride;
    }
}

void linear_tile(const linear_args& a, int first, const float* w, float* y) {
    const float* x[tile_rows];
    tile_pointers(a.x, a.x_stride, first, a.n_tokens, x);
    vec sums[tile_rows][column_registers] = {};
    accumulate(x, 1, w, panel_columns, a.n_in, sums);
#pragma GCC unroll 16
    for (int m = 0; m < tile_rows; ++m) {
        if (first + m >= a.n_tokens) {
            break;
        }
        for (int v = 0; v < column_registers; ++v) {
            float* const to = y + static_cast<std::int64_t>(first + m) * a.y_stride + v * lanes;
            store(to, a.add ? load(to) + sums[m][v] : sums[m][v]);
        }
    }
}

void linear(const linear_args& a) {
    for (int column = 0; column < a.n_panels * panel_columns; column += tile_columns) {
        const float* const panel =
            a.panels + static_cast<std::int64_t>(column / panel_columns) * a.n_in * panel_columns;
        for (int t = 0; t < a.n_tokens; t += tile_rows) {
            linear_tile(a, t, panel + column % panel_columns, a.y + column);
        }
    }
}

void silu_product(const silu_args& a) {
    for (int t = 0; t < a.n_tokens; ++t) {
        for (int c = 0; c < panel_columns / 2; c += lanes) {
            const float* const from = a.gate_up + t * panel_columns + c;
            const vec gate = load(from), up = load(from + panel_columns / 2);
            const vec silu = gate / (splat(1.0f) + exp(-gate));
            store(a.y + static_cast<std::int64_t>(t) * a.y_stride + c, silu * up);
        }
    }
}

void rms(const float* x, const float* gain, int n, float* y) {
    constexpr int n_sums = 16; // partial sums, added as a tree: the same for every instruction set
    vec sums[n_sums / lanes] = {};
    for (int i = 0; i < n; i += n_sums) {
        for (int v = 0; v < n_sums / lanes; ++v) {
            const vec part = load(x + i + v * lanes);
            sums[v] = fma(part, part, sums[v]);
        }
    }
    float all[n_sums];
    for (int v = 0; v < n_sums / lanes; ++v) {
        store(all + v * lanes, sums[v]);
    }
    for (int half = n_sums / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; ++i) {
            all[i] += all[i + half];
        }
    }
    const vec root = splat(__builtin_sqrtf(all[0] / static_cast<float>(n) + 1e-6f));
    for (int i = 0; i < n; i += lanes) {
        store(y + i, load(gain + i) * load(x + i) / root);
    }
}

// ---- Attention: the 8 heads lie side by side in a vector, with AVX-512 beside 8 unused lanes ----

constexpr int heads = 8;
constexpr int head_lanes = lanes > heads ? lanes : heads;
constexpr int head_registers = head_lanes / lanes;
constexpr int attended_width = 128;
constexpr int logit_rows = 12 / head_registers; // of a tile

/// query: [8][128] -> [128][head_lanes]
void turn_query(const float* query, float* turned) {
    for (int c = 0; c < attended_width; ++c) {
        for (int h = 0; h < head_lanes; ++h) {
            turned[c * head_lanes + h] = h < heads ? query[h * attended_width + c] : 0.0f;
        }
    }
}

/// logits: [n_rows rounded up to logit_rows][head_lanes]
void attention_logits(const attend_args& a, float* logits) {
    alignas(64) float query[attended_width * head_lanes];
    turn_query(a.query, query);
    for (int r = 0; r < a.n_rows; r += logit_rows) {
        const float* rows[logit_rows];
        tile_pointers(a.keys, attended_width, r, a.n_rows, rows);
        vec sums[logit_rows][head_registers] = {};
        accumulate(rows, 1, query, head_lanes, attended_width, sums);
#pragma GCC unroll 16
        for (int m = 0; m < logit_rows; ++m) {
            for (int v = 0; v < head_registers; ++v) {
                store(logits + (r + m) * head_lanes + v * lanes, sums[m][v] * splat(a.scale));
            }
        }
    }
}

/// Turns the logits into exp(logit - largest) in place.  sums: [head_lanes], their sums.
void exponentials(int n_rows, float* logits, float* sums) {
    for (int v = 0; v < head_registers; ++v) {
        float* const column = logits + v * lanes;
        vec largest = load(column), sum = {};
        for (int r = 1; r < n_rows; ++r) {
            largest = max(largest, load(column + r * head_lanes));
        }
        for (int r = 0; r < n_rows; ++r) {
            const vec e = exp(load(column + r * head_lanes) - largest);
            store(column + r * head_lanes, e);
            sum += e;
        }
        store(sums + v * lanes, sum);
    }
}

/// out of the columns [column, column + V * lanes) of M heads from the given one.
template <int M, int V>
void attended_columns(const attend_args& a, const float* p, const float* sums, int head,
                      int column) {
    const float* weights[M];
    for (int m = 0; m < M; ++m) {
        weights[m] = p + head + m;
    }
    vec out[M][V] = {};
    accumulate(weights, head_lanes, a.values + column, attended_width, a.n_rows, out);
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) {
        for (int v = 0; v < V; ++v) {
            store(a.out + (head + m) * attended_width + column + v * lanes,
                  out[m][v] / splat(sums[head + m]));
        }
    }
}

void attend(const attend_args& a) {
    alignas(64) float logits[(max_attended_rows + 12) * head_lanes];
    alignas(64) float sums[head_lanes];
    attention_logits(a, logits);
    exponentials(a.n_rows, logits, sums);
    constexpr int n = lanes == 16 ? 8 : 4, v = 2; // heads and registers of a tile
    for (int column = 0; column < a.n_columns; column += v * lanes) {
        for (int head = 0; head < heads; head += n) {
            attended_columns<n, v>(a, logits, sums, head, column);
        }
    }
}

// ---- The indexer ----

void widen(const std::uint16_t* bits, int n, float* y) {
    for (int i = 0; i < n; ++i) {
        y[i] = __builtin_bit_cast(float, static_cast<std::uint32_t>(bits[i]) << 16);
    }
}

void pack_keys(const std::uint16_t* keys, float* panels) {
    constexpr int n = panel_columns; // positions of a panel, and also numbers of a key
    for (int panel = 0; panel < 2; ++panel) {
        for (int c = 0; c < n; ++c) {
            for (int s = 0; s < n; ++s) {
                const std::uint32_t bits = keys[(panel * n + s) * n + c];
                panels[(panel * n + c) * n + s] = __builtin_bit_cast(float, bits << 16);
            }
        }
    }
}

void score(const score_args& a) {
    constexpr int n_heads = 4, v = 2;
    constexpr int n = panel_columns; // positions of a panel, and also numbers of a key
    const float* const q = a.queries;
    const float* const queries[n_heads] = {q, q + n, q + 2 * n, q + 3 * n};
    for (int s = 0; s < 2 * n; s += v * lanes) {
        vec dots[n_heads][v] = {};
        accumulate(queries, 1, a.panels + s / n * n * n + s % n, n, n, dots);
        for (int r = 0; r < v; ++r) {
            vec sum = splat(a.weights[0]) * max(dots[0][r], vec{});
#pragma GCC unroll 4
            for (int j = 1; j < n_heads; ++j) {
                sum = fma(splat(a.weights[j]), max(dots[j][r], vec{}), sum);
            }
            store(a.scores + s + r * lanes, sum);
        }
    }
}

constexpr kernels table(instruction_set set, const char* name) {
    return {set, name, linear, silu_product, rms, attend, pack_keys, score, widen};
}

} // namespace
} // namespace tiny_dsa
