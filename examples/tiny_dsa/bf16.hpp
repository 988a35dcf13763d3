// bf16 as its bits: rows and index keys are stored in it.
#pragma once

#include <bit>
#include <cstdint>

namespace tiny_dsa {

inline float widen(std::uint16_t bits) {
    return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

/// To nearest, ties to even.
inline std::uint16_t narrow(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

} // namespace tiny_dsa
