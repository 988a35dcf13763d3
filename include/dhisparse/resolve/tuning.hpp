/// The CUDA resolver's numbers: plain host code, so that they can be tested without a GPU.
#pragma once

#include <dhisparse/core/arithmetic.hpp>

#include <algorithm>
#include <cstdint>

namespace dhisparse {

/// How one resolve is launched: `cluster` blocks of `threads` a request.
struct resolve_tuning {
    std::int32_t cluster = 1;         // blocks a request: 1, 2, 4 or 8
    std::int32_t cluster_shift = 0;   // log2 of it
    std::int32_t threads = 256;       // a block: 256, 512 or 1024
    std::int32_t block_entries = 0;   // selection entries a block looks up, a multiple of 4, at most 32 · threads
    std::int32_t items = 1;           // entries that a thread looks up at once: 1 or 4
    std::int32_t copy_slots = 0;      // pieces of rows that a block has on their way at once
    std::int32_t copy_slot_bytes = 0; // a multiple of 128
    std::int32_t parts = 1;           // slots' worth of bytes in a group row
    friend bool operator==(const resolve_tuning&, const resolve_tuning&) = default;
};

inline constexpr std::int32_t resolve_max_threads = 1024;
inline constexpr std::int32_t max_cluster = 8; // what every device with clusters grants

/// requests: of the batch; entries: K_max · k; host_row_bytes: of a group row; processors: the device's.
/// Few requests: eight small blocks each, one entry a thread if that fits, so that neither look-ups nor copies wait for
/// one processor. More: one larger block, four entries a thread at once, or one for every 1,024 entries where there are more than 2,048:
/// blocks of one request have to agree on misses, which costs more than more of them bring. processors: 0 where code has no clusters.
inline resolve_tuning tune_resolve(std::int64_t requests, std::int64_t entries, std::int64_t host_row_bytes, std::int32_t processors) {
    resolve_tuning out;
    const bool few = requests * max_cluster <= processors;
    const std::int64_t most = processors == 0 ? std::int64_t{32} * resolve_max_threads : few ? 256 : entries > 2048 ? 1024 : 2048;
    while (out.cluster < max_cluster && entries > most * out.cluster) {
        out.cluster *= 2;
        ++out.cluster_shift;
    }
    out.block_entries = static_cast<std::int32_t>(round_up(ceil_div<std::int64_t>(entries, out.cluster), 4));
    out.threads = few || out.block_entries <= 1024 ? 256 : 512;
    while (out.threads < resolve_max_threads && out.block_entries > 32 * out.threads) out.threads *= 2;
    out.items = out.block_entries <= out.threads ? 1 : 4;
    // A cluster wants its blocks in one part of the device: with one block a processor it may have to wait.
    const bool one_a_processor = out.cluster == 1 ? requests <= processors : requests * out.cluster * 2 <= processors;
    const auto left = 196 * std::int64_t{1024} - 20 * std::int64_t{out.block_entries}; // of a block's shared memory, beside what it notes of each entry
    const auto copy_bytes = std::min<std::int64_t>((one_a_processor ? 120 : 40) * 1024, left);
    out.copy_slot_bytes = static_cast<std::int32_t>(std::min<std::int64_t>(round_up(host_row_bytes, 128), 8192));
    out.copy_slots = static_cast<std::int32_t>(std::clamp<std::int64_t>(copy_bytes / out.copy_slot_bytes, 4, 64));
    out.parts = static_cast<std::int32_t>(ceil_div<std::int64_t>(host_row_bytes, out.copy_slot_bytes));
    return out;
}

} // namespace dhisparse
