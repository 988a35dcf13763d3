// The main job on one backend: one prefill, two decodes, one comparison.
#pragma once

#include "census.hpp"
#include "compare.hpp"
#include "console.hpp"
#include "copy_history.hpp"
#include "pools.hpp"

namespace decode {

/// prompts: [requests], of equal length. Throws usage_error and what the parts throw.
template <class Machine, class Policies>
outcome run(const options& o, std::span<const bytes> prompts, tiny_dsa::model& model) {
    const auto n = static_cast<int>(prompts[0].size());
    const dh::demand each{n, o.tokens};
    session<Machine, Policies> tiered(tiered_config(o, each), each);
    session<Machine, dh::default_policies> resident(resident_config(o.requests, each), each);
    bytes first;
    {
        progress_bar bar("prefill", n * o.requests);
        first = prefill(resident, model, prompts, [&](int done) { bar.add(done); });
    }
    copy_history(resident, tiered);
    const auto expected = decode_bytes(resident, model, first, o.tokens, nullptr,
                                       [](std::span<const std::uint8_t>) {});
    const resident_map map(resident, n + o.tokens);
    row_check check([&](int layer, int request, int position) {
        return resident.row(layer, map.at(layer, request, position));
    });
    auto* const wanted = o.verify ? &check : nullptr;
    if (!o.json) show_start(prompts[0]);
    const auto got = decode_bytes(tiered, model, first, o.tokens, wanted,
                                  [&](std::span<const std::uint8_t> next) {
                                      if (!o.json) show(next.first(1)); // the first request's
                                  });
    const auto tokens = static_cast<double>(o.tokens) * o.requests;
    return {.prompt_tokens = n,
            .texts = got.texts,
            .difference = first_difference(expected, got, wanted),
            .counts = got.counts,
            .rows_verified = check.n_verified(),
            .fast_bytes = got.fast_bytes,
            .resident_bytes = expected.fast_bytes,
            .tokens_per_s = tokens / got.seconds,
            .resident_tokens_per_s = tokens / expected.seconds};
}

} // namespace decode
