// What the model writes and reads during a round: new rows where append says, selected ones where
// resolve says. This is all that an engine has to do with dhisparse on its step path.
#pragma once

#include "key_blocks.hpp"

#include <dhisparse/hierarchy.hpp>
#include <tiny_dsa/store.hpp>
#include <tiny_dsa/token.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace decode {

namespace dh = dhisparse;

/// Token i of forward() is query i of the round.
template <class Kv, class Machine>
class step_store : public tiny_dsa::store {
public:
    template <class T>
    using array = typename Machine::template array<T>;
    /// Resolves one announcement's selection in the round at hand.
    using resolver = std::function<void(const dh::announcement_shape&, const dh::selection_ref&,
                                        const dh::locations_ref&)>;

    /// keys: of each request, by the number that its tokens have.
    step_store(Kv& kv, Machine& machine, const key_blocks& keys)
        : kv_(kv), machine_(machine), keys_(keys) {
        for (int layer = 0; layer < tiny_dsa::n_layers; ++layer)
            bases_.push_back(reinterpret_cast<const std::uint16_t*>(kv.view(layer).base));
    }

    /// tokens: the round's queries, request after request.
    void begin(std::span<const tiny_dsa::token> tokens, const dh::round_ref& round,
               resolver resolve) {
        tokens_ = tokens;
        resolve_ = std::move(resolve);
        for (int p = 0; p < tiny_dsa::n_producers; ++p) {
            auto& g = group(p);
            g.new_rows.resize(tokens.size());
            g.new_key_blocks.resize(tokens.size());
            g.selected.resize(tokens.size() * tiny_dsa::top_k);
            g.at.resize(tokens.size() * tiny_dsa::top_k);
            machine_.read(round.group_locations(p), std::span(g.new_rows));
            machine_.read(round.source_blocks(p), std::span(g.new_key_blocks));
        }
    }

    std::uint16_t* row(int layer, int i) override {
        const auto at = group_of(layer).new_rows[static_cast<std::size_t>(i)];
        return reinterpret_cast<std::uint16_t*>(kv_.row(layer, at));
    }
    std::uint16_t* key(int producer, int i) override {
        const auto block = group(producer).new_key_blocks[static_cast<std::size_t>(i)];
        const int in_page = tokens_[static_cast<std::size_t>(i)].position % page_positions;
        return key_blocks::at(kv_, block) + in_page * tiny_dsa::key_width;
    }
    std::span<const std::uint16_t* const> keys(int producer, int i) override {
        return keys_.blocks(producer, tokens_[static_cast<std::size_t>(i)].request);
    }
    void select(int producer, std::span<const std::int32_t> selections) override {
        constexpr int k = tiny_dsa::top_k;
        auto& g = group(producer);
        std::copy(selections.begin(), selections.end(), g.selected.begin());
        resolve_(kv_.shape().announcements[static_cast<std::size_t>(producer)],
                 {g.selected.data(), k, k}, {g.at.data(), k, k});
        machine_.wait();
    }
    tiny_dsa::rows_view rows(int layer, int i) override {
        const auto first = static_cast<std::size_t>(i) * tiny_dsa::top_k;
        return {bases_[static_cast<std::size_t>(layer)],
                std::span(group_of(layer).at).subspan(first, tiny_dsa::top_k)};
    }

protected:
    std::span<const tiny_dsa::token> tokens() const { return tokens_; }

private:
    struct group_round {
        std::vector<dh::location> new_rows;       // [n_queries]
        std::vector<std::int32_t> new_key_blocks; // [n_queries]
        array<std::int32_t> selected;             // [n_queries][256]
        array<dh::location> at;                   // [n_queries][256]
    };
    group_round& group(int producer) { return groups_[producer]; }
    group_round& group_of(int layer) {
        return groups_[tiny_dsa::producer_of_layer[static_cast<std::size_t>(layer)]];
    }

    Kv& kv_;
    Machine& machine_;
    const key_blocks& keys_;
    std::span<const tiny_dsa::token> tokens_; // of the round
    resolver resolve_;
    std::vector<const std::uint16_t*> bases_; // [n_layers]
    group_round groups_[tiny_dsa::n_producers];
};

} // namespace decode
