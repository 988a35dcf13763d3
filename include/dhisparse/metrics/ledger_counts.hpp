/// What the ledger counts as it decides. Plain numbers, written by the ledger's calls alone.
#pragma once

#include <dhisparse/metrics/histogram.hpp>

#include <cstdint>

namespace dhisparse {

struct ledger_counts {
    std::uint64_t plans = 0;
    std::uint64_t admitted = 0, finished = 0, failed = 0, parked = 0, resumed = 0;
    std::uint64_t reclaims = 0;         // calls of reclaim that took pages, and growth that did
    std::uint64_t reclaimed_pages = 0;  // optional pages unmapped for them
    std::uint64_t unmapped_pages = 0;   // pages that left the GPU for want of room, as they became durable
    std::uint64_t refilled_pages = 0;   // mapped after their copy
    std::uint64_t backed_up_pages = 0;  // whole-page copies to the host that completed
    std::uint64_t failed_copies = 0;
    std::uint64_t stalls = 0;           // slots in `stalled`, plan by plan
    histogram watermark_lag;            // positions, at each frontier report
    histogram stalled_plans;            // of a slot that got its pages: plans that it had waited
};

} // namespace dhisparse
