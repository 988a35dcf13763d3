// Compares selected rows with the original ones on the device, behind the attention that read them.
#pragma once

#include "shape.hpp"

#include <dhisparse/layout/placement.hpp>
#include <dhisparse/residency/slot_tables.hpp>
#include <dhisparse/round/round.hpp>

#include <cuda_runtime_api.h>

#include <cstdint>

namespace decode {

struct check_params {
    const std::int32_t* selected = nullptr; // [n_queries][256] positions, -1: none
    const std::int32_t* at = nullptr;       // [n_queries][256] their locations
    dhisparse::round_ref round;
    const dhisparse::location* new_rows = nullptr; // [n_queries] of the round, in the group
    const std::int32_t* slots = nullptr; // [n_requests] of the hierarchy that holds the originals
    dhisparse::slot_tables_ref originals;
    dhisparse::group_placement placement; // of the originals
    int n_layers = 0;
    const uint2* rows[tiny_dsa::n_layers] = {};          // [n_layers] of the group: what was read
    const uint2* original_rows[tiny_dsa::n_layers] = {}; // row at location l: 32 words from l * 32
    unsigned long long* wrong_right = nullptr; // [2] selection entries that differ, or not
};

/// Enqueues the comparison, which adds to wrong_right. Behind the anchor, where a proposal may not be what is
/// decoded in the end, the original is the row that the round has written.
void launch_check_rows(const check_params& params, cudaStream_t stream);

} // namespace decode
