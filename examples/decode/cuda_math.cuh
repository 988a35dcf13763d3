// The model's arithmetic on the GPU: the operations of tiny_dsa/kernels.ipp with fused
// multiply-adds, one after another in the same order, so that every bit is the one that those
// kernels compute. The intrinsics round as IEEE says and are never fused with their neighbours,
// whatever the flags.
#pragma once

#include <cstdint>

namespace decode::gpu {

/// a * b + c, rounded once.
__device__ inline float fma(float a, float b, float c) {
    return __fmaf_rn(a, b, c);
}

/// e to the power of x, which is clamped to [-87, 88]; Cephes' polynomial.
__device__ inline float exponential(float x) {
    x = x > -87.0f ? x : -87.0f;
    x = x < 88.0f ? x : 88.0f;
    const float shift = 12582912.0f; // 1.5 * 2^23: adding it rounds to an integer
    const float shifted = fma(x, 1.44269504f, shift);
    const float n = __fsub_rn(shifted, shift);
    const float r = fma(n, 2.12194440e-4f, fma(n, -0.693359375f, x));
    float p = 1.9875691500e-4f;
    p = fma(p, r, 1.3981999507e-3f);
    p = fma(p, r, 8.3334519073e-3f);
    p = fma(p, r, 4.1665795894e-2f);
    p = fma(p, r, 1.6666665459e-1f);
    p = fma(p, r, 5.0000001201e-1f);
    p = __fadd_rn(fma(p, __fmul_rn(r, r), r), 1.0f);
    const int exponent = __float_as_int(shifted) - 0x4b400000 + 127; // less the bits of the shift
    return __fmul_rn(p, __int_as_float(exponent << 23));
}

__device__ inline float widen(std::uint16_t bits) {
    return __uint_as_float(static_cast<std::uint32_t>(bits) << 16);
}

/// To bf16: to nearest, ties to even.
__device__ inline std::uint16_t narrow(float value) {
    const auto bits = __float_as_uint(value);
    return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/// y = gain * x / rms(x), of n numbers in shared memory, by a whole block; 16 divides n, y may be
/// x.
__device__ inline void rms(const float* x, const float* gain, int n, float* y) {
    constexpr int n_sums = 16; // partial sums, added as a tree
    __shared__ float sums[n_sums];
    const int thread = static_cast<int>(threadIdx.x);
    __syncthreads();
    if (thread < n_sums) {
        float sum = 0;
        for (int i = thread; i < n; i += n_sums)
            sum = fma(x[i], x[i], sum);
        sums[thread] = sum;
    }
    __syncthreads();
    if (thread == 0)
        for (int half = n_sums / 2; half > 0; half /= 2)
            for (int i = 0; i < half; ++i)
                sums[i] = __fadd_rn(sums[i], sums[i + half]);
    __syncthreads();
    const float mean = __fdiv_rn(sums[0], static_cast<float>(n));
    const float root = __fsqrt_rn(__fadd_rn(mean, 1e-6f));
    for (int i = thread; i < n; i += static_cast<int>(blockDim.x))
        y[i] = __fdiv_rn(__fmul_rn(gain[i], x[i]), root);
    __syncthreads();
}

/// Rotates the pair (x[0], x[half]) by an angle's cosine and sine.
__device__ inline void rotate(float* x, int half, float c, float s) {
    const float low = x[0], high = x[half];
    x[0] = __fsub_rn(__fmul_rn(low, c), __fmul_rn(high, s));
    x[half] = __fadd_rn(__fmul_rn(high, c), __fmul_rn(low, s));
}

/// Smaller for what ranks higher: tiny_dsa/top_k.cpp.
__device__ inline std::uint64_t rank_key(float score, std::uint32_t position) {
    const auto bits = __float_as_uint(__fadd_rn(score, 0.0f)); // -0 becomes +0
    const auto ascending = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    return std::uint64_t{~ascending} << 32 | position;
}

/// Sum over i of x[i] * w[i][column], i = 0, 1, .. n - 1 in this order; w: [n][32], x in shared
/// memory.
__device__ inline float column_sum(const float* x, const float* w, int n, int column) {
    float sum = 0;
#pragma unroll 8
    for (int i = 0; i < n; ++i)
        sum = fma(x[i], w[i * 32 + column], sum);
    return sum;
}

} // namespace decode::gpu
