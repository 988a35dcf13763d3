// One vector register of floats, as wide as the flags of the including file allow; for kernels.ipp.
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

// a * b + c.  With -ffp-contract=off the compiler fuses nothing by itself.
[[gnu::always_inline]] inline vec fma(vec a, vec b, vec c) {
#if defined(__AVX512F__)
    return _mm512_fmadd_ps(a, b, c);
#elif defined(__AVX2__) && defined(__FMA__)
    return _mm256_fmadd_ps(a, b, c);
#else
    return a * b + c;
#endif
}

[[gnu::always_inline]] inline vec max(vec a, vec b) {
#if defined(__x86_64__) && !defined(__AVX2__) // without blends gcc would not find maxps
    return _mm_max_ps(a, b);
#else
    return a > b ? a : b;
#endif
}

/// e to the power of x, which is clamped to [-87, 88]; Cephes' polynomial.
inline vec exp(vec x) {
    x = -max(-max(x, splat(-87.0f)), splat(-88.0f));
    const vec shift = splat(12582912.0f); // 1.5 * 2^23: adding it rounds to an integer
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
    const int_vec exponent = (int_vec)shifted - 0x4b400000 + 127; // less the bits of the shift
    return p * (vec)(exponent << 23);
}

} // namespace
} // namespace tiny_dsa
