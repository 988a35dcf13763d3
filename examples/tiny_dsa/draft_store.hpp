// Where the drafter keeps the keys and values of its context: the caller decides.
#pragma once

#include <cstdint>

namespace tiny_dsa {

struct kv_rows {
    float* k; // [4 heads][32]
    float* v; // [4 heads][32]
};

class draft_store {
public:
    virtual ~draft_store() = default;

    /// The rows of a drafter layer (0, 1) at a position: written by drafter::extend(), and read for
    /// the 256 positions before an anchor by drafter::propose().  A pure look-up: worker threads
    /// call it.
    virtual kv_rows at(int layer, std::int32_t request, std::int32_t position) = 0;
};

} // namespace tiny_dsa
