/// A round's first and last step on the device, as calls: what needs no nvcc, but dhisparse::cuda.
#pragma once

#include <dhisparse/round/round.hpp>

#include <cuda_runtime_api.h>

#include <cstdint>

namespace dhisparse {

struct append_params {
    step_ref step;
    round_ref round;
    batch_ref batch;             // device pointers
    std::int32_t* seen = nullptr; // [n_slots] scratch: the first request of the batch that names the slot
};

/// A request's frontier and unsettled positions behind a commit.
struct committed {
    std::int32_t frontier = 0, unsettled = 0;
};

struct commit_params {
    step_ref step;
    round_ref round;
    const std::int32_t* accepted = nullptr; // [n_requests], null: K_r - 1 of each
    std::int32_t n_shards = 1;              // tallies at step.counts, to be added up
    tally* snapshot = nullptr;              // pinned: the counters as of this commit, for the host to read
    std::uint32_t* blocks_done = nullptr;   // [1] 0 before and after
    committed* next = nullptr;              // [n_requests] scratch: what the last block to be done writes to the tables
    std::int32_t unsettled = 0;
    pass of = pass::target;
};

/// Each enqueues its kernel, neither allocates nor synchronises, and throws cuda_error.
void launch_append(const append_params& params, cudaStream_t stream);
void launch_commit(const commit_params& params, cudaStream_t stream);

} // namespace dhisparse
