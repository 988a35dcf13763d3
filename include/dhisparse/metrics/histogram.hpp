/// Counts values by powers of two: fixed size, no allocation, trivially copyable.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace dhisparse {

/// Bucket 0 holds the value 0, bucket i values in [2^(i-1), 2^i), the last all beyond.
struct histogram {
    static constexpr int n_buckets = 32;
    std::array<std::uint64_t, n_buckets> counts{};
    std::uint64_t n = 0, sum = 0;

    void add(std::uint64_t value) {
        const auto bucket = std::bit_width(value);
        ++counts[static_cast<std::size_t>(bucket < n_buckets ? bucket : n_buckets - 1)];
        ++n;
        sum += value;
    }
    /// Values in bucket i are at most this; the last bucket has no bound.
    static constexpr std::uint64_t upper(int i) { return (std::uint64_t{1} << i) - 1; }
};

} // namespace dhisparse
