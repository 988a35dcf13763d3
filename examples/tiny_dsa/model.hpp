// The target model: bytes in, logits of the next bytes out.  It owns no history (see store.hpp).
#pragma once

#include "kernels.hpp"
#include "load_error.hpp"
#include "store.hpp"
#include "token.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <span>

namespace tiny_dsa {

struct runtime;
struct target_weights;
struct workspace;

struct load_options {
    int n_threads = 0;                             // with the calling one; 0: one per processor
    std::optional<instruction_set> instructions{}; // none: the fastest that this processor has
};

/// What forward() is to write for n tokens.  Both may be empty.
struct forward_outputs {
    std::span<float> logits{};   // [m][256] of the last m tokens, m <= n: of the byte that follows
    std::span<float> features{}; // [n][768], for the drafter
};

class model {
public:
    /// Reads dir/tiny_dsa.safetensors.  Throws load_error (one line: file, tensor, found and
    /// expected), and std::invalid_argument if the processor lacks options.instructions.
    static model load(const std::filesystem::path& dir, const load_options& options = {});

    model(model&&) noexcept;
    model& operator=(model&&) noexcept;
    ~model();

    /// Processes the tokens together: in each layer the rows and index keys of all of them are
    /// written, then each attends to positions up to its own.  Tokens may be of several requests;
    /// those of a request come with ascending positions, and all earlier positions are in the
    /// store.  Results do not depend on what is processed together or on the number of threads,
    /// bit for bit.  Not to be called from two threads at the same time.
    /// Throws std::invalid_argument if a position is outside [0, 8192) or an output has the wrong
    /// size, and what the store throws.
    void forward(std::span<const token> tokens, store& s, const forward_outputs& out);

    const char* kernel_name() const; // "baseline", "avx2" or "avx512"
    int n_threads() const;

private:
    friend class drafter; // shares the runtime, embedding and head
    model(std::shared_ptr<runtime> rt, std::shared_ptr<const target_weights> weights);

    std::shared_ptr<runtime> runtime_;
    std::shared_ptr<const target_weights> weights_;
    std::unique_ptr<workspace> workspace_;
};

} // namespace tiny_dsa
