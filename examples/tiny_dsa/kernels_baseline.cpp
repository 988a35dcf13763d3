// The kernels for any processor of the build.
#include "kernels.ipp"

namespace tiny_dsa {

const kernels& baseline_kernels() {
    static constexpr kernels all = table(instruction_set::baseline, "baseline");
    return all;
}

} // namespace tiny_dsa
