// Rotary position tables: angles in fp64, cos and sin rounded to fp32.
#pragma once

#include "floats.hpp"

namespace tiny_dsa {

class rope_table {
public:
    explicit rope_table(int n); // n numbers are rotated, n / 2 pairs (i, i + n / 2)

    /// x: [n], rotated in place.  0 <= position < max_positions.
    void rotate(float* x, int position) const;

    /// [max_positions][n / 2] of each pair's angle.
    const floats& cos() const { return cos_; }
    const floats& sin() const { return sin_; }

private:
    int half_;
    floats cos_, sin_;
};

} // namespace tiny_dsa
