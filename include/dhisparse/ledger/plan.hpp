/// What the ledger decides and the executor applies: flat lists of edits and copies, named by tickets.
#pragma once

#include <dhisparse/core/types.hpp>
#include <dhisparse/copy/page_copy.hpp>

#include <cstdint>
#include <vector>

namespace dhisparse {

/// One change of a slot's tables, applied in order, in the step stream, between rounds.
struct edit {
    enum class kind : std::int32_t {
        open,        // index: page-map entries, value: offset of its run; clears the slot's tables
        close,       // the slot is treated as -1 from here on
        move_run,    // index: page-map entries, value: offset of its new run
        positions,   // value: reserved length
        frontier,    // value: n
        tail_page,   // value: first tail page
        map,         // index: page, value: gpu page or -1
        host_map,    // index: page, value: host page or -1
        hot_page,    // index: number of the hot page, value: gpu page
        index_page,  // index: number of the slot's index page, value: gpu page
    };
    kind what = kind::open;
    std::int32_t slot = 0;
    std::int32_t index = 0;
    std::int64_t value = 0;
    friend bool operator==(const edit&, const edit&) = default;
};

struct step_plan {
    std::vector<edit> edits;
    std::vector<page_copy> copies;
    ticket fence = 0; // complete once every step launched before this plan, and its edits, are done; 0: none
    std::vector<slot_id> stalled; // slots that could not grow: their next positions are not all mapped
    friend bool operator==(const step_plan&, const step_plan&) = default;
};

} // namespace dhisparse
