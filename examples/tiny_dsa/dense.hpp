// The steps that are the same in the target and in the drafter: normalised projections and the FFN.
#pragma once

#include "floats.hpp"
#include "packed_matrix.hpp"
#include "runtime.hpp"
#include "weights.hpp"

namespace tiny_dsa {

/// y[t] = w x[t], the sum stored or added to y.  x: [n][w.n_in()], y: [n][y_stride].
void project(runtime& rt, const packed_matrix& w, const float* x, int n, float* y, int y_stride,
             bool add);

/// y[t] = w rms(x[t]; gain).  x: [n][256], y: [n][y_stride].
void norm_project(runtime& rt, const floats& gain, const packed_matrix& w, const float* x, int n,
                  float* y, int y_stride);

/// h[t] += ffn(rms(h[t])).  h: [n][256]; scratch grows to [n][448].
void add_ffn(runtime& rt, const ffn_weights& w, float* h, int n, floats& scratch);

/// Calls f(first, end) for ranges of [0, n) of at most `most` elements each, on all threads.
template <class F>
void for_ranges(runtime& rt, int n, int most, F&& f) {
    const int even = (n + rt.pool.n_threads() - 1) / rt.pool.n_threads();
    const int size = even < most ? even : most;
    rt.pool.run(n > 0 ? (n + size - 1) / size : 0, [&](int task, int) {
        const int first = task * size;
        f(first, first + size < n ? first + size : n);
    });
}

} // namespace tiny_dsa
