// Sparse attention of the target: 8 heads over the selected rows.
#include "forward_pass.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace tiny_dsa {

namespace {

constexpr int attend_tokens = 12; // of a task, so that their products by uk and uv fill a tile
constexpr int per_token = n_heads * row_width; // floats of an absorbed query, and of an output
constexpr float logit_scale = 0.125f;          // 64^-0.5

/// y[t] = w[head] x[t] for all heads; a head's x is every x_head floats, its y every y_head.
struct head_product {
    const float* x;
    int x_stride, x_head;
    float* y;
    int y_stride, y_head;
};

void multiply(const kernels& k, const std::array<packed_matrix, n_heads>& w, const head_product& p,
              int n_tokens) {
    for (int i = 0; i < n_heads; ++i) {
        k.linear({.x = p.x + i * p.x_head,
                  .x_stride = p.x_stride,
                  .panels = w[i].panel(0),
                  .y = p.y + i * p.y_head,
                  .y_stride = p.y_stride,
                  .n_tokens = n_tokens,
                  .n_in = w[i].n_in(),
                  .n_panels = w[i].n_panels(),
                  .add = false});
    }
}

} // namespace

/// What a thread needs for its tokens.
struct attend_scratch {
    float query[attend_tokens * per_token]; // absorbed: [tokens][8][latent 96 | rope 32]
    float out[attend_tokens * per_token];   // [tokens][8][128], the first 96 used
    float rows[top_k * row_width];          // of one token
};

void forward_pass::attend(int layer) {
    constexpr std::size_t scratch_floats = sizeof(attend_scratch) / sizeof(float);
    at_least(ws_.attended, static_cast<std::size_t>(rt_.pool.n_threads()) * scratch_floats);
    const int even = (n() + rt_.pool.n_threads() - 1) / rt_.pool.n_threads();
    const int size = std::min(even, attend_tokens);
    rt_.pool.run((n() + size - 1) / size, [&](int task, int worker) {
        auto* const scratch =
            reinterpret_cast<attend_scratch*>(ws_.attended.data() + worker * scratch_floats);
        attend_tile(layer, {task * size, std::min(n(), (task + 1) * size)}, *scratch);
    });
}

void forward_pass::attend_tile(int layer, token_range range, attend_scratch& s) {
    const layer_weights& w = w_.layers[layer];
    const int n_tokens = range.end - range.first;
    multiply(rt_.k, w.uk,
             {in(range.first, in_column::query), in_column::stride, query_width, s.query, per_token,
              row_width},
             n_tokens);
    for (int t = 0; t < n_tokens; ++t) {
        attend_token(layer, range.first + t, s.query + t * per_token, s.out + t * per_token,
                     s.rows);
    }
    multiply(rt_.k, w.uv,
             {s.out, per_token, row_width,
              ws_.u.data() + static_cast<std::size_t>(range.first) * width, width, head_width},
             n_tokens);
}

void forward_pass::attend_token(int layer, int i, float* query, float* out, float* rows) {
    for (int head = 0; head < n_heads; ++head) {
        const float* const rope = in(i, in_column::query + head * query_width + head_width);
        std::copy_n(rope, head_width, query + head * row_width + latent_width);
    }
    const int n_rows = gather(layer, i, rows);
    if (n_rows == 0) { // only if the store dropped all of them
        std::fill_n(out, per_token, 0.0f);
        return;
    }
    rt_.k.attend({.query = query,
                  .keys = rows,
                  .values = rows,
                  .n_rows = n_rows,
                  .n_columns = latent_width,
                  .scale = logit_scale,
                  .out = out});
}

int forward_pass::gather(int layer, int i, float* rows) {
    const rows_view view = store_.rows(layer, i);
    if (view.locations.size() > top_k) {
        throw std::invalid_argument("the store gives " + std::to_string(view.locations.size()) +
                                    " locations for a token, the limit is 256");
    }
    int n_rows = 0;
    for (const std::int32_t location : view.locations) {
        if (location >= 0) {
            const auto* const row = view.base + static_cast<std::ptrdiff_t>(location) * row_width;
            rt_.k.widen(row, row_width, rows + row_width * n_rows++);
        }
    }
    return n_rows;
}

} // namespace tiny_dsa
