/// Integer arithmetic that can't overflow in silence, and division by a number fixed at construction.
#pragma once

#include <dhisparse/core/config.hpp>
#include <dhisparse/core/error.hpp>

#include <cstdint>
#include <numeric>

namespace dhisparse {

/// ⌈a/b⌉ for a >= 0, b > 0.
template <class T>
DHISPARSE_HD constexpr T ceil_div(T a, T b) {
    return a / b + (a % b != 0);
}

/// a * b; throws out_of_capacity where it doesn't fit in 64 bits. what: the quantity, for the message.
inline std::int64_t checked_mul(std::int64_t a, std::int64_t b, const char* what) {
    std::int64_t out = 0;
    require<out_of_capacity>(!__builtin_mul_overflow(a, b, &out), what, ": ", a, " x ", b,
                             " exceeds 64 bits");
    return out;
}

/// a + b; throws out_of_capacity where it doesn't fit in 64 bits.
inline std::int64_t checked_add(std::int64_t a, std::int64_t b, const char* what) {
    std::int64_t out = 0;
    require<out_of_capacity>(!__builtin_add_overflow(a, b, &out), what, ": ", a, " + ", b,
                             " exceeds 64 bits");
    return out;
}

/// Least common multiple of positive numbers, checked.
inline std::int64_t checked_lcm(std::int64_t a, std::int64_t b, const char* what) {
    return checked_mul(a / std::gcd(a, b), b, what);
}

/// Smallest multiple of `multiple` that is >= value.
inline std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
    return checked_mul(ceil_div(value, multiple), multiple, "rounded size");
}

/// Divides [0, 2^31) by a fixed divisor in [1, 2^31) with one multiplication: q = n·m >> (31+s) with
/// s = ⌈log2 d⌉, m = ⌊2^(31+s)/d⌋ + 1 (Granlund and Montgomery 1994). Exact: n·(m·d - 2^(31+s)) < 2^(31+s).
/// m < 2^32, since d > 2^(s-1): on the device it is the high half of 2n·m, shifted by s.
struct fast_divisor {
    std::uint32_t multiplier = (std::uint32_t{1} << 31) + 1;
    std::uint32_t shift = 31;     // 31 + s
    std::uint32_t high_shift = 0; // s
    std::uint32_t divisor = 1;

    constexpr fast_divisor() = default;
    explicit constexpr fast_divisor(std::uint32_t d) : divisor(d) {
        while ((std::uint64_t{1} << high_shift) < d) ++high_shift;
        shift = 31 + high_shift;
        multiplier = static_cast<std::uint32_t>((std::uint64_t{1} << shift) / d + 1);
    }
    DHISPARSE_HD constexpr std::uint32_t quotient(std::uint32_t n) const {
#ifdef __CUDA_ARCH__
        return __umulhi(n << 1, multiplier) >> high_shift;
#else
        return static_cast<std::uint32_t>((n * std::uint64_t{multiplier}) >> shift);
#endif
    }
    /// n mod d, given its quotient.
    DHISPARSE_HD constexpr std::uint32_t remainder(std::uint32_t n, std::uint32_t quotient) const { return n - quotient * divisor; }
    DHISPARSE_HD constexpr bool is_power_of_two() const { return (divisor & (divisor - 1)) == 0; }
};

/// The same for a power of two. The multiplication by 2^32/d stands for a shift by a variable, which
/// costs more on some processors.
struct shift_divisor {
    std::uint64_t multiplier = std::uint64_t{1} << 32;
    std::uint32_t mask = 0;

    explicit constexpr shift_divisor(std::uint32_t d) : multiplier((std::uint64_t{1} << 32) / d), mask(d - 1) {}
    DHISPARSE_HD constexpr std::uint32_t quotient(std::uint32_t n) const { return static_cast<std::uint32_t>((n * multiplier) >> 32); }
    DHISPARSE_HD constexpr std::uint32_t remainder(std::uint32_t n, std::uint32_t /*quotient*/) const { return n & mask; }
};

} // namespace dhisparse
