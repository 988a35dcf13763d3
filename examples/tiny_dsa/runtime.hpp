// What the target and the drafter share: kernels, threads and rope tables.
#pragma once

#include "kernels.hpp"
#include "rope.hpp"
#include "spec.hpp"
#include "worker_pool.hpp"

namespace tiny_dsa {

struct runtime {
    runtime(const kernels& chosen, int n_threads) : k(chosen), pool(n_threads) {}

    const kernels& k;
    worker_pool pool;
    rope_table head_rope{head_width};
    rope_table key_rope{key_rope_width};
};

} // namespace tiny_dsa
