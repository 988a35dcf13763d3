/// Turns a CUDA error into an exception, and clears it.
#pragma once

#include <dhisparse/core/error.hpp>

#include <cuda_runtime_api.h>

namespace dhisparse {

/// Throws cuda_error, saying what was tried, unless the status is success.
inline void cuda_check(cudaError_t status, const char* what) {
    if (status == cudaSuccess) return;
    cudaGetLastError(); // consumed: it may not surface at somebody else's call
    throw cuda_error(text(what, ": ", cudaGetErrorName(status), " (", cudaGetErrorString(status), ")"));
}

/// Makes a device current and puts the former one back.
class device_guard {
public:
    explicit device_guard(int device) {
        cuda_check(cudaGetDevice(&former_), "cudaGetDevice");
        if (device != former_) cuda_check(cudaSetDevice(device), "cudaSetDevice");
    }
    ~device_guard() { cudaSetDevice(former_); }
    device_guard(const device_guard&) = delete;
    device_guard& operator=(const device_guard&) = delete;

private:
    int former_ = 0;
};

} // namespace dhisparse
