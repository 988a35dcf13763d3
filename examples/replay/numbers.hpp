// Random numbers that are the same everywhere, and quantiles in bounded memory.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace replay {

/// splitmix64.
class random_numbers {
public:
    explicit random_numbers(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        auto z = state_ += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    /// In [0, 1).
    double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

private:
    std::uint64_t state_;
};

/// Values from 0 up, counted in classes 0.05 % wide: a quantile is right to that.
class quantiles {
public:
    void add(double value) {
        const auto at = value <= least ? 0 : 1 + static_cast<std::size_t>(std::log(value / least) / std::log(width));
        if (at >= counts_.size()) counts_.resize(at + 1);
        ++counts_[at];
        ++n_;
    }
    /// Nearest rank; 0 where there is no value.
    double at(double share) const {
        const auto rank = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(share * static_cast<double>(n_))));
        std::int64_t seen = 0;
        for (std::size_t i = 0; i < counts_.size(); ++i)
            if ((seen += counts_[i]) >= rank) return i == 0 ? 0 : least * std::pow(width, static_cast<double>(i) - 0.5);
        return 0;
    }

private:
    static constexpr double least = 1e-6, width = 1.0005;
    std::vector<std::int64_t> counts_;
    std::int64_t n_ = 0;
};

} // namespace replay
