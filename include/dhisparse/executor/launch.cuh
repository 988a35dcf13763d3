/// What the executor enqueues on the device, as calls: what needs no nvcc, but dhisparse::cuda.
#pragma once

#include <dhisparse/copy/page_copy.hpp>
#include <dhisparse/executor/gather.hpp>
#include <dhisparse/layout/placement.hpp>
#include <dhisparse/ledger/plan.hpp>
#include <dhisparse/residency/slot_tables.hpp>

#include <cuda_runtime_api.h>

#include <cstdint>

namespace dhisparse {

/// What edits need to know of the layout. Index block i of a page P is first[i] + P · step[i] in either layout.
struct edit_tables {
    slot_tables_ref tables;
    run_shape run;
    index_placement index;
    const std::int32_t* block_first = nullptr; // [blocks_per_page]
    const std::int32_t* block_step = nullptr;  // [blocks_per_page]
};

// Each enqueues its kernel, neither allocates nor synchronises, and throws cuda_error.
/// n > 0 edits of different things, in any order, which the kernel reads where they are.
void launch_edits(const edit_tables& tables, const edit* edits, std::int32_t n, cudaStream_t stream);
/// Makes a slot's tables those of an empty request.
void launch_open(const edit_tables& tables, const edit& e, cudaStream_t stream);
/// Moves a slot's run to a longer one.
void launch_move_run(const edit_tables& tables, const edit& e, cudaStream_t stream);
/// n > 0 copies of pages between the tiers, which the kernel reads where they are.
void launch_page_copies(const tiers_ref& tiers, const page_copy* copies, std::int32_t n, cudaStream_t stream);
/// Rows of one source, one after another. args.out: memory of the device, or pinned.
void launch_gather(const tiers_ref& tiers, const slot_tables_ref& tables, const gather_args& args, cudaStream_t stream);

} // namespace dhisparse
