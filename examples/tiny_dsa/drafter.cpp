#include "drafter.hpp"

#include "draft_pass.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace tiny_dsa {

namespace {

void require(bool ok, const std::string& why) {
    if (!ok) {
        throw std::invalid_argument(why);
    }
}

void check_positions(std::span<const token> tokens, int length) {
    for (const token& t : tokens) {
        if (t.position < 0 || t.position > max_positions - length) {
            throw std::invalid_argument(std::to_string(length) + " positions from " +
                                        std::to_string(t.position) + " on are not in [0, " +
                                        std::to_string(max_positions) + ")");
        }
    }
}

void check_sizes(std::size_t n_anchors, int block_length, const draft_outputs& out) {
    require(block_length >= 2 && block_length <= max_block_length,
            "block length " + std::to_string(block_length) + " is outside [2, 8]");
    const std::size_t n_slots = n_anchors * static_cast<std::size_t>(block_length);
    require(out.proposed.size() == n_slots - n_anchors,
            "proposed has " + std::to_string(out.proposed.size()) + " bytes, expected " +
                std::to_string(n_slots - n_anchors));
    require(out.logits.empty() || out.logits.size() == n_slots * n_bytes,
            "draft logits have " + std::to_string(out.logits.size()) + " floats, expected " +
                std::to_string(n_slots * n_bytes));
}

} // namespace

drafter drafter::load(const std::filesystem::path& dir, const model& target) {
    auto weights = std::make_shared<draft_weights>(safetensors(dir / "tiny_dsa.safetensors"));
    return {target.runtime_, target.weights_, std::move(weights)};
}

drafter::drafter(std::shared_ptr<runtime> rt, std::shared_ptr<const target_weights> target,
                 std::shared_ptr<const draft_weights> weights)
    : runtime_(std::move(rt)), target_(std::move(target)), weights_(std::move(weights)),
      workspace_(std::make_unique<draft_workspace>()) {}

drafter::drafter(drafter&&) noexcept = default;
drafter& drafter::operator=(drafter&&) noexcept = default;
drafter::~drafter() = default;

void drafter::extend(std::span<const token> tokens, std::span<const float> features,
                     draft_store& s) {
    check_positions(tokens, 1);
    require(features.size() == tokens.size() * feature_width,
            "features have " + std::to_string(features.size()) + " floats, expected " +
                std::to_string(tokens.size()) + " times 768");
    runtime& rt = *runtime_;
    const int n = static_cast<int>(tokens.size());
    float* const fused = at_least(workspace_->u, tokens.size() * width);
    float* const kv = at_least(workspace_->in, tokens.size() * 2 * draft_kv_width);
    project(rt, weights_->fuse, features.data(), n, fused, width, false);
    for (int i = 0; i < n; ++i) {
        rt.k.rms(fused + i * width, weights_->fuse_norm.data(), width, fused + i * width);
    }
    for (int layer = 0; layer < n_draft_layers; ++layer) {
        project(rt, weights_->layers[layer].kv, fused, n, kv, 2 * draft_kv_width, false);
        write_context(layer, tokens, kv, s);
    }
}

void drafter::write_context(int layer, std::span<const token> tokens, float* kv, draft_store& s) {
    for (const token& t : tokens) {
        for (int c = 0; c < draft_kv_width; c += head_width) {
            runtime_->head_rope.rotate(kv + c, t.position);
        }
        const kv_rows to = s.at(layer, t.request, t.position);
        std::copy_n(kv, draft_kv_width, to.k);
        std::copy_n(kv + draft_kv_width, draft_kv_width, to.v);
        kv += 2 * draft_kv_width;
    }
}

void drafter::propose(std::span<const token> anchors, int block_length, draft_store& s,
                      const draft_outputs& out) {
    check_positions(anchors, block_length);
    check_sizes(anchors.size(), block_length, out);
    const std::size_t n_slots = anchors.size() * static_cast<std::size_t>(block_length);
    float* const logits =
        out.logits.empty() ? at_least(workspace_->logits, n_slots * n_bytes) : out.logits.data();
    draft_pass(*runtime_, *weights_, *workspace_, anchors, block_length, s)
        .run(target_->embed, target_->lm_head, logits);
    auto proposed = out.proposed.begin();
    for (std::size_t slot = 0; slot < n_slots; ++slot) {
        if (slot % static_cast<std::size_t>(block_length) != 0) {
            *proposed++ = argmax({logits + slot * n_bytes, n_bytes});
        }
    }
}

} // namespace tiny_dsa
