// One vector register of floats, as wide as the flags of the including file allow.  Only for
// kernels.ipp.
//
// Everything is in an unnamed namespace: each kernel file needs its own copy.  Were they shared,
// the linker could keep the copy with instructions that the processor lacks.  For the same reason
// nothing of the standard library but types is used here.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tiny_dsa {
namespace {

#if defined(__AVX512F__)
constexpr int lanes = 16;
#elif defined(__AVX2__) && defined(__FMA__)
constexpr int lanes = 8;
#else
constexpr int lanes = 4;
#endif

typedef float vec __attribute__((vector_size(4 * lanes)));
typedef std::int32_t int_vec __attribute__((vector_size(4 * lanes)));
typedef float unaligned_vec __attribute__((vector_size(4 * lanes), aligned(4), may_alias));

[[gnu::always_inline]] inline vec load(const float* p) {
    return *reinterpret_cast<const unaligned_vec*>(p);
}
[[gnu::always_inline]] inline void store(float* p, vec v) {
    *reinterpret_cast<unaligned_vec*>(p) = v;
}
[[gnu::always_inline]] inline vec splat(float x) {
    return x - vec{};
}

// a * b + c and max.  The files are compiled with -ffp-contract=off, so that nothing else is ever
// fused.
#if defined(__AVX512F__)
[[gnu::always_inline]] inline vec fma(vec a, vec b, vec c) {
    return _mm512_fmadd_ps(a, b, c);
}
[[gnu::always_inline]] inline vec max(vec a, vec b) {
    return a > b ? a : b;
}
#elif defined(__AVX2__) && defined(__FMA__)
[[gnu::always_inline]] inline vec fma(vec a, vec b, vec c) {
    return _mm256_fmadd_ps(a, b, c);
}
[[gnu::always_inline]] inline vec max(vec a, vec b) {
    return _mm256_max_ps(a, b);
}
#elif defined(__x86_64__)
[[gnu::always_inline]] inline vec fma(vec a, vec b, vec c) {
    return a * b + c;
}
[[gnu::always_inline]] inline vec max(vec a, vec b) {
    return _mm_max_ps(a, b);
}
#else
[[gnu::always_inline]] inline vec fma(vec a, vec b, vec c) {
    return a * b + c;
}
[[gnu::always_inline]] inline vec max(vec a, vec b) {
    return a > b ? a : b;
}
#endif

/// Clamped to [-87, 88]; within 2 units in the last place.  Cody and Waite's reduction and Cephes'
/// polynomial.
inline vec exp(vec x) {
    const vec low = splat(-87.0f),
              shift = splat(12582912.0f); // 1.5 * 2^23: adding it rounds to an integer
    x = -max(-max(x, low), splat(-88.0f));
    const vec shifted = fma(x, splat(1.44269504f), shift);
    const vec n = shifted - shift;
    const vec r = fma(n, splat(2.12194440e-4f), fma(n, splat(-0.693359375f), x));
    constexpr float c[] = {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f,
                           5.0000001201e-1f};
    vec p = splat(1.9875691500e-4f);
    for (const float next : c) {
        p = fma(p, r, splat(next));
    }
    p = fma(p, r * r, r) + splat(1.0f);
    const int_vec exponent =
        (int_vec)shifted - 0x4b400000 + 127; // 0x4b400000: the bits of the shift
    return p * (vec)(exponent << 23);
}

} // namespace
} // namespace tiny_dsa
