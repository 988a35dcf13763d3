// The steps that are the same in the target and in the drafter: normalised projections and the FFN.
#pragma once

#include "floats.hpp"
#include "packed_matrix.hpp"
#include "runtime.hpp"
#include "weights.hpp"

#include <algorithm>

namespace tiny_dsa {

/// y[t] = w x[t], the sum stored or added to y.  x: [n][w.n_in()], y: [n][y_stride].
void project(runtime& rt, const packed_matrix& w, const float* x, int n, float* y, int y_stride,
             bool add);

/// y[t] = w rms(x[t]; gain).  x: [n][256], y: [n][y_stride].
void norm_project(runtime& rt, const floats& gain, const packed_matrix& w, const float* x, int n,
                  float* y, int y_stride);

/// h[t] += ffn(rms(h[t])).  h: [n][256]; scratch grows to [n][448].
void add_ffn(runtime& rt, const ffn_weights& w, float* h, int n, floats& scratch);

/// Calls f(first, end) for ranges of `size` elements of [0, n), the last one smaller, on all
/// threads.
template <class F>
void for_ranges(runtime& rt, int n, int size, F&& f) {
    rt.pool.run((n + size - 1) / size, [&](int task, int) {
        const int first = task * size;
        f(first, std::min(first + size, n));
    });
}

} // namespace tiny_dsa
