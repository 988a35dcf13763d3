/// What a deployment takes and what fits: bytes a session as published and as this library allocates
/// them, sessions by either tier, when the hierarchy and when speculation pay. No GPU, no allocation of tiers.
#pragma once

#include <dhisparse/layout/page_layout.hpp>
#include <dhisparse/plan/equations.hpp>
#include <dhisparse/plan/speculation.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dhisparse::plan {

struct request {
    model_shape shape = {};
    std::int64_t context = published::context;   // positions of a session
    std::int64_t hot_rows = published::hot_rows; // B of a group with m = 1; a multiple of the page's positions
    std::optional<drafter_shape> drafter = {};   // its k_max is K_max; none: plain decoding, K = 1
    std::optional<std::int32_t> slots = {};      // none: as many as fit, and the published 35 for totals
    std::int32_t steps_ahead = 1;
    std::int64_t hbm_bytes = 0;  // for KV: what weights leave; 0: not said
    std::int64_t host_bytes = 0; // 0: not said
    double miss_rate = published::miss_rate;
    std::vector<tpot_ratio> tpot = {}; // empty: the published ones
    int k_max() const { return drafter ? drafter->k_max : 1; }
};

/// Bytes of one session by the published design: whole pages of positions, no padding, no metadata.
struct session_bytes {
    std::int64_t history = 0;    // all rows of all groups
    std::int64_t index = 0;      // index keys
    std::int64_t unselected = 0; // what no selection covers
    std::int64_t hot = 0, tail = 0, ring = 0, staging = 0;
    std::int64_t resident() const { return history + index + unselected + ring; }
    std::int64_t required() const { return index + unselected + hot + tail + ring + staging; }
};

/// Bytes of one session as the page pool, its tables and the arenas hold them.
struct allocated_bytes {
    std::string layout = {}; // the policy: page_major, or source_planes where that refuses the shape
    std::int64_t page = 0;   // of the pool
    std::int64_t hot_pages = 0, tail_pages = 0, index_pages = 0, leased_pages = 0;
    std::int64_t tail = 0;          // rows of all tail pages
    std::int64_t staging = 0;       // of the arena behind the pages: rows of a round's union beyond the hot cache
    std::int64_t metadata = 0;      // slot tables: maps, hot indexes, stamps
    std::int64_t page_padding = 0;  // bytes of hot, tail and leased pages that hold nothing
    std::int64_t index_padding = 0; // the same of index pages: pitch, and the last page's rest
    std::int64_t total = 0;
    std::int64_t padding() const { return page_padding + index_padding; }
};

struct deployment {
    request asked = {};
    session_bytes session = {};
    allocated_bytes allocated = {};
    std::int64_t positions = 0;        // the context in whole pages
    std::int64_t ring_rows = 0;        // R_d
    std::int64_t host_session = 0;     // host bytes of a session's finished rows
    std::int64_t staging_shared = 0;   // all slots, one arena
    std::int64_t staging_dedicated = 0; // all slots, an arena for each source
    double host_bytes_per_token = 0;   // at the miss rate
    // Sessions that fit; none where the memory was not said.
    std::optional<std::int64_t> sessions_hbm = {}, sessions_hbm_allocated = {}, sessions_resident = {}, sessions_host = {};
    /// From this number of sessions on they do not fit resident but do fit here; none where there is no such number.
    std::optional<std::int64_t> break_even = {};
    std::optional<std::int64_t> optional_bytes = {}; // HBM left for optional history beside the sessions, at most `slots`
    // Equation (13), with every slot taken.
    std::int64_t sessions_plain = 0, sessions_spec = 0;
    double tpot = 1;
    bool speculation_pays = false;
    bool speculation_known = true; // false: nothing was measured that tells; tpot and speculation_pays say nothing
    std::vector<width_sessions> widths = {};   // plain decoding and each measured width: what fits
    std::int32_t slots() const { return asked.slots.value_or(published::slots); }
};

/// Throws invalid_argument or out_of_capacity naming the field, its value and what is permitted.
inline deployment make(const request& asked);

/// The published part alone, for any K_max. Throws as make().
inline session_bytes bytes_of(const request& asked);

/// B where none is asked for: the published one, or what k rows of every group take, in whole pages.
inline std::int64_t default_hot_rows(const model_shape& shape);

/// Row bytes of every source replaced; rows are packed in one run then. Throws invalid_argument.
inline model_shape with_row_bytes(model_shape shape, std::int64_t row_bytes);
/// Pages of p positions. Runs that follow each other move with the block's rows; others are refused.
inline model_shape with_page_positions(model_shape shape, int page_positions);

} // namespace dhisparse::plan

#include <dhisparse/plan/planner_impl.hpp>
