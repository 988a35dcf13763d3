// The kernels with AVX2 and FMA; CMakeLists.txt gives this file the flags.
#if defined(__x86_64__)
#include "kernels.ipp"

namespace tiny_dsa {

const kernels& avx2_kernels() {
    static constexpr kernels all = table(instruction_set::avx2, "avx2");
    return all;
}

} // namespace tiny_dsa
#endif
