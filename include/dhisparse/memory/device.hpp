/// Questions about the machine's CUDA devices that host code can ask without CUDA headers.
#pragma once

namespace dhisparse {

/// How many CUDA devices can be used now; 0 also without a driver. Does not throw and does not
/// synchronise. Needs dhisparse::cuda.
int device_count() noexcept;

} // namespace dhisparse
