// The kernels with AVX-512; CMakeLists.txt gives this file the flags.
#if defined(__x86_64__)
#include "kernels.ipp"

namespace tiny_dsa {

const kernels& avx512_kernels() {
    static constexpr kernels all = table(instruction_set::avx512, "avx512");
    return all;
}

} // namespace tiny_dsa
#endif
