#include "backends.hpp"

#include "cuda_round.cuh"
#include "machine.hpp"
#include "run.hpp"

#include <dhisparse/policy/replacement/fifo.hpp>

#include <optional>

namespace decode {
namespace {

struct fifo_policies : dh::default_policies {
    using replacement = dh::fifo;
};

using device_resident = session<cuda_machine, dh::default_policies>;

/// The prompts' history, made on the CPU, in a session of which all pages stay on the GPU.
/// Returns the byte that follows each.
template <class Tiered>
bytes fill(const options& o, std::span<const bytes> prompts, tiny_dsa::model& model,
           device_resident& resident, Tiered& tiered, const feature_sink& sink = {}) {
    const dh::demand each{static_cast<std::int64_t>(prompts[0].size()), o.tokens};
    session<host_machine, dh::default_policies> made(resident_config(o.requests, each), each);
    const auto first = prefill_with_bar(o, made, model, prompts, sink);
    copy_history(made, resident);
    copy_history(made, tiered);
    return first;
}

template <class Policies>
outcome run_with(const options& o, std::span<const bytes> prompts, tiny_dsa::model& model) {
    const auto n = static_cast<int>(prompts[0].size());
    const dh::demand each{n, o.tokens}, reserved{n, appended(o, n)};
    session<cuda_machine, Policies> tiered(tiered_config(o, reserved), reserved);
    device_resident resident(resident_config(o.requests, each), each);
    std::optional<block_drafting> drafting;
    feature_sink sink;
    if (o.k_max) {
        drafting.emplace(tiny_dsa::drafter::load(o.model_dir, model), o.requests, *o.k_max,
                         schedule_of(o));
        sink = [&](auto tokens, auto features) { drafting->fill(tokens, features); };
    }
    const auto first = fill(o, prompts, model, resident, tiered, sink);
    cuda_model on_device(o.model_dir, o.requests * o.k_max.value_or(1));
    cuda_round resident_round(resident, on_device);
    const auto expected = decode_rounds(resident, resident_round, first, o.tokens, not_shown);
    const cuda_row_counts counts;
    cuda_round tiered_round(tiered, on_device, o.k_max.value_or(0));
    if (o.verify) tiered_round.check_rows(resident, counts);
    if (!o.json) show_start(prompts[0]);
    const auto outcome_with = [&](const decoded& got) {
        return outcome_of(o, n, expected, got, {counts.n_wrong(), counts.n_verified()});
    };
    if (!drafting)
        return outcome_with(decode_rounds(tiered, tiered_round, first, o.tokens, shown(o)));
    speculative_decoder decoder(tiered, tiered_round, *drafting);
    auto out = outcome_with(decoder.decode(first, o.tokens, shown(o)));
    out.speculated = decoder.counts();
    return out;
}

} // namespace

outcome run_on_cuda(const options& o, std::span<const bytes> prompts, tiny_dsa::model& model) {
    return o.policy == replacement::fifo ? run_with<fifo_policies>(o, prompts, model)
                                         : run_with<dh::default_policies>(o, prompts, model);
}

} // namespace decode
