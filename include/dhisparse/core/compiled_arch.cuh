/// Which architecture a kernel was compiled for, as opposed to the one that it runs on.
#pragma once

#include <dhisparse/core/cuda_check.cuh>

namespace dhisparse {

/// What __CUDA_ARCH__ / 10 was (80, 90, …) where the image of this kernel was compiled that the current device runs.
/// A device also runs PTX of an older architecture, compiled while it is loaded, and such code has not what that
/// architecture lacks (below 90: clusters and bulk copies). Loads the kernel: not for use during a capture.
template <class... Parameters>
int compiled_arch(void (*kernel)(Parameters...)) {
    cudaFuncAttributes found{};
    cuda_check(cudaFuncGetAttributes(&found, reinterpret_cast<const void*>(kernel)), "attributes of a kernel");
    return found.ptxVersion;
}

} // namespace dhisparse
