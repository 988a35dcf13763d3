// One forward() of the target: what its steps share.  Private to the library.
#pragma once

#include "dense.hpp"
#include "model.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tiny_dsa {

/// Memory that is kept from one forward() to the next.  It only grows.
struct workspace {
    floats h;                             // [n][256]
    floats in;                            // [n][in_column::stride], the first projection of a layer
    floats u;                             // [n][256], attention output of a layer
    floats act;                           // [n][448]
    floats scores;                        // [score_tokens][positions in whole blocks]
    floats attended;                      // [n_threads] attend_scratch
    std::vector<std::int32_t> selections; // [n][256]
};

struct token_range {
    int first, end;
};

struct attend_scratch;

class forward_pass {
public:
    forward_pass(runtime& rt, const target_weights& w, workspace& ws, std::span<const token> tokens,
                 store& s);

    void run(const forward_outputs& out);

private:
    void embed();
    void run_layer(int layer);
    void write_rows(int layer); // and index keys
    void write_row(int layer, int i);
    void write_key(int layer, int i); // finishes the index query and weights, too
    void keep_feature(int layer, std::span<float> features);
    void write_logits(std::span<float> logits);

    // forward_selection.cpp
    void select(int producer);
    void score_group(int producer, int first, int end);
    void score_block(int producer, int block, token_range range, int at);
    void rank_group(int producer, int first, int end);

    // forward_attention.cpp
    void attend(int layer);
    void attend_tile(int layer, token_range range, attend_scratch& s);
    void attend_token(int layer, int i, float* query, float* out, float* rows);
    int gather(int layer, int i, float* rows);

    int n() const { return static_cast<int>(tokens_.size()); }
    float* h(int i) { return ws_.h.data() + static_cast<std::size_t>(i) * width; }
    float* in(int i, int column) {
        return ws_.in.data() + static_cast<std::size_t>(i) * in_column::stride + column;
    }
    float* scores(int at_in_group) {
        return ws_.scores.data() + static_cast<std::size_t>(at_in_group) * score_stride_;
    }

    runtime& rt_;
    const target_weights& w_;
    workspace& ws_;
    std::span<const token> tokens_;
    store& store_;
    int score_stride_ = 0; // positions in whole blocks
};

} // namespace tiny_dsa
