#include "model.hpp"

#include "forward_pass.hpp"

#include <stdexcept>
#include <string>
#include <utility>

namespace tiny_dsa {

namespace {

const kernels& choose(const std::optional<instruction_set>& wanted) {
    if (!wanted) {
        return best_kernels();
    }
    const kernels* const found = find_kernels(*wanted);
    if (!found) {
        throw std::invalid_argument("this processor lacks the instruction set asked for");
    }
    return *found;
}

void check(std::span<const token> tokens, const forward_outputs& out) {
    for (const token& t : tokens) {
        if (t.position < 0 || t.position >= max_positions) {
            throw std::invalid_argument("position " + std::to_string(t.position) +
                                        " is outside [0, " + std::to_string(max_positions) + ")");
        }
    }
    if (out.logits.size() % n_bytes != 0 || out.logits.size() > tokens.size() * n_bytes) {
        throw std::invalid_argument("logits have " + std::to_string(out.logits.size()) +
                                    " floats, expected up to " + std::to_string(tokens.size()) +
                                    " times 256");
    }
    if (!out.features.empty() && out.features.size() != tokens.size() * feature_width) {
        throw std::invalid_argument("features have " + std::to_string(out.features.size()) +
                                    " floats, expected " + std::to_string(tokens.size()) +
                                    " times 768");
    }
}

} // namespace

model model::load(const std::filesystem::path& dir, const load_options& options) {
    auto rt = std::make_shared<runtime>(choose(options.instructions), options.n_threads);
    return {std::move(rt),
            std::make_shared<target_weights>(safetensors(dir / "tiny_dsa.safetensors"))};
}

model::model(std::shared_ptr<runtime> rt, std::shared_ptr<const target_weights> weights)
    : runtime_(std::move(rt)), weights_(std::move(weights)),
      workspace_(std::make_unique<workspace>()) {}

model::model(model&&) noexcept = default;
model& model::operator=(model&&) noexcept = default;
model::~model() = default;

void model::forward(std::span<const token> tokens, store& s, const forward_outputs& out) {
    check(tokens, out);
    if (!tokens.empty()) {
        forward_pass(*runtime_, *weights_, *workspace_, tokens, s).run(out);
    }
}

const char* model::kernel_name() const {
    return runtime_->k.name;
}
int model::n_threads() const {
    return runtime_->pool.n_threads();
}

} // namespace tiny_dsa
