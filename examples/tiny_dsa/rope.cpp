#include "rope.hpp"

#include "spec.hpp"

#include <cmath>

namespace tiny_dsa {

rope_table::rope_table(int n) : half_(n / 2) {
    for (int p = 0; p < max_positions; ++p) {
        for (int i = 0; i < half_; ++i) {
            const double angle = p * std::pow(10000.0, -static_cast<double>(i) / half_);
            cos_.push_back(static_cast<float>(std::cos(angle)));
            sin_.push_back(static_cast<float>(std::sin(angle)));
        }
    }
}

void rope_table::rotate(float* x, int position) const {
    const std::size_t at = static_cast<std::size_t>(position) * half_;
    for (int i = 0; i < half_; ++i) {
        const float low = x[i], high = x[i + half_], c = cos_[at + i], s = sin_[at + i];
        x[i] = low * c - high * s;
        x[i + half_] = high * c + low * s;
    }
}

} // namespace tiny_dsa
