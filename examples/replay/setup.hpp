// What is replayed: sizes, mode, costs.
#pragma once

#include "cost.hpp"

#include <dhisparse/layout/page_layout.hpp>
#include <dhisparse/ledger/request_size.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace replay {

enum class mode {
    adaptive, // history stays on the GPU while there is room, and comes back
    resident, // no host tier: every page is required, its reserved length from the start
    hot_only, // history leaves the GPU as soon as it is durable
};
inline constexpr mode modes[] = {mode::adaptive, mode::resident, mode::hot_only};
inline const char* name_of(mode m) { return m == mode::adaptive ? "adaptive" : m == mode::resident ? "resident" : "hot-only"; }

/// How wide a round is.
enum class width_choice { fixed, scheduled, online };

struct setup {
    mode as = mode::adaptive;
    dhisparse::model_shape shape = {};
    std::int64_t pool_bytes = 0;    // pages, and what speculation takes of all slots
    std::int64_t host_bytes = 0;
    std::int64_t metadata_bytes = 0; // of maps and hot indexes; 0: as a hierarchy takes
    std::int64_t hot_rows = 0; // of a session and group, whole pages
    std::int32_t slots = 1;
    width_choice width = width_choice::fixed;
    int k = 1;                 // queries a round, at most
    std::vector<double> survival = {}; // [k - 1] share of rounds whose first i + 1 proposals are accepted
    std::int32_t refill_pages = 0, backup_pages = 0; // a plan
    std::int32_t tail_pages = 0;    // required a session; 0: what K asks for
    std::int32_t import_pages = 0;  // kept free for arriving history while requests wait; 0: a sixteenth of the pool
    std::int64_t kept_prefixes = 0; // at most
    double speed = 1, context_scale = 1;
    bool real_bytes = false;
    std::uint64_t seed = 1;
    cost_parameters cost = {};

    std::int64_t spare(const dhisparse::page_layout& layout) const { return import_pages > 0 ? import_pages : layout.limits().n_pages / 16; }
    bool resident() const { return as == mode::resident; }
    std::int64_t block_positions() const; // of a block of the trace
    /// The drafter's rings, by (9), and the staged rows of unions larger than the hot caches: memory that is no pages.
    std::int64_t speculation_bytes() const;
    /// Throws invalid_argument where the pool has no page, or the model's limits are broken.
    dhisparse::page_layout layout() const;
    dhisparse::slot_table_layout tables(const dhisparse::page_layout& layout) const;
    std::int32_t host_pages(const dhisparse::page_layout& layout) const;
    dhisparse::ledger_config config(const dhisparse::page_layout& layout) const;
    dhisparse::ledger_policies policies() const;
};

} // namespace replay
