/// What the policies that order requests are told of each.
#pragma once

#include <cstdint>

namespace dhisparse {

/// One live request. Numbers count up from 1 over the whole life of the ledger.
struct residency {
    std::int32_t optional_pages = 0; // of its history on the GPU that may leave, shared ones included
    std::uint64_t admitted = 0;      // which admission it was
    std::uint64_t served = 0;        // which reclaim, or which refill, it last took part in; 0: none
    std::int64_t remaining = 0;      // reserved positions beyond its history and what it has added
};

} // namespace dhisparse
