// Prefill: prompts through the model in chunks, into the pages of an import that all stay on the
// GPU.
#pragma once

#include "prompts.hpp"
#include "resident_map.hpp"
#include "session.hpp"

#include <tiny_dsa/model.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace decode {

/// What the model writes and reads during a prefill: every row is where the map says.
template <class Session>
class prefill_store : public tiny_dsa::store {
public:
    prefill_store(const Session& session, const resident_map& map) : session_(session), map_(map) {
        for (int layer = 0; layer < tiny_dsa::n_layers; ++layer)
            bases_.push_back(reinterpret_cast<const std::uint16_t*>(session.kv().view(layer).base));
    }

    void begin(std::span<const tiny_dsa::token> tokens) { tokens_ = tokens; }

    std::uint16_t* row(int layer, int i) override {
        return session_.row(layer, map_.at(layer, token(i).request, token(i).position));
    }
    std::uint16_t* key(int producer, int i) override {
        return session_.keys().key(producer, token(i).request, token(i).position);
    }
    std::span<const std::uint16_t* const> keys(int producer, int i) override {
        return session_.keys().blocks(producer, token(i).request);
    }
    void select(int producer, std::span<const std::int32_t> selections) override {
        selected_.resize(selections.size());
        for (std::size_t e = 0; e < selections.size(); ++e) {
            const auto map = map_.of(producer, tokens_[e / tiny_dsa::top_k].request);
            const auto t = selections[e];
            selected_[e] = t < 0 ? dh::no_location : map[static_cast<std::size_t>(t)];
        }
    }
    tiny_dsa::rows_view rows(int layer, int i) override {
        const auto first = static_cast<std::size_t>(i) * tiny_dsa::top_k;
        return {bases_[static_cast<std::size_t>(layer)],
                std::span(selected_).subspan(first, tiny_dsa::top_k)};
    }

private:
    const tiny_dsa::token& token(int i) const { return tokens_[static_cast<std::size_t>(i)]; }

    const Session& session_;
    const resident_map& map_;
    std::vector<const std::uint16_t*> bases_; // [n_layers]
    std::span<const tiny_dsa::token> tokens_;
    std::vector<dh::location> selected_; // [n_tokens][256]
};

/// Sees the tokens of each chunk and their features, [n_tokens][768].
using feature_sink = std::function<void(std::span<const tiny_dsa::token>, std::span<const float>)>;

/// Imports the prompts, one a request, all of the session's length, into a session without a host
/// tier. Returns the byte that follows each. progress(n): so many bytes more are done.
/// sink: may be empty.
template <class Session, class Progress>
bytes prefill(Session& session, tiny_dsa::model& model, std::span<const bytes> prompts,
              const Progress& progress, const feature_sink& sink = {}) {
    constexpr int chunk = 256;
    const int n = session.n_prompt();
    const int n_pages = (n + page_positions - 1) / page_positions;
    for (int r = 0; r < session.n_requests(); ++r)
        session.kv().import_pages(session.slot(r), 0, n_pages);
    const resident_map map(session, n);
    prefill_store store(session, map);
    bytes following;
    std::vector<float> logits(tiny_dsa::n_bytes), features;
    for (int r = 0; r < session.n_requests(); ++r) {
        const std::span prompt(prompts[static_cast<std::size_t>(r)]);
        for (int first = 0; first < n; first += chunk) {
            const auto length = static_cast<std::size_t>(std::min(chunk, n - first));
            const auto tokens = tiny_dsa::tokens_at(
                r, first, prompt.subspan(static_cast<std::size_t>(first), length));
            store.begin(tokens);
            if (sink) features.resize(length * tiny_dsa::feature_width);
            model.forward(tokens, store, {.logits = logits, .features = features});
            if (sink) sink(tokens, features);
            progress(static_cast<int>(length));
        }
        following.push_back(tiny_dsa::argmax(logits));
        session.kv().landed(session.slot(r), 0, n_pages);
    }
    session.finish_import();
    return following;
}

} // namespace decode
