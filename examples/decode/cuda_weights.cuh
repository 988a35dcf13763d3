// The target's weights and rope tables in device memory, in the order in which the host keeps them.
#pragma once

#include <dhisparse/memory/device_memory.cuh>
#include <tiny_dsa/rope.hpp>
#include <tiny_dsa/weights.hpp>

#include <filesystem>
#include <span>
#include <vector>

namespace decode {

template <class T>
using device_array = dhisparse::array_of<T>;

inline device_array<float> to_device(std::span<const float> from) {
    device_array<float> out(static_cast<std::int64_t>(from.size()));
    if (!from.empty())
        dhisparse::cuda_check(
            cudaMemcpy(out.data(), from.data(), from.size_bytes(), cudaMemcpyDefault), "weights");
    return out;
}

/// Panels of 32 outputs: [n_panels][n_in][32].
class cuda_matrix {
public:
    cuda_matrix() = default;
    explicit cuda_matrix(const tiny_dsa::packed_matrix& from)
        : panels_(to_device({from.panel(0), size_of(from)})), n_in_(from.n_in()),
          n_panels_(from.n_panels()) {}
    const float* panels() const { return panels_.data(); }
    int n_in() const { return n_in_; }
    int n_panels() const { return n_panels_; }

    static std::size_t size_of(const tiny_dsa::packed_matrix& m) {
        return static_cast<std::size_t>(m.n_panels()) * static_cast<std::size_t>(m.n_in()) *
               tiny_dsa::panel_columns;
    }

private:
    device_array<float> panels_;
    int n_in_ = 0, n_panels_ = 0;
};

/// The matrices of all heads, one after another.
inline device_array<float>
heads_to_device(const std::array<tiny_dsa::packed_matrix, tiny_dsa::n_heads>& heads) {
    std::vector<float> all;
    for (const auto& head : heads)
        all.insert(all.end(), head.panel(0), head.panel(0) + cuda_matrix::size_of(head));
    return to_device(all);
}

struct cuda_layer {
    explicit cuda_layer(const tiny_dsa::layer_weights& w)
        : attn_norm(to_device(w.attn_norm)), kv_norm(to_device(w.kv_norm)),
          key_norm(to_device(w.key_norm)), ffn_norm(to_device(w.ffn.norm)), in(w.in), out(w.out),
          gate_up(w.ffn.gate_up), down(w.ffn.down), uk(heads_to_device(w.uk)),
          uv(heads_to_device(w.uv)) {}

    device_array<float> attn_norm, kv_norm, key_norm, ffn_norm;
    cuda_matrix in, out, gate_up, down;
    device_array<float> uk; // [8 heads][3 panels][32][32]: 32 -> 96
    device_array<float> uv; // [8 heads][96][32]
};

struct cuda_rope {
    explicit cuda_rope(int n) {
        const tiny_dsa::rope_table table(n);
        cos = to_device(table.cos());
        sin = to_device(table.sin());
    }
    device_array<float> cos, sin; // [max_positions][n / 2]
};

struct cuda_weights {
    explicit cuda_weights(const tiny_dsa::target_weights& w)
        : embed(to_device(w.embed)), final_norm(to_device(w.final_norm)), lm_head(w.lm_head),
          layers(w.layers.begin(), w.layers.end()) {}

    device_array<float> embed, final_norm;
    cuda_matrix lm_head;
    std::vector<cuda_layer> layers;
    cuda_rope head_rope{tiny_dsa::head_width}, key_rope{tiny_dsa::key_rope_width};
};

} // namespace decode
