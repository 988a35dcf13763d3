// A session's rounds, as the model writes and reads them, checked and counted where that is asked for.
#pragma once

#include "row_check.hpp"
#include "session.hpp"
#include "speculation.hpp"
#include "step_store.hpp"

#include <tiny_dsa/model.hpp>

#include <cstdint>
#include <span>

namespace decode {

/// Token i of forward() is query i of the round.
template <class Session>
class round_store : public step_store<typename Session::hierarchy, typename Session::machine_type> {
    using base = step_store<typename Session::hierarchy, typename Session::machine_type>;

public:
    template <class T>
    using array = typename Session::template array<T>;

    /// check: null, or what sees every row that attention reads.
    round_store(Session& session, row_check* check)
        : base(session.kv(), session.machine, session.keys()), session_(session), check_(check) {}

    /// tokens: one of each request.
    void begin(std::span<const tiny_dsa::token> tokens) {
        unions_ = nullptr;
        round_ = session_.append();
        base::begin(tokens, round_, resolver());
    }
    void end() {
        if (check_) check_->end_round();
        session_.commit(round_);
    }

    /// tokens: widths[r] of request r, for r = 0, 1, …; unions: counts what they select.
    void begin(std::span<const tiny_dsa::token> tokens, const array<std::int32_t>& widths,
               union_counts* unions) {
        unions_ = unions;
        round_ = session_.append(widths);
        base::begin(tokens, round_, resolver());
    }
    void end(const array<std::int32_t>& widths, const array<std::int32_t>& accepted) {
        if (check_) check_->end_round();
        session_.commit(round_, widths, accepted);
    }

    void select(int producer, std::span<const std::int32_t> selections) override {
        base::select(producer, selections);
        if (check_) check_->select(producer, selections);
        if (unions_) count_unions(selections);
    }
    tiny_dsa::rows_view rows(int layer, int i) override {
        const auto rows = base::rows(layer, i);
        if (check_) {
            const auto& token = this->tokens()[static_cast<std::size_t>(i)];
            check_->compare(layer, {i, token, session_.position(token.request)}, rows,
                            [&](int query) { return this->row(layer, query); });
        }
        return rows;
    }

private:
    auto resolver() {
        return [this](const auto& said, const auto& selection, const auto& out) {
            session_.kv().resolve(session_.machine.stream, round_, said, selection, out);
        };
    }
    void count_unions(std::span<const std::int32_t> selections) {
        const auto tokens = this->tokens();
        for (std::size_t first = 0, end = 0; first < tokens.size(); first = end) {
            while (end < tokens.size() && tokens[end].request == tokens[first].request)
                ++end;
            unions_->add(selections.subspan(first * tiny_dsa::top_k,
                                            (end - first) * tiny_dsa::top_k));
        }
    }

    Session& session_;
    row_check* check_;
    union_counts* unions_ = nullptr;
    dh::round_ref round_;
};

} // namespace decode
