// A chunk of a prompt through the tiny model on the CPU: what lies before it is gathered from either tier, what it makes
// is written into the import's pages.
#pragma once

#include "loop.hpp"

#include <decode/key_blocks.hpp>
#include <tiny_dsa/flat_store.hpp>
#include <tiny_dsa/model.hpp>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

namespace engine {

template <class Kv, class Machine>
class tiny_prefill {
public:
    explicit tiny_prefill(tiny_dsa::model& target) : target_(target), rows_(static_cast<std::size_t>(tiny_dsa::max_positions) * decode::row_bytes), logits_(tiny_dsa::n_bytes) {}

    struct seen {
        std::uint8_t next = 0;           // that follows the chunk
        std::span<const float> features; // [tokens][768], or nothing
    };
    /// keys: blocks of every slot, by its index.
    seen run(Kv& kv, Machine& machine, decode::key_blocks& keys, const prefill_chunk& chunk, bool with_features) {
        const auto first = static_cast<int>(chunk.first), n = static_cast<int>(chunk.tokens.size());
        keys.cover(kv, machine, chunk.slot, chunk.slot.index, first + n);
        read_earlier(kv, machine, keys, chunk.slot, first);
        const auto tokens = tiny_dsa::tokens_at(0, first, chunk.tokens);
        features_.resize(with_features ? tokens.size() * tiny_dsa::feature_width : 0);
        work_.begin(tokens);
        target_.forward(tokens, work_, {.logits = logits_, .features = features_});
        write(kv, machine, keys, chunk);
        return {tiny_dsa::argmax(logits_), features_};
    }

private:
    static constexpr int p = decode::page_positions;

    /// Rows [0, first) of every layer, and their keys.
    void read_earlier(Kv& kv, Machine& machine, const decode::key_blocks& keys, dh::slot_id slot, int first) {
        const auto n_bytes = static_cast<std::size_t>(first) * decode::row_bytes;
        for (int layer = 0; layer < tiny_dsa::n_layers && first > 0; ++layer) {
            std::memset(rows_.data(), 0xFF, n_bytes); // a row that were nowhere would make numbers that aren't any
            kv.gather(machine.stream, layer, slot, 0, first, std::span(rows_).first(n_bytes));
            machine.wait();
            std::memcpy(work_.row_at(layer, 0, 0), rows_.data(), n_bytes);
        }
        for (int producer = 0; producer < tiny_dsa::n_producers; ++producer)
            for (int at = 0; at < first; at += p)
                machine.read(keys.key(producer, slot.index, at),
                             std::span(work_.key_at(producer, 0, at), static_cast<std::size_t>(std::min(p, first - at)) * tiny_dsa::key_width));
    }
    void write(Kv& kv, Machine& machine, const decode::key_blocks& keys, const prefill_chunk& chunk) {
        const auto end = static_cast<int>(chunk.first) + static_cast<int>(chunk.tokens.size());
        for (int from = static_cast<int>(chunk.first); from < end;) {
            const int to = std::min(end, (from / p + 1) * p);
            const auto n = static_cast<std::size_t>(to - from);
            const auto page = chunk.pages[static_cast<std::size_t>(from / p - static_cast<int>(chunk.first) / p)];
            for (int layer = 0; layer < tiny_dsa::n_layers; ++layer)
                machine.write(kv.row(layer, kv.location_of(layer, page, from % p)), work_.row_at(layer, 0, from), n * decode::row_bytes);
            for (int producer = 0; producer < tiny_dsa::n_producers; ++producer)
                machine.write(keys.key(producer, chunk.slot.index, from), work_.key_at(producer, 0, from), n * decode::key_bytes);
            from = to;
        }
    }

    tiny_dsa::model& target_;
    tiny_dsa::flat_store work_{tiny_dsa::max_positions}; // one prompt at a time
    typename Machine::template array<std::byte> rows_;    // [8192][256 bytes] of one layer, which the backend writes
    std::vector<float> logits_, features_;
};

} // namespace engine
