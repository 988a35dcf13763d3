/// The CUDA resolver's numbers: plain host code, so that they can be tested without a GPU.
#pragma once

#include <dhisparse/core/arithmetic.hpp>

#include <algorithm>
#include <cstdint>

namespace dhisparse {

/// How one resolve is launched: `cluster` blocks of resolve_threads a request.
struct resolve_tuning {
    std::int32_t cluster = 1;         // blocks a request: 1, 2, 4 or 8
    std::int32_t cluster_shift = 0;   // log2 of it
    std::int32_t block_entries = 0;   // selection entries a block looks up, at most 32 · threads
    std::int32_t items = 1;           // entries that a thread has in flight: 1, 2 or 4
    std::int32_t copy_slots = 0;      // pieces of rows that a block has on their way at once
    std::int32_t copy_slot_bytes = 0; // a multiple of 128
    std::int32_t parts = 1;           // slots' worth of bytes in a group row
    friend bool operator==(const resolve_tuning&, const resolve_tuning&) = default;
};

inline constexpr std::int32_t resolve_threads = 256;

/// requests: of the batch; entries: K_max · k; host_row_bytes: of a group row; processors: the device's.
/// A cluster as large as leaves two blocks a processor: one entry a thread while that fits, and few
/// requests with misses are copied by many blocks, each with 40 KiB of them on their way.
inline resolve_tuning tune_resolve(std::int64_t requests, std::int64_t entries, std::int64_t host_row_bytes, std::int32_t processors) {
    resolve_tuning out;
    const auto wants_more = [&] {
        const bool room = requests * out.cluster * 2 <= 2 * processors && entries > resolve_threads * out.cluster;
        return room || entries > std::int64_t{32} * resolve_threads * out.cluster;
    };
    while (out.cluster < 8 && wants_more()) {
        out.cluster *= 2;
        ++out.cluster_shift;
    }
    out.block_entries = static_cast<std::int32_t>(ceil_div<std::int64_t>(entries, out.cluster));
    out.items = out.block_entries <= resolve_threads ? 1 : out.block_entries <= 2 * resolve_threads ? 2 : 4;
    out.copy_slot_bytes = static_cast<std::int32_t>(std::min<std::int64_t>(round_up(host_row_bytes, 128), 8192));
    out.copy_slots = static_cast<std::int32_t>(std::clamp<std::int64_t>(40 * 1024 / out.copy_slot_bytes, 4, 32));
    out.parts = static_cast<std::int32_t>(ceil_div<std::int64_t>(host_row_bytes, out.copy_slot_bytes));
    return out;
}

} // namespace dhisparse
