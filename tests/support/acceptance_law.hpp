/// Speculative decoding of a toy target by a toy drafter, on the host or on a device, and whether what comes
/// out has the target's law.
#pragma once

#include "random.hpp"

#include <dhisparse/round/acceptance.hpp>

#include <cstdint>
#include <vector>

namespace dhisparse_test {

constexpr int toy_vocabulary = 4, toy_length = 4, toy_proposals = 3;
constexpr int toy_outcomes = toy_vocabulary * toy_vocabulary * toy_vocabulary * toy_vocabulary;
using toy_real = float;

/// Numbers in [0, 1) of 24 bits, the same on host and device: splitmix64 of a counter.
struct toy_uniform {
    std::uint64_t state;
    DHISPARSE_HD toy_real operator()() {
        std::uint64_t x = state += 0x9E3779B97F4A7C15;
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
        return static_cast<toy_real>((x ^ (x >> 31)) >> 40) * 0x1p-24F;
    }
};

/// The law of the token at position t after `last`. The drafter's differs, and differs more for kind 1, where
/// it also excludes a token that the target may choose; kind 2: it is the target's own.
DHISPARSE_HD inline void toy_law(bool draft, int kind, int t, int last, toy_real* out) {
    toy_real sum = 0;
    for (int x = 0; x < toy_vocabulary; ++x) {
        const int mixed = draft && kind != 2 ? (3 * x + last + 2 * t) % 7 : (5 * x + 2 * last + t) % 6;
        out[x] = static_cast<toy_real>(draft && kind == 1 && x == (last + 1) % toy_vocabulary ? 0 : 1 + mixed);
        sum += out[x];
    }
    for (int x = 0; x < toy_vocabulary; ++x) out[x] /= sum;
}

/// Decodes toy_length tokens in rounds, the last one cut, and returns their number in base toy_vocabulary.
DHISPARSE_HD inline int toy_decode(int kind, std::uint64_t seed) {
    toy_uniform uniform{seed * 0xD1342543DE82EF95};
    int tokens[toy_length + toy_proposals + 1], n = 0, last = 0;
    while (n < toy_length) {
        toy_real p[toy_proposals + 1][toy_vocabulary], q[toy_proposals][toy_vocabulary];
        int proposed[toy_proposals], before = last;
        for (int j = 0; j <= toy_proposals; ++j) {
            toy_law(false, kind, n + j, before, p[j]);
            if (j == toy_proposals) break;
            toy_law(true, kind, n + j, before, q[j]);
            before = proposed[j] = dhisparse::sample_weights(toy_vocabulary, uniform(), [&](int x) { return q[j][x]; });
        }
        const auto [accepted, next] = dhisparse::accept_sampled(
            dhisparse::sampled_block<int, toy_real>{proposed, p[0], q[0], toy_vocabulary, toy_vocabulary, toy_vocabulary, toy_proposals}, uniform);
        for (int j = 0; j < accepted; ++j) tokens[n + j] = proposed[j];
        n += accepted;
        tokens[n++] = last = next;
    }
    int code = 0;
    for (int t = 0; t < toy_length; ++t) code = code * toy_vocabulary + tokens[t];
    return code;
}

/// Chi-square of how often each outcome came, against the target's law. toy_outcomes - 1 degrees of freedom:
/// mean 255, standard deviation 22.6, above 375 once in a million.
inline double toy_chi_square(int kind, const std::vector<std::uint32_t>& counts) {
    double trials = 0, out = 0;
    for (const auto n : counts) trials += n;
    for (int code = 0; code < toy_outcomes; ++code) {
        double probability = 1;
        for (int t = 0, last = 0, weight = toy_outcomes / toy_vocabulary; t < toy_length; ++t, weight /= toy_vocabulary) {
            toy_real law[toy_vocabulary];
            toy_law(false, kind, t, last, law);
            last = code / weight % toy_vocabulary;
            probability *= static_cast<double>(law[last]);
        }
        const auto difference = counts[static_cast<std::size_t>(code)] - trials * probability;
        out += difference * difference / (trials * probability);
    }
    return out;
}
constexpr double toy_bound = 375;
constexpr int toy_trials = 400'000; // 75 or more of the rarest outcome

} // namespace dhisparse_test
