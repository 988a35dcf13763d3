// The indexer: scores of all positions, and the best 256 of them for each token.
#include "forward_pass.hpp"

#include "top_k.hpp"

#include <algorithm>

namespace tiny_dsa {

namespace {

constexpr int score_tokens = 64; // scored before they are ranked: bounds the memory
constexpr int tile_tokens = 8;   // of a task: they share the packing of a block
constexpr int blocks_per_task = 64;

int blocks_of(const token& t) {
    return t.position / keys_per_block + 1;
}

} // namespace

void forward_pass::select(int producer) {
    at_least(ws_.scores, static_cast<std::size_t>(std::min(n(), score_tokens)) * score_stride_);
    for (int first = 0; first < n(); first += score_tokens) {
        const int end = std::min(n(), first + score_tokens);
        score_group(producer, first, end);
        rank_group(producer, first, end);
    }
    store_.select(producer, std::span(ws_.selections).first(tokens_.size() * top_k));
}

void forward_pass::score_group(int producer, int first, int end) {
    const int n_ranges = (score_stride_ / keys_per_block + blocks_per_task - 1) / blocks_per_task;
    const int n_tiles = (end - first + tile_tokens - 1) / tile_tokens;
    rt_.pool.run(n_tiles * n_ranges, [&](int task, int) {
        const int from = first + task / n_ranges * tile_tokens;
        const int block = task % n_ranges * blocks_per_task;
        for (int b = block; b < block + blocks_per_task; ++b) {
            score_block(producer, b, {from, std::min(end, from + tile_tokens)}, from - first);
        }
    });
}

void forward_pass::score_block(int producer, int block, token_range range, int at) {
    alignas(64) float panels[keys_per_block * key_width];
    const std::uint16_t* packed = nullptr; // tokens of one request mostly share their blocks
    for (int i = range.first; i < range.end; ++i, ++at) {
        if (block >= blocks_of(tokens_[i])) {
            continue;
        }
        const std::uint16_t* const keys = store_.keys(producer, i)[block];
        if (keys != packed) {
            rt_.k.pack_keys(keys, panels);
            packed = keys;
        }
        rt_.k.score({.queries = in(i, in_column::index_query),
                     .weights = in(i, in_column::index_weight),
                     .panels = panels,
                     .scores = scores(at) + block * keys_per_block});
    }
}

void forward_pass::rank_group(int producer, int first, int end) {
    for_ranges(
        rt_, end - first, 4, [&](int from, int to) { // small ranges: late positions cost more
            std::vector<std::uint64_t> scratch;
            for (int at = from; at < to; ++at) {
                const int i = first + at;
                const std::span<const float> all(scores(at),
                                                 static_cast<std::size_t>(tokens_[i].position) + 1);
                store_.scored(producer, i, all);
                select_top(
                    all,
                    std::span(ws_.selections).subspan(static_cast<std::size_t>(i) * top_k, top_k),
                    scratch);
            }
        });
}

} // namespace tiny_dsa
