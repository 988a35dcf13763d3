#include "backends.hpp"

#include "machine.hpp"
#include "run.hpp"

#include <dhisparse/policy/replacement/fifo.hpp>

namespace decode {
namespace {

struct fifo_policies : dh::default_policies {
    using replacement = dh::fifo;
};

template <class Policies>
outcome run_with(const options& o, std::span<const bytes> prompts, tiny_dsa::model& model) {
    return o.k_max ? run_speculative<host_machine, Policies>(o, prompts, model)
                   : run<host_machine, Policies>(o, prompts, model);
}

} // namespace

outcome run_on_host(const options& o, std::span<const bytes> prompts, tiny_dsa::model& model) {
    return o.policy == replacement::fifo ? run_with<fifo_policies>(o, prompts, model)
                                         : run_with<dh::default_policies>(o, prompts, model);
}

} // namespace decode
