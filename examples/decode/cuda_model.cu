#include "cuda_model.cuh"

#include "cuda_history_kernels.cuh"
#include "cuda_kernels.cuh"

namespace decode {

using namespace tiny_dsa;
using dhisparse::cuda_check;

namespace {

constexpr int sort_bytes = max_positions * static_cast<int>(sizeof(std::uint64_t));

dim3 grid(int blocks, int requests) {
    return {static_cast<unsigned>(blocks), static_cast<unsigned>(requests), 1};
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

cuda_model::cuda_model(const std::filesystem::path& dir, int n_requests)
    : weights_(target_weights(safetensors(dir / "tiny_dsa.safetensors"))), n_requests_(n_requests),
      h_(std::int64_t{n_requests} * width), in_(std::int64_t{n_requests} * in_column::stride),
      u_(std::int64_t{n_requests} * width), act_(std::int64_t{n_requests} * ffn_width),
      ranks_(std::int64_t{n_requests} * max_positions) {
    cuda_check(cudaFuncSetAttribute(gpu::top_k_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    sort_bytes),
               "shared memory of the top-k");
}

void cuda_model::forward(cudaStream_t stream, const cuda_history& history,
                         const cuda_hooks& hooks) {
    gpu::embed_kernel<<<grid(1, n_requests_), width, 0, stream>>>(weights_.embed.data(),
                                                                  history.next, h_.data());
    for (int layer = 0; layer < n_layers; ++layer)
        run_layer(stream, layer, history, hooks);
    gpu::linear_kernel<false><<<grid(blocks_of(weights_.lm_head.n_panels()), n_requests_),
                                gpu::linear_threads, 0, stream>>>(
        linear(h_.data(), &weights_.final_norm, weights_.lm_head, history.logits, n_bytes));
    gpu::argmax_kernel<<<grid(1, n_requests_), n_bytes, 0, stream>>>(history.logits, history.next);
    cuda_check(cudaGetLastError(), "the model's kernels");
}

void cuda_model::run_layer(cudaStream_t stream, int layer, const cuda_history& history,
                           const cuda_hooks& hooks) {
    const auto& w = weights_.layers[static_cast<std::size_t>(layer)];
    const int producer = producer_of_layer[static_cast<std::size_t>(layer)];
    const auto requests = [&](int blocks) { return grid(blocks, n_requests_); };
    constexpr int threads = gpu::linear_threads;
    gpu::linear_kernel<false><<<requests(blocks_of(w.in.n_panels())), threads, 0, stream>>>(
        linear(h_.data(), &w.attn_norm, w.in, in_.data(), in_column::stride));
    const auto& round = history.round;
    gpu::write_kernel<<<requests(1), gpu::write_threads, 0, stream>>>(
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
    gpu::attend_kernel<<<requests(n_heads), gpu::attend_threads, 0, stream>>>(
        {.in = in_.data(),
         .uk = w.uk.data(),
         .uv = w.uv.data(),
         .rows = history.rows[layer],
         .at = history.at + std::int64_t{producer} * n_requests_ * top_k,
         .u = u_.data()});
    if (last_of_group(layer)) hooks.attended(producer);
    gpu::linear_kernel<true><<<requests(blocks_of(w.out.n_panels())), threads, 0, stream>>>(
        linear(u_.data(), nullptr, w.out, h_.data(), width));
    gpu::gate_kernel<<<requests(blocks_of(w.gate_up.n_panels())), threads, 0, stream>>>(
        linear(h_.data(), &w.ffn_norm, w.gate_up, act_.data(), ffn_width));
    gpu::linear_kernel<true><<<requests(blocks_of(w.down.n_panels())), threads, 0, stream>>>(
        linear(act_.data(), nullptr, w.down, h_.data(), width));
}

void cuda_model::select(cudaStream_t stream, int producer, const cuda_history& history) {
    constexpr int pages = max_positions / keys_per_block;
    gpu::score_kernel<<<grid(pages, n_requests_), keys_per_block, 0, stream>>>(
        {.in = in_.data(),
         .slots = history.round.query_slots,
         .positions = history.round.query_positions,
         .tables = history.tables,
         .producer = producer,
         .keys = history.keys,
         .keys_pitch = history.keys_pitch,
         .ranks = ranks_.data()});
    gpu::top_k_kernel<<<grid(1, n_requests_), gpu::top_k_threads, sort_bytes, stream>>>(
        ranks_.data(), history.round.query_positions,
        history.selected + std::int64_t{producer} * n_requests_ * top_k);
}

} // namespace decode
