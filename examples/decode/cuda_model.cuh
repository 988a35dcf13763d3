// The tiny model's forward pass on the GPU: one new byte of each request, as kernels of a stream.
#pragma once

#include "cuda_weights.cuh"

#include <dhisparse/residency/slot_tables.hpp>
#include <dhisparse/round/round.hpp>

#include <cstdint>
#include <functional>

namespace decode {

/// Where a round's history lies; all pointers but `next` are device memory.
struct cuda_history {
    std::uint16_t* rows[tiny_dsa::n_layers] = {}; // a layer's row at location l is rows + l * 128
    std::uint16_t* keys = nullptr;                // index block b is keys + b * keys_pitch
    std::int64_t keys_pitch = 0;                  // in numbers, not bytes
    dhisparse::slot_tables_ref tables;            // of which kernels read the index tables
    dhisparse::round_ref round;                   // one query a request
    std::int32_t* selected = nullptr;  // [n_producers][n_requests][256] positions, -1: none
    dhisparse::location* at = nullptr; // [n_producers][n_requests][256] where those rows lie
    std::uint8_t* next = nullptr; // [n_requests] in: the byte to process, out: the one that follows
    float* logits = nullptr;      // [n_requests][256]
};

/// What is enqueued between the model's kernels: selected(p) behind the selection of producer p,
/// attended(p) behind the last attention that uses it.
struct cuda_hooks {
    std::function<void(int producer)> selected, attended;
};

/// Computes bit by bit what tiny_dsa::model does on a processor with fused multiply-adds.
class cuda_model {
public:
    /// Reads dir/tiny_dsa.safetensors. Throws load_error and what CUDA refuses.
    cuda_model(const std::filesystem::path& dir, int n_requests);

    /// Enqueues a forward pass; allocates nothing and waits for nothing. Requests without a slot
    /// write nothing to the history.
    void forward(cudaStream_t stream, const cuda_history& history, const cuda_hooks& hooks);

private:
    void run_layer(cudaStream_t stream, int layer, const cuda_history& history,
                   const cuda_hooks& hooks);
    void select(cudaStream_t stream, int producer, const cuda_history& history);

    cuda_weights weights_;
    int n_requests_;
    device_array<float> h_;             // [n_requests][256]
    device_array<float> in_;            // [n_requests][in_column::stride]
    device_array<float> u_;             // [n_requests][256], attention output of a layer
    device_array<float> act_;           // [n_requests][448]
    device_array<std::uint64_t> ranks_; // [n_requests][8192] rank keys of the positions
};

} // namespace decode
