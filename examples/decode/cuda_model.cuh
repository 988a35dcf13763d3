// The tiny model's forward pass on the GPU: the new bytes of a round, as kernels of a stream.
#pragma once

#include "cuda_weights.cuh"

#include <dhisparse/residency/slot_tables.hpp>
#include <dhisparse/round/round.hpp>

#include <cstdint>
#include <functional>

namespace decode {

/// Where a round's history lies, and what comes in and out, in memory that the device reaches.
struct cuda_history {
    std::uint16_t* rows[tiny_dsa::n_layers] = {}; // a layer's row at location l is rows + l * 128
    std::uint16_t* keys = nullptr;                // index block b is keys + b * keys_pitch
    std::int64_t keys_pitch = 0;                  // in numbers, not bytes
    dhisparse::slot_tables_ref tables;            // of which kernels read the index tables
    dhisparse::round_ref round;
    std::int32_t* selected = nullptr;  // [n_producers][n_queries][256] positions, -1: none
    dhisparse::location* at = nullptr; // [n_producers][n_queries][256] where those rows lie
    const std::uint8_t* tokens = nullptr; // [n_queries] the bytes to process
    std::uint8_t* next = nullptr;         // [n_queries] those that follow; may be the same memory
    float* logits = nullptr;              // [n_queries][256]
    float* features = nullptr;            // [n_queries][768] for the drafter; null: nobody asks
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
    cuda_model(const std::filesystem::path& dir, int n_queries);

    /// Enqueues a forward pass of round.n_queries, n_queries at most; allocates nothing and waits for
    /// nothing. Queries without a slot write nothing to the history.
    void forward(cudaStream_t stream, const cuda_history& history, const cuda_hooks& hooks);

private:
    void run_layer(cudaStream_t stream, int layer, const cuda_history& history,
                   const cuda_hooks& hooks);
    void select(cudaStream_t stream, int producer, const cuda_history& history);
    void keep_feature(cudaStream_t stream, int layer, float* features);

    cuda_weights weights_;
    int n_queries_; // of the round under way
    device_array<float> h_;             // [n_queries][256]
    device_array<float> in_;            // [n_queries][in_column::stride]
    device_array<float> u_;             // [n_queries][256], attention output of a layer
    device_array<float> act_;           // [n_queries][448]
    device_array<std::uint64_t> ranks_; // [n_queries][8192] rank keys of the positions
};

} // namespace decode
