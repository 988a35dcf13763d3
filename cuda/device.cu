// Device queries, compiled once so that users need no CUDA headers for them.
#include <dhisparse/core/config.hpp>
#include <dhisparse/memory/device.hpp>

#include <cuda_runtime_api.h>

namespace dhisparse {

int device_count() noexcept {
    int count = 0;
    if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
    static_cast<void>(cudaGetLastError()); // the next CUDA call must not report this one's failure
    return 0;
}

} // namespace dhisparse
