// The main job on one backend: one prefill, two decodes, one comparison.
#pragma once

#include "census.hpp"
#include "compare.hpp"
#include "console.hpp"
#include "copy_history.hpp"
#include "pools.hpp"
#include "speculate.hpp"

namespace decode {

/// What both decodes say about this one's rows: [wrong, verified].
struct rows_seen {
    std::int64_t wrong = 0, verified = 0;
};

inline outcome outcome_of(const options& o, int n_prompt, const decoded& expected,
                          const decoded& got, const rows_seen& rows) {
    const auto tokens = static_cast<double>(o.tokens) * o.requests;
    return {.prompt_tokens = n_prompt,
            .texts = got.texts,
            .difference = first_difference(expected, got, rows.wrong),
            .counts = got.counts,
            .rows_verified = rows.verified,
            .fast_bytes = got.fast_bytes,
            .resident_bytes = expected.fast_bytes,
            .tokens_per_s = tokens / got.seconds,
            .resident_tokens_per_s = tokens / expected.seconds};
}

/// The prompts through the model on the CPU; returns the byte that follows each.
template <class Session>
bytes prefill_with_bar(const options& o, Session& session, tiny_dsa::model& model,
                       std::span<const bytes> prompts, const feature_sink& sink = {}) {
    progress_bar bar("prefill", session.n_prompt() * o.requests);
    return prefill(session, model, prompts, [&](int done) { bar.add(done); }, sink);
}

/// Shows the first request's bytes while they are made.
inline auto shown(const options& o) {
    return [json = o.json](std::span<const std::uint8_t> next) {
        if (!json) show(next.first(1));
    };
}
inline schedule schedule_of(const options& o) {
    constexpr double least = 0.3;
    if (o.how_many == proposals::confidence) return confident_prefix{least};
    return fixed_block;
}
/// Positions behind a prompt of n that rounds append to, proposals included.
inline int appended(const options& o, int n) {
    return std::min(o.tokens + o.k_max.value_or(1) - 1, tiny_dsa::max_positions - n);
}
inline void not_shown(std::span<const std::uint8_t>) {}

/// As run() for --speculate: the same, but the second decode is in speculative rounds.
template <class Machine, class Policies>
outcome run_speculative(const options& o, std::span<const bytes> prompts, tiny_dsa::model& model) {
    const auto n = static_cast<int>(prompts[0].size());
    const dh::demand each{n, o.tokens}, with_proposals{n, appended(o, n)};
    session<Machine, Policies> tiered(tiered_config(o, with_proposals), with_proposals);
    session<Machine, dh::default_policies> resident(resident_config(o.requests, each), each);
    block_drafting drafting(tiny_dsa::drafter::load(o.model_dir, model), o.requests, *o.k_max,
                            schedule_of(o));
    const auto first =
        prefill_with_bar(o, resident, model, prompts, [&](auto tokens, auto features) {
            drafting.fill(tokens, features);
        });
    copy_history(resident, tiered);
    const auto expected = decode_bytes(resident, model, first, o.tokens, nullptr, not_shown);
    const resident_map map(resident, n + o.tokens);
    row_check check([&](int layer, int request, int position) {
        return resident.row(layer, map.at(layer, request, position));
    });
    if (!o.json) show_start(prompts[0]);
    host_verifier verifier(tiered, model, o.verify ? &check : nullptr);
    speculative_decoder decoder(tiered, verifier, drafting);
    const auto got = decoder.decode(first, o.tokens, shown(o));
    auto out = outcome_of(o, n, expected, got, {check.n_wrong(), check.n_verified()});
    out.speculated = decoder.counts();
    return out;
}

/// prompts: [requests], of equal length. Throws usage_error and what the parts throw.
template <class Machine, class Policies>
outcome run(const options& o, std::span<const bytes> prompts, tiny_dsa::model& model) {
    const auto n = static_cast<int>(prompts[0].size());
    const dh::demand each{n, o.tokens};
    session<Machine, Policies> tiered(tiered_config(o, each), each);
    session<Machine, dh::default_policies> resident(resident_config(o.requests, each), each);
    const auto first = prefill_with_bar(o, resident, model, prompts);
    copy_history(resident, tiered);
    const auto expected = decode_bytes(resident, model, first, o.tokens, nullptr, not_shown);
    const resident_map map(resident, n + o.tokens);
    row_check check([&](int layer, int request, int position) {
        return resident.row(layer, map.at(layer, request, position));
    });
    if (!o.json) show_start(prompts[0]);
    const auto got =
        decode_bytes(tiered, model, first, o.tokens, o.verify ? &check : nullptr, shown(o));
    return outcome_of(o, n, expected, got, {check.n_wrong(), check.n_verified()});
}

} // namespace decode
