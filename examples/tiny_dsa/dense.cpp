#include "dense.hpp"

#include <algorithm>

namespace tiny_dsa {

namespace {

constexpr int tile_tokens = 48; // of a task: its x stays in the L2 cache while the weights pass by

// A task has at least so many multiplications, 10 to 50 us: with less, threads cost more time than
// they save, and a busy machine, on which one of them waits for its turn, stalls all others.
constexpr int task_products = 400'000;

struct tile {
    int first_token, n_tokens, first_panel, n_panels;
};

/// Cuts n tokens times the panels of w into tasks: by tokens, and where those are too few for the
/// threads, by panels too.
template <class F>
void for_tiles(runtime& rt, int n, const packed_matrix& w, F&& f) {
    const int n_panels = w.n_panels();
    const int n_tiles = (n + tile_tokens - 1) / tile_tokens;
    const int tile_products = std::min(n, tile_tokens) * n_panels * panel_columns * w.n_in();
    const int most = std::clamp(tile_products / task_products, 1, n_panels);
    const int n_slices = std::clamp(2 * rt.pool.n_threads() / std::max(n_tiles, 1), 1, most);
    rt.pool.run(n_tiles * n_slices, [&](int task, int) {
        const int first = task / n_slices * tile_tokens, slice = task % n_slices;
        const int from = n_panels * slice / n_slices, to = n_panels * (slice + 1) / n_slices;
        f(tile{first, std::min(tile_tokens, n - first), from, to - from});
    });
}

linear_args tile_of(const packed_matrix& w, const tile& t, const float* x, float* y, int y_stride,
                    bool add) {
    return {.x = x,
            .x_stride = w.n_in(),
            .panels = w.panel(t.first_panel),
            .y = y,
            .y_stride = y_stride,
            .n_tokens = t.n_tokens,
            .n_in = w.n_in(),
            .n_panels = t.n_panels,
            .add = add};
}

/// The rms of a tile's tokens.  x: [n][256].
class normed_tile {
public:
    normed_tile(const kernels& k, const floats& gain, const float* x, const tile& t) {
        for (int i = 0; i < t.n_tokens; ++i) {
            k.rms(x + static_cast<std::size_t>(t.first_token + i) * width, gain.data(), width,
                  data_ + i * width);
        }
    }
    const float* data() const { return data_; }

private:
    alignas(64) float data_[tile_tokens * width];
};

/// The gated half of the FFN, a panel (16 of gate, 16 of up) at a time.  act: [n][448].
void gate_tile(const kernels& k, const ffn_weights& w, const float* h, float* act, const tile& t) {
    constexpr int half = panel_columns / 2;
    alignas(64) float gate_up[tile_tokens * panel_columns];
    const normed_tile x(k, w.norm, h, t);
    for (int p = t.first_panel; p < t.first_panel + t.n_panels; ++p) {
        const tile one{t.first_token, t.n_tokens, p, 1};
        k.linear(tile_of(w.gate_up, one, x.data(), gate_up, panel_columns, false));
        float* const y = act + static_cast<std::size_t>(t.first_token) * ffn_width + p * half;
        k.silu_product({.gate_up = gate_up, .y = y, .y_stride = ffn_width, .n_tokens = t.n_tokens});
    }
}

} // namespace

void project(runtime& rt, const packed_matrix& w, const float* x, int n, float* y, int y_stride,
             bool add) {
    for_tiles(rt, n, w, [&](const tile& t) {
        const std::size_t first = static_cast<std::size_t>(t.first_token);
        rt.k.linear(tile_of(w, t, x + first * w.n_in(),
                            y + first * y_stride + t.first_panel * panel_columns, y_stride, add));
    });
}

void norm_project(runtime& rt, const floats& gain, const packed_matrix& w, const float* x, int n,
                  float* y, int y_stride) {
    for_tiles(rt, n, w, [&](const tile& t) {
        const normed_tile normed(rt.k, gain, x, t);
        float* const to =
            y + static_cast<std::size_t>(t.first_token) * y_stride + t.first_panel * panel_columns;
        rt.k.linear(tile_of(w, t, normed.data(), to, y_stride, false));
    });
}

void add_ffn(runtime& rt, const ffn_weights& w, float* h, int n, floats& scratch) {
    float* const act = at_least(scratch, static_cast<std::size_t>(n) * ffn_width);
    for_tiles(rt, n, w.gate_up, [&](const tile& t) { gate_tile(rt.k, w, h, act, t); });
    project(rt, w.down, act, n, h, width, true);
}

} // namespace tiny_dsa
