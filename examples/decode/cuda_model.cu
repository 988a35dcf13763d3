#include "cuda_model.cuh"

#include "cuda_history_kernels.cuh"
#include "cuda_kernels.cuh"

#include <algorithm>

namespace decode {

using namespace tiny_dsa;
using dhisparse::cuda_check;

namespace {

constexpr int sort_bytes = max_positions * static_cast<int>(sizeof(std::uint64_t));

dim3 grid(int blocks, int queries) {
    return {static_cast<unsigned>(blocks), static_cast<unsigned>(queries), 1};
}

int blocks_of(int panels) {
    return (panels + gpu::panels_per_block - 1) / gpu::panels_per_block;
}

gpu::linear_params linear(const float* x, const device_array<float>* gain, const cuda_matrix& w,
                          float* y, int y_stride) {
    return {.x = x,
            .gain = gain ? gain->data() : nullptr,
            .panels = w.panels(),
            .n_in = w.n_in(),
            .n_panels = w.n_panels(),
            .y = y,
            .y_stride = y_stride};
}

bool last_of_group(int layer) {
    const auto l = static_cast<std::size_t>(layer);
    return layer + 1 == n_layers || producer_of_layer[l + 1] != producer_of_layer[l];
}

} // namespace

cuda_model::cuda_model(const std::filesystem::path& dir, int n_queries)
    : weights_(target_weights(safetensors(dir / "tiny_dsa.safetensors"))), n_queries_(n_queries),
      h_(std::int64_t{n_queries} * width), in_(std::int64_t{n_queries} * in_column::stride),
      u_(std::int64_t{n_queries} * width), act_(std::int64_t{n_queries} * ffn_width),
      ranks_(std::int64_t{n_queries} * max_positions) {
    cuda_check(cudaFuncSetAttribute(gpu::top_k_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    sort_bytes),
               "shared memory of the top-k");
}

void cuda_model::forward(cudaStream_t stream, const cuda_history& history,
                         const cuda_hooks& hooks) {
    n_queries_ = history.round.n_queries;
    gpu::embed_kernel<<<grid(1, n_queries_), width, 0, stream>>>(weights_.embed.data(),
                                                                  history.tokens, h_.data());
    for (int layer = 0; layer < n_layers; ++layer) {
        run_layer(stream, layer, history, hooks);
        keep_feature(stream, layer, history.features);
    }
    gpu::linear_kernel<false><<<grid(blocks_of(weights_.lm_head.n_panels()), n_queries_),
                                gpu::linear_threads, 0, stream>>>(
        linear(h_.data(), &weights_.final_norm, weights_.lm_head, history.logits, n_bytes));
    gpu::argmax_kernel<<<grid(1, n_queries_), n_bytes, 0, stream>>>(history.logits, history.next);
    cuda_check(cudaGetLastError(), "the model's kernels");
}

void cuda_model::run_layer(cudaStream_t stream, int layer, const cuda_history& history,
                           const cuda_hooks& hooks) {
    const auto& w = weights_.layers[static_cast<std::size_t>(layer)];
    const int producer = producer_of_layer[static_cast<std::size_t>(layer)];
    const auto queries = [&](int blocks) { return grid(blocks, n_queries_); };
    constexpr int threads = gpu::linear_threads;
    gpu::linear_kernel<false><<<queries(blocks_of(w.in.n_panels())), threads, 0, stream>>>(
        linear(h_.data(), &w.attn_norm, w.in, in_.data(), in_column::stride));
    const auto& round = history.round;
    gpu::write_kernel<<<queries(1), gpu::write_threads, 0, stream>>>(
        {.in = in_.data(),
         .kv_norm = w.kv_norm.data(),
         .key_norm = w.key_norm.data(), // none but in producers
         .head_cos = weights_.head_rope.cos.data(),
         .head_sin = weights_.head_rope.sin.data(),
         .key_cos = weights_.key_rope.cos.data(),
         .key_sin = weights_.key_rope.sin.data(),
         .positions = round.query_positions,
         .new_rows = round.group_locations(producer),
         .new_blocks = round.source_blocks(producer),
         .rows = history.rows[layer],
         .keys = history.keys,
         .keys_pitch = history.keys_pitch});
    if (is_producer(layer)) {
        select(stream, producer, history);
        hooks.selected(producer);
    }
    gpu::attend_kernel<<<queries(n_heads), gpu::attend_threads, 0, stream>>>(
        {.in = in_.data(),
         .uk = w.uk.data(),
         .uv = w.uv.data(),
         .positions = round.query_positions,
         .rows = history.rows[layer],
         .at = history.at + std::int64_t{producer} * n_queries_ * top_k,
         .u = u_.data()});
    if (last_of_group(layer)) hooks.attended(producer);
    gpu::linear_kernel<true><<<queries(blocks_of(w.out.n_panels())), threads, 0, stream>>>(
        linear(u_.data(), nullptr, w.out, h_.data(), width));
    gpu::gate_kernel<<<queries(blocks_of(w.gate_up.n_panels())), threads, 0, stream>>>(
        linear(h_.data(), &w.ffn_norm, w.gate_up, act_.data(), ffn_width));
    gpu::linear_kernel<true><<<queries(blocks_of(w.down.n_panels())), threads, 0, stream>>>(
        linear(act_.data(), nullptr, w.down, h_.data(), width));
}

void cuda_model::select(cudaStream_t stream, int producer, const cuda_history& history) {
    constexpr int pages = max_positions / keys_per_block;
    gpu::score_kernel<<<grid(pages, n_queries_), keys_per_block, 0, stream>>>(
        {.in = in_.data(),
         .slots = history.round.query_slots,
         .positions = history.round.query_positions,
         .tables = history.tables,
         .producer = producer,
         .keys = history.keys,
         .keys_pitch = history.keys_pitch,
         .ranks = ranks_.data()});
    gpu::top_k_kernel<<<grid(1, n_queries_), gpu::top_k_threads, sort_bytes, stream>>>(
        ranks_.data(), history.round.query_positions,
        history.selected + std::int64_t{producer} * n_queries_ * top_k);
}

void cuda_model::keep_feature(cudaStream_t stream, int layer, float* features) {
    const auto part = std::find(feature_layers.begin(), feature_layers.end(), layer);
    if (!features || part == feature_layers.end()) return;
    constexpr auto bytes = width * sizeof(float);
    cuda_check(cudaMemcpy2DAsync(features + (part - feature_layers.begin()) * width,
                                 feature_width * sizeof(float), h_.data(), bytes, bytes,
                                 static_cast<std::size_t>(n_queries_), cudaMemcpyDefault, stream),
               "features");
}

} // namespace decode
