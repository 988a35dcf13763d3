// Where the model keeps its history: the caller decides, the model writes and reads through this.
#pragma once

#include <cstdint>
#include <span>

namespace tiny_dsa {

/// Rows that one token attends to: row e lies at base + locations[e] * 128.
struct rows_view {
    const std::uint16_t* base;
    std::span<const std::int32_t> locations; // at most 256; -1 entries are skipped
};

/// `i` is an index into the tokens of the running forward().  The look-ups must not change
/// anything: worker threads call them at the same time.  select() is called from the thread that
/// called forward().
class store {
public:
    virtual ~store() = default;

    /// [128] bf16: where the row of token i goes.
    virtual std::uint16_t* row(int layer, int i) = 0;

    /// [32] bf16: where the index key of token i goes.  Producers 0..3 are layers 0, 1, 2 and 6.
    virtual std::uint16_t* key(int producer, int i) = 0;

    /// Blocks [64][32] bf16 that cover positions [0, position of token i] of its request: at least
    /// position / 64 + 1 of them.  What lies behind that position is read but never used.
    virtual std::span<const std::uint16_t* const> keys(int producer, int i) = 0;

    /// [n_tokens][256] positions in rank order, -1 after the last.  Called once per producer and
    /// forward(), when all rows and keys of its layer are written.  The span ends with the call.
    virtual void select(int producer, std::span<const std::int32_t> selections) = 0;

    /// A look at what the selection of token i is made from, for tests and traces: the scores of
    /// positions [0, position of token i].  Worker threads call it.
    virtual void scored(int /*producer*/, int /*i*/, std::span<const float> /*scores*/) {}

    /// The selected rows of this layer for token i, in selection order; called after select() of
    /// the layer's producer.
    virtual rows_view rows(int layer, int i) = 0;
};

} // namespace tiny_dsa
