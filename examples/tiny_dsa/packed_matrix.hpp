// A weight matrix in the order in which the kernels read it.
#pragma once

#include "floats.hpp"
#include "kernels.hpp"

#include <cstddef>
#include <span>

namespace tiny_dsa {

/// A panel holds 32 outputs: [n_panels][n_in][32].  Outputs that nothing was placed in are zero.
class packed_matrix {
public:
    packed_matrix() = default;
    packed_matrix(int n_in, int n_out)
        : n_in_(n_in), n_panels_((n_out + panel_columns - 1) / panel_columns),
          panels_(static_cast<std::size_t>(n_panels_) * n_in_ * panel_columns) {}

    int n_in() const { return n_in_; }
    int n_panels() const { return n_panels_; }
    const float* panel(int p) const { return panels_.data() + offset(p * panel_columns, 0); }

    /// weights: [n][n_in], which becomes the outputs [first, first + n).
    void place(std::span<const float> weights, int first) {
        const float* from = weights.data();
        for (int out = first; from != weights.data() + weights.size(); ++out) {
            for (int in = 0; in < n_in_; ++in) {
                panels_[offset(out, in)] = *from++;
            }
        }
    }

    /// weights: [n_in][n], the other way round, which becomes the outputs [0, n).
    void place_transposed(std::span<const float> weights) {
        const float* from = weights.data();
        const int n = static_cast<int>(weights.size()) / n_in_;
        for (int in = 0; in < n_in_; ++in) {
            for (int out = 0; out < n; ++out) {
                panels_[offset(out, in)] = *from++;
            }
        }
    }

private:
    std::size_t offset(int out, int in) const {
        const std::size_t panel = static_cast<std::size_t>(out / panel_columns);
        return (panel * n_in_ + in) * panel_columns + out % panel_columns;
    }

    int n_in_ = 0, n_panels_ = 0;
    floats panels_;
};

} // namespace tiny_dsa
