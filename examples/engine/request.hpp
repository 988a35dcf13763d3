// What comes into the loop, and what it says in the end.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace engine {

using bytes = std::vector<std::uint8_t>;

struct request {
    std::int64_t arrival_step = 0;
    bytes prompt;                           // 1 or more
    int tokens = 1;                         // that it wants, 1 or more
    std::optional<int> abort_after = {};    // its client leaves once it has so many tokens
    std::optional<std::int64_t> abort_step = {}; // or in this step, whatever it is doing then
    std::optional<int> prefix = {};         // positions of its prompt that are kept for later requests; none: all
};

enum class ending : std::uint8_t {
    none,     // not yet
    finished, // it has its tokens
    aborted,
    refused,  // larger than the memory
    failed,   // a copy failed
};

struct reply {
    bytes output;
    ending how = ending::none;
    std::int64_t arrived = 0;      // step
    std::int64_t admitted = -1;    // step in which it first had a slot, -1: never
    std::int64_t first_token = -1; // step in which the host saw it, -1: never
    std::int64_t ended = -1;       // step
    std::int64_t shared = 0;       // positions that a prefix gave
};

struct loop_counts {
    std::int64_t steps = 0, rounds = 0, tokens = 0, prefilled = 0;
    std::int64_t proposed = 0, accepted = 0;
    std::int64_t parks = 0, resumes = 0, restarts = 0;
    std::int64_t shared_pages = 0; // pages of history that were not computed again
    std::int64_t most_at_once = 0;
};

} // namespace engine
