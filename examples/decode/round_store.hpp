// What the model writes and reads during a round: new rows where append says, selected ones where
// resolve says. This is all that an engine has to do with dhisparse on its step path.
#pragma once

#include "row_check.hpp"
#include "session.hpp"
#include "speculation.hpp"

#include <tiny_dsa/model.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace decode {

/// Token i of forward() is query i of the round.
template <class Session>
class round_store : public tiny_dsa::store {
public:
    template <class T>
    using array = typename Session::template array<T>;

    /// check: null, or what sees every row that attention reads.
    round_store(Session& session, row_check* check) : session_(session), check_(check) {
        for (int layer = 0; layer < tiny_dsa::n_layers; ++layer)
            bases_.push_back(reinterpret_cast<const std::uint16_t*>(session.kv().view(layer).base));
    }

    /// tokens: one of each request.
    void begin(std::span<const tiny_dsa::token> tokens) {
        make_room(tokens);
        unions_ = nullptr;
        round_ = session_.append();
        read_places();
    }
    void end() {
        if (check_) check_->end_round();
        session_.commit(round_);
    }

    /// tokens: widths[r] of request r, for r = 0, 1, …; unions: counts what they select.
    void begin(std::span<const tiny_dsa::token> tokens, const array<std::int32_t>& widths,
               union_counts* unions) {
        make_room(tokens);
        unions_ = unions;
        round_ = session_.append(widths);
        read_places();
    }
    void end(const array<std::int32_t>& widths, const array<std::int32_t>& accepted) {
        if (check_) check_->end_round();
        session_.commit(round_, widths, accepted);
    }

    std::uint16_t* row(int layer, int i) override {
        return session_.row(layer, group_of(layer).new_rows[static_cast<std::size_t>(i)]);
    }
    std::uint16_t* key(int producer, int i) override {
        const auto block = group(producer).new_key_blocks[static_cast<std::size_t>(i)];
        const int in_page = tokens_[static_cast<std::size_t>(i)].position % page_positions;
        return key_blocks::at(session_.kv(), block) + in_page * tiny_dsa::key_width;
    }
    std::span<const std::uint16_t* const> keys(int producer, int i) override {
        return session_.keys().blocks(producer, tokens_[static_cast<std::size_t>(i)].request);
    }
    void select(int producer, std::span<const std::int32_t> selections) override {
        auto& g = group(producer);
        std::copy(selections.begin(), selections.end(), g.selected.begin());
        auto& kv = session_.kv();
        constexpr int k = tiny_dsa::top_k;
        kv.resolve(session_.machine.stream, round_,
                   kv.shape().announcements[static_cast<std::size_t>(producer)],
                   {g.selected.data(), k, k}, {g.at.data(), k, k});
        session_.machine.wait();
        if (check_) check_->select(producer, selections);
        if (unions_) count_unions(selections);
    }
    tiny_dsa::rows_view rows(int layer, int i) override {
        const auto first = static_cast<std::size_t>(i) * tiny_dsa::top_k;
        const tiny_dsa::rows_view rows{
            bases_[static_cast<std::size_t>(layer)],
            std::span(group_of(layer).at).subspan(first, tiny_dsa::top_k)};
        if (check_) {
            const auto& token = tokens_[static_cast<std::size_t>(i)];
            check_->compare(layer, {i, token, session_.position(token.request)}, rows,
                            [&](int query) { return row(layer, query); });
        }
        return rows;
    }

private:
    struct group_round {
        std::vector<dh::location> new_rows;       // [n_queries]
        std::vector<std::int32_t> new_key_blocks; // [n_queries]
        array<std::int32_t> selected;             // [n_queries][256]
        array<dh::location> at;                   // [n_queries][256]
    };
    void make_room(std::span<const tiny_dsa::token> tokens) {
        tokens_ = tokens;
        const auto n = tokens.size();
        for (auto& g : groups_) {
            g.new_rows.resize(n);
            g.new_key_blocks.resize(n);
            g.selected.resize(n * tiny_dsa::top_k);
            g.at.resize(n * tiny_dsa::top_k);
        }
    }
    void read_places() {
        for (int p = 0; p < tiny_dsa::n_producers; ++p) {
            session_.machine.read(round_.group_locations(p), std::span(group(p).new_rows));
            session_.machine.read(round_.source_blocks(p), std::span(group(p).new_key_blocks));
        }
    }
    void count_unions(std::span<const std::int32_t> selections) {
        for (std::size_t first = 0, end = 0; first < tokens_.size(); first = end) {
            while (end < tokens_.size() && tokens_[end].request == tokens_[first].request)
                ++end;
            unions_->add(selections.subspan(first * tiny_dsa::top_k,
                                            (end - first) * tiny_dsa::top_k));
        }
    }
    group_round& group(int producer) { return groups_[producer]; }
    group_round& group_of(int layer) {
        return groups_[tiny_dsa::producer_of_layer[static_cast<std::size_t>(layer)]];
    }

    Session& session_;
    row_check* check_;
    std::span<const tiny_dsa::token> tokens_; // of the round
    union_counts* unions_ = nullptr;
    dh::round_ref round_;
    std::vector<const std::uint16_t*> bases_; // [n_layers]
    group_round groups_[tiny_dsa::n_producers];
};

} // namespace decode
