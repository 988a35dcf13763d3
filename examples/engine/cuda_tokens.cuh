// The device's part of the loop's tokens: what a round has given to each slot, kept for the round behind it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace engine {

struct cuda_tokens {
    const std::int32_t* slots = nullptr; // [n] of the round's requests; request r is slot r, or -1
    std::uint8_t* next = nullptr;        // [n] the model's: in the tokens to process, out those that follow
    std::uint8_t* anchors = nullptr;     // [n] the last token of each slot; those of -1 stay as they are
    std::uint8_t* said = nullptr;        // [n] for the host: written where there is a request
    int n = 0;
};

/// The anchors become the tokens to process.
void launch_take_anchors(const cuda_tokens& of, cudaStream_t stream);
/// The tokens that follow become the anchors, and are told.
void launch_keep_tokens(const cuda_tokens& of, cudaStream_t stream);

} // namespace engine
