// Which proposals of a round the target confirms, decided on the device, where the commit reads it.
#pragma once

#include <dhisparse/round/round.hpp>

#include <cuda_runtime_api.h>

#include <cstdint>

namespace decode {

/// tokens: [n_queries] each request's anchor and proposals; next: [n_queries] the target's byte after
/// each; accepted: [n_requests] is written. All in memory that the device reaches.
void launch_accept(const dhisparse::round_ref& round, const std::uint8_t* tokens,
                   const std::uint8_t* next, std::int32_t* accepted, cudaStream_t stream);

} // namespace decode
