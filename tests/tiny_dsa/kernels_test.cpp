// Each instruction set's kernels against sums in double precision.
#include <tiny_dsa/bf16.hpp>
#include <tiny_dsa/floats.hpp>
#include <tiny_dsa/kernels.hpp>
#include <tiny_dsa/packed_matrix.hpp>

#include "catch.hpp"

#include <cmath>
#include <random>

namespace {

using tiny_dsa::floats;
using tiny_dsa::instruction_set;

floats random_floats(std::size_t n) {
    static std::mt19937_64 random(dhisparse_test::seed());
    std::normal_distribution<float> normal;
    floats out(n);
    for (float& x : out) {
        x = normal(random);
    }
    return out;
}

bool near(double a, double b) {
    return std::abs(a - b) < 1e-4 * (1 + std::abs(b));
}

const tiny_dsa::kernels* each_set() {
    return tiny_dsa::find_kernels(
        GENERATE(instruction_set::baseline, instruction_set::avx2, instruction_set::avx512));
}

} // namespace

TEST_CASE("linear multiplies, for any number of tokens", "[tiny_dsa]") {
    const auto* const k = each_set();
    if (!k) {
        return;
    }
    constexpr int n_in = 48, n_out = 64, most = 14;
    const floats w = random_floats(n_out * n_in), x = random_floats(most * n_in);
    tiny_dsa::packed_matrix packed(n_in, n_out);
    packed.place(w, 0);
    floats all(most * n_out);
    for (int n = most; n > 0; --n) {
        floats y(static_cast<std::size_t>(n + 1) * n_out, 0.5f);
        k->linear({.x = x.data(),
                   .x_stride = n_in,
                   .panels = packed.panel(0),
                   .y = y.data(),
                   .y_stride = n_out,
                   .n_tokens = n,
                   .n_in = n_in,
                   .n_panels = 2,
                   .add = false});
        for (int i = 0; n == most && i < n * n_out; ++i) {
            double sum = 0;
            for (int c = 0; c < n_in; ++c) {
                sum += double{w[i % n_out * n_in + c]} * x[i / n_out * n_in + c];
            }
            REQUIRE(near(y[i], sum));
            all[i] = y[i];
        }
        REQUIRE(
            std::equal(y.begin(), y.end() - n_out, all.begin())); // bit for bit as with more tokens
        REQUIRE(std::all_of(y.end() - n_out, y.end(),
                            [](float v) { return v == 0.5f; })); // nothing behind
    }
}

TEST_CASE("rms divides by the root of the mean square", "[tiny_dsa]") {
    const auto* const k = each_set();
    if (!k) {
        return;
    }
    const floats x = random_floats(96), gain = random_floats(96);
    floats y(96);
    k->rms(x.data(), gain.data(), 96, y.data());
    double squares = 0;
    for (const float v : x) {
        squares += double{v} * v;
    }
    for (int i = 0; i < 96; ++i) {
        REQUIRE(near(y[i], gain[i] * x[i] / std::sqrt(squares / 96 + 1e-6)));
    }
}

TEST_CASE("silu is right also where exp would overflow", "[tiny_dsa]") {
    const auto* const k = each_set();
    if (!k) {
        return;
    }
    floats in = random_floats(32), y(16);
    for (int i = 0; i < 16; ++i) {
        in[i] *= i < 4 ? 1000 : i < 8 ? 0 : 5;
    }
    k->silu_product({.gate_up = in.data(), .y = y.data(), .y_stride = 16, .n_tokens = 1});
    for (int i = 0; i < 16; ++i) {
        REQUIRE(near(y[i], in[i] / (1 + std::exp(-double{in[i]})) * in[16 + i]));
    }
}

TEST_CASE("scores are weighted sums of what is positive", "[tiny_dsa]") {
    const auto* const k = each_set();
    if (!k) {
        return;
    }
    const floats q = random_floats(4 * 32), w = random_floats(4), raw = random_floats(64 * 32);
    std::vector<std::uint16_t> keys(raw.size());
    std::transform(raw.begin(), raw.end(), keys.begin(), tiny_dsa::narrow);
    floats panels(64 * 32), scores(64);
    k->pack_keys(keys.data(), panels.data());
    k->score({.queries = q.data(),
              .weights = w.data(),
              .panels = panels.data(),
              .scores = scores.data()});
    for (int s = 0; s < 64; ++s) {
        double sum = 0;
        for (int j = 0; j < 4; ++j) {
            double dot = 0;
            for (int c = 0; c < 32; ++c) {
                dot += double{q[j * 32 + c]} * tiny_dsa::widen(keys[s * 32 + c]);
            }
            sum += w[j] * std::max(dot, 0.0);
        }
        REQUIRE(near(scores[s], sum));
    }
}

TEST_CASE("attention is a softmax over the rows", "[tiny_dsa]") {
    const auto* const k = each_set();
    if (!k) {
        return;
    }
    const int n = GENERATE(1, 2, 13, 256, tiny_dsa::max_attended_rows);
    const int columns = GENERATE(96, 128);
    const floats q = random_floats(8 * 128), keys = random_floats(n * 128),
                 values = random_floats(n * 128);
    floats out(8 * 128);
    k->attend({.query = q.data(),
               .keys = keys.data(),
               .values = values.data(),
               .n_rows = n,
               .n_columns = columns,
               .scale = 0.125f,
               .out = out.data()});
    for (int head = 0; head < 8; ++head) {
        std::vector<double> p(n), sums(columns);
        double total = 0;
        for (int r = 0; r < n; ++r) {
            double dot = 0;
            for (int c = 0; c < 128; ++c) {
                dot += double{q[head * 128 + c]} * keys[r * 128 + c];
            }
            total += p[r] = std::exp(0.125 * dot);
            for (int c = 0; c < columns; ++c) {
                sums[c] += p[r] * values[r * 128 + c];
            }
        }
        for (int c = 0; c < columns; ++c) {
            REQUIRE(near(out[head * 128 + c], sums[c] / total));
        }
    }
}
