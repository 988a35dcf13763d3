// Rotary position tables: angles in fp64, cos and sin rounded to fp32.
#pragma once

#include "floats.hpp"

namespace tiny_dsa {

class rope_table {
public:
    explicit rope_table(int n); // n numbers are rotated, n / 2 pairs (i, i + n / 2)

    /// x: [n], rotated in place.  0 <= position < max_positions.
    void rotate(float* x, int position) const;

private:
    int half_;
    floats cos_, sin_; // [max_positions][half]
};

} // namespace tiny_dsa
