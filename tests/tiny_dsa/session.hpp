/// A model, a drafter and flat stores: what the tests of tiny_dsa run prompts with.
#pragma once

#include <tiny_dsa/drafter.hpp>
#include <tiny_dsa/flat_draft_store.hpp>
#include <tiny_dsa/flat_store.hpp>
#include <tiny_dsa/model.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

namespace tiny_dsa_test {

using bytes = std::vector<std::uint8_t>;

inline std::filesystem::path data_dir() {
    return DHISPARSE_DATA_DIR;
}

inline bytes read_bytes(const std::filesystem::path& file) {
    bytes all(std::filesystem::file_size(file));
    std::ifstream(file, std::ios::binary)
        .read(reinterpret_cast<char*>(all.data()), static_cast<std::streamsize>(all.size()));
    return all;
}

inline bytes story(std::size_t offset, std::size_t length) {
    const bytes all = read_bytes(data_dir() / "story.txt");
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(offset);
    return {first, first + static_cast<std::ptrdiff_t>(length)};
}

/// Processes tokens with one store; what forward() wrote is kept until the next call.
template <class Store = tiny_dsa::flat_store>
class session {
public:
    explicit session(int n_positions, const tiny_dsa::load_options& options = {},
                     int n_requests = 1)
        : model_(tiny_dsa::model::load(data_dir(), options)),
          drafter_(tiny_dsa::drafter::load(data_dir(), model_)), store_(n_positions, n_requests),
          draft_store_(n_positions, n_requests) {}

    void process(std::span<const tiny_dsa::token> tokens) {
        logits_.resize(tokens.size() * tiny_dsa::n_bytes);
        features_.resize(tokens.size() * tiny_dsa::feature_width);
        store_.begin(tokens);
        model_.forward(tokens, store_, {.logits = logits_, .features = features_});
        drafter_.extend(tokens, features_, draft_store_);
    }

    void process(int first, std::span<const std::uint8_t> text) {
        process(tiny_dsa::tokens_at(0, first, text));
    }

    /// In chunks; calls after(first, length) behind each of them.
    template <class F>
    void process_chunks(std::span<const std::uint8_t> text, std::size_t chunk, F&& after) {
        for (std::size_t first = 0; first < text.size(); first += chunk) {
            const std::size_t length = std::min(chunk, text.size() - first);
            process(static_cast<int>(first), text.subspan(first, length));
            after(first, length);
        }
    }

    void process_chunks(std::span<const std::uint8_t> text, std::size_t chunk) {
        process_chunks(text, chunk, [](std::size_t, std::size_t) {});
    }

    /// Proposals of one block; its logits, [K][256], are put into draft_logits().
    bytes propose(const tiny_dsa::token& anchor, int block_length) {
        bytes proposed(static_cast<std::size_t>(block_length - 1));
        draft_logits_.resize(static_cast<std::size_t>(block_length) * tiny_dsa::n_bytes);
        drafter_.propose({&anchor, 1}, block_length, draft_store_,
                         {.proposed = proposed, .logits = draft_logits_});
        return proposed;
    }

    std::span<const float> logits(std::size_t i) const { return row(logits_, i); }
    std::span<const float> last_logits() const { return row(logits_, logits_.size() / 256 - 1); }
    std::span<const float> all_logits() const { return logits_; }
    std::span<const float> features() const { return features_; }
    std::span<const float> draft_logits(std::size_t slot) const { return row(draft_logits_, slot); }
    std::span<const float> all_draft_logits() const { return draft_logits_; }

    tiny_dsa::model& model() { return model_; }
    tiny_dsa::drafter& drafter() { return drafter_; }
    Store& store() { return store_; }
    tiny_dsa::flat_draft_store& draft_store() { return draft_store_; }

private:
    static std::span<const float> row(const std::vector<float>& all, std::size_t i) {
        return std::span(all).subspan(i * tiny_dsa::n_bytes, tiny_dsa::n_bytes);
    }

    tiny_dsa::model model_;
    tiny_dsa::drafter drafter_;
    Store store_;
    tiny_dsa::flat_draft_store draft_store_;
    std::vector<float> logits_, features_, draft_logits_;
};

} // namespace tiny_dsa_test
