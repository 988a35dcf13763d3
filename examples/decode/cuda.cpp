#include "backends.hpp"

#include "cuda_round.cuh"
#include "machine.hpp"
#include "run.hpp"

#include <dhisparse/policy/replacement/fifo.hpp>

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
           device_resident& resident, Tiered& tiered) {
    const dh::demand each{static_cast<std::int64_t>(prompts[0].size()), o.tokens};
    session<host_machine, dh::default_policies> made(resident_config(o.requests, each), each);
    const auto first = prefill_with_bar(o, made, model, prompts);
    copy_history(made, resident);
    copy_history(made, tiered);
    return first;
}

template <class Policies>
outcome run_with(const options& o, std::span<const bytes> prompts, tiny_dsa::model& model) {
    const auto n = static_cast<int>(prompts[0].size());
    const dh::demand each{n, o.tokens};
    session<cuda_machine, Policies> tiered(tiered_config(o, each), each);
    device_resident resident(resident_config(o.requests, each), each);
    const auto first = fill(o, prompts, model, resident, tiered);
    cuda_model on_device(o.model_dir, o.requests);
    cuda_round resident_round(resident, on_device, first);
    const auto expected = decode_rounds(resident, resident_round, first, o.tokens, not_shown);
    const cuda_row_counts counts;
    cuda_round tiered_round(tiered, on_device, first);
    if (o.verify) tiered_round.check_rows(resident, counts);
    if (!o.json) show_start(prompts[0]);
    const auto got = decode_rounds(tiered, tiered_round, first, o.tokens, shown(o));
    return outcome_of(o, n, expected, got, {counts.n_wrong(), counts.n_verified()});
}

} // namespace

outcome run_on_cuda(const options& o, std::span<const bytes> prompts, tiny_dsa::model& model) {
    return o.policy == replacement::fifo ? run_with<fifo_policies>(o, prompts, model)
                                         : run_with<dh::default_policies>(o, prompts, model);
}

} // namespace decode
