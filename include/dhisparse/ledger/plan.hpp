/// What the ledger decides and the executor applies: flat lists of edits and copies, named by tickets.
#pragma once

#include <dhisparse/core/error.hpp>
#include <dhisparse/core/types.hpp>
#include <dhisparse/copy/page_copy.hpp>

#include <cstdint>
#include <string>
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

/// A slot that could not grow: its next positions are not all mapped.
struct stall {
    enum class until : std::uint8_t {
        pages_come, // pages are on their way to it: it may go on after a later plan
        room_comes, // nothing is on its way: another request must end or be parked
    };
    slot_id slot;
    until waits = until::pages_come;
    friend bool operator==(const stall&, const stall&) = default;
};

/// What a copy that failed has ended: a request (its slot is gone, and all that it held comes back as
/// after finish) or a kept prefix.
struct failure {
    slot_id slot;                        // of the request; index -1: a prefix
    prefix_id prefix = prefix_id::none;
    std::int32_t page = -1;              // page of its positions, -1: its index keys
    direction way = direction::to_host;
    friend bool operator==(const failure&, const failure&) = default;
    /// For people: "copy of page 3 to the host failed: the request of slot 1 has ended".
    std::string message() const {
        return text("copy of ", page < 0 ? std::string("its index keys") : text("page ", page), way == direction::to_host ? " to the host" : " to the GPU",
                    " failed: ", prefix == prefix_id::none ? text("the request of slot ", slot.index) : text("prefix ", static_cast<std::int64_t>(prefix)), " has ended");
    }
};

struct step_plan {
    std::vector<edit> edits;
    std::vector<page_copy> copies;
    ticket fence = 0; // complete once every step launched before this plan, and its edits, are done; 0: none
    std::vector<stall> stalled;
    slot_id to_park; // where some slot waits for room: the request to park by policy park_order; index -1: none
    std::vector<failure> failed;
    friend bool operator==(const step_plan&, const step_plan&) = default;
};

} // namespace dhisparse
