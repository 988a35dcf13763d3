// The block drafter: proposes up to seven bytes after an anchor, for the target to verify.
#pragma once

#include "draft_store.hpp"
#include "model.hpp"

#include <filesystem>
#include <memory>
#include <span>

namespace tiny_dsa {

struct draft_weights;
struct draft_workspace;

/// What propose() is to write.
struct draft_outputs {
    std::span<std::uint8_t> proposed; // [n_anchors][K - 1]
    std::span<float> logits{};        // [n_anchors][K][256] or empty; those of slot 0 mean nothing
};

class drafter {
public:
    /// Reads dir/tiny_dsa.safetensors.  Shares threads, embedding and head with the target, so that
    /// only one of the two may be running at a time.  Throws load_error.
    static drafter load(const std::filesystem::path& dir, const model& target);

    drafter(drafter&&) noexcept;
    drafter& operator=(drafter&&) noexcept;
    ~drafter();

    /// Writes the context rows of processed tokens.  features: [n_tokens][768] of forward().
    /// Throws std::invalid_argument if that is another size or a position is outside [0, 8192).
    void extend(std::span<const token> tokens, std::span<const float> features, draft_store& s);

    /// Proposes K - 1 bytes, K = block_length, for each anchor: the last known byte of a request,
    /// not yet processed by the target.  The rows of the 256 positions before it (or of all there
    /// are) must be in the store.  Results do not depend on what is proposed together, bit for bit.
    /// Throws std::invalid_argument if block_length is outside [2, 8], an output has the wrong
    /// size, or a block ends behind position 8191.
    void propose(std::span<const token> anchors, int block_length, draft_store& s,
                 const draft_outputs& out);

private:
    drafter(std::shared_ptr<runtime> rt, std::shared_ptr<const target_weights> target,
            std::shared_ptr<const draft_weights> weights);

    /// kv: [n_tokens][k 128 | v 128], of which k is rotated here.
    void write_context(int layer, std::span<const token> tokens, float* kv, draft_store& s);

    std::shared_ptr<runtime> runtime_;
    std::shared_ptr<const target_weights> target_;
    std::shared_ptr<const draft_weights> weights_;
    std::unique_ptr<draft_workspace> workspace_;
};

} // namespace tiny_dsa
