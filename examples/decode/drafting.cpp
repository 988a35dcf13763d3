#include "drafting.hpp"

#include "shape.hpp"

#include <algorithm>
#include <utility>

namespace decode {
namespace {

namespace dh = dhisparse;

dh::draft_ring_config ring_config(int n_requests, int k_max) {
    constexpr dh::draft_layer layer{tiny_dsa::draft_kv_width * sizeof(float),
                                    tiny_dsa::draft_kv_width * sizeof(float)};
    return {.slots = n_requests,
            .window = tiny_dsa::draft_window,
            .k_max = k_max,
            .page_positions = page_positions,
            .layers = std::vector(tiny_dsa::n_draft_layers, layer)};
}

/// The ring, as the drafter takes it.
class ring_store : public tiny_dsa::draft_store {
public:
    explicit ring_store(const dh::draft_ring<>& ring) : ring_(ring), ref_(ring.ref()) {}

    tiny_dsa::kv_rows at(int layer, std::int32_t request, std::int32_t position) override {
        const auto where = position < ref_.frontier(request) ? ref_.find(request, position)
                                                             : ref_.place(request, position);
        dh::require(where >= 0, "position ", position, " of request ", request,
                    " is not in the draft ring, its frontier is ", ref_.frontier(request));
        return {reinterpret_cast<float*>(ring_.keys(layer).row(where)),
                reinterpret_cast<float*>(ring_.values(layer).row(where))};
    }

private:
    const dh::draft_ring<>& ring_;
    dh::draft_ring_ref ref_;
};

} // namespace

block_drafting::block_drafting(tiny_dsa::drafter drafter, int n_requests, int k_max,
                               schedule how_many)
    : drafter_(std::move(drafter)), ring_(ring_config(n_requests, k_max)), k_max_(k_max),
      how_many_(std::move(how_many)) {}

void block_drafting::fill(std::span<const tiny_dsa::token> tokens,
                          std::span<const float> features) {
    const auto piece = static_cast<std::size_t>(ring_.ref().room());
    for (std::size_t first = 0; first < tokens.size(); first += piece) {
        const auto n = std::min(piece, tokens.size() - first);
        extend(tokens.subspan(first, n), features.subspan(first * tiny_dsa::feature_width,
                                                          n * tiny_dsa::feature_width));
        commit(tokens[first].request, static_cast<int>(n), static_cast<int>(n) - 1);
    }
}

std::vector<std::uint8_t> block_drafting::propose(const tiny_dsa::token& anchor) {
    const int k = std::min(k_max_, tiny_dsa::max_positions - anchor.position);
    if (k < 2) return {};
    std::vector<std::uint8_t> proposed(static_cast<std::size_t>(k - 1));
    logits_.resize(static_cast<std::size_t>(k) * tiny_dsa::n_bytes);
    ring_store store(ring_);
    drafter_.propose({&anchor, 1}, k, store, {.proposed = proposed, .logits = logits_});
    proposed.resize(static_cast<std::size_t>(how_many_(logits_)));
    return proposed;
}

void block_drafting::extend(std::span<const tiny_dsa::token> tokens,
                            std::span<const float> features) {
    ring_store store(ring_);
    drafter_.extend(tokens, features, store);
}

} // namespace decode
