/// Whose memory a pointer names: a hierarchy lives on one device.
#pragma once

#include <dhisparse/core/cuda_check.cuh>

namespace dhisparse {

/// Throws invalid_argument, naming both devices, where the pointer is memory of another device than this, and where it is
/// ordinary host memory on a device that reads none. Null passes. Asks the driver without waiting; may be called in a capture.
inline void require_memory_of(int device, const void* at, const char* what) {
    if (!at) return;
    cudaPointerAttributes found{};
    cuda_check(cudaPointerGetAttributes(&found, at), what);
    require(found.type != cudaMemoryTypeDevice || found.device == device, what, " is memory of device ", found.device, ", permitted: memory of device ", device, ", where the hierarchy lives, or pinned memory");
    if (found.type != cudaMemoryTypeUnregistered) return;
    int reads_any = 0;
    cuda_check(cudaDeviceGetAttribute(&reads_any, cudaDevAttrPageableMemoryAccess, device), what);
    require(reads_any != 0, what, " is ordinary host memory, permitted: memory of device ", device, ", or pinned memory");
}

} // namespace dhisparse
