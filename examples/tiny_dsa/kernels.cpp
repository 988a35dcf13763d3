#include "kernels.hpp"

namespace tiny_dsa {

const kernels& baseline_kernels();

#if defined(__x86_64__)

const kernels& avx2_kernels();
const kernels& avx512_kernels();

const kernels* find_kernels(instruction_set set) {
    const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool has_avx512 =
        has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    switch (set) {
    case instruction_set::avx2:
        return has_avx2 ? &avx2_kernels() : nullptr;
    case instruction_set::avx512:
        return has_avx512 ? &avx512_kernels() : nullptr;
    default:
        return &baseline_kernels();
    }
}

#else

const kernels* find_kernels(instruction_set set) {
    return set == instruction_set::baseline ? &baseline_kernels() : nullptr;
}

#endif

const kernels& best_kernels() {
    const kernels* const avx512 = find_kernels(instruction_set::avx512);
    const kernels* const avx2 = find_kernels(instruction_set::avx2);
    return avx512 ? *avx512 : avx2 ? *avx2 : baseline_kernels();
}

} // namespace tiny_dsa
