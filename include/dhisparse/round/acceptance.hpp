/// Which proposals of a round the target confirms, and the token that follows them: greedy, and speculative
/// sampling whose output has the target's law. An engine may use them or its own; nothing else here does.
#pragma once

#include <dhisparse/core/config.hpp>

#include <cstdint>

namespace dhisparse {

/// A of (7), and the next anchor: the target's own token at position n + A + 1.
template <class Token>
struct acceptance {
    std::int32_t accepted = 0; // in [0, K - 1]
    Token next{};
};

/// The longest prefix of the proposals that the target would have chosen.
/// proposed: [n] = K - 1 tokens after the anchor, n >= 0; target: [n + 1] its choice at the anchor and at each of them.
template <class Token>
DHISPARSE_HD constexpr acceptance<Token> accept_greedy(const Token* proposed, const Token* target, std::int32_t n) {
    std::int32_t a = 0;
    while (a < n && proposed[a] == target[a]) ++a;
    return {a, target[a]};
}

/// A token of the law weights / their sum, for u uniform in [0, 1). weight(token): >= 0, called twice for each of
/// [0, n), and always the same. -1 where no weight is positive.
template <class Real, class Weight>
DHISPARSE_HD constexpr std::int32_t sample_weights(std::int32_t n, Real u, const Weight& weight) {
    Real sum = 0;
    for (std::int32_t x = 0; x < n; ++x) sum += weight(x);
    const Real point = u * sum;
    Real below = 0;
    std::int32_t last = -1;
    for (std::int32_t x = 0; x < n; ++x) {
        const Real w = weight(x);
        if (!(w > 0)) continue;
        last = x;
        below += w;
        if (point < below) return x;
    }
    return last; // u · sum rounded up to the sum
}

/// One request's proposals with the probabilities that they were drawn with, and the target's. Each row of p
/// and q is >= 0 and sums to 1, but for rounding; temperature, top-k and the like are applied to both before.
template <class Token, class Real>
struct sampled_block {
    const Token* proposed = nullptr; // [n]
    const Real* target = nullptr;    // [n + 1][p_stride] p, at the anchor and at each proposal; vocabulary columns count
    const Real* draft = nullptr;     // [n][q_stride] q that each proposal was drawn from; null if n = 0
    std::int64_t p_stride = 0, q_stride = 0;
    std::int32_t vocabulary = 0;     // tokens are [0, vocabulary)
    std::int32_t n = 0;              // K - 1 proposals
};

/// Speculative sampling (Leviathan et al. 2023, Chen et al. 2023): proposal x is accepted with probability
/// min(1, p(x)/q(x)); the first rejection draws the next token from max(0, p - q), normalised, and if all are
/// accepted it is drawn from the target behind them. The tokens so emitted are distributed as those of the
/// target alone. uniform(): independent numbers in [0, 1); n + 1 at most are taken. A proposal outside the
/// vocabulary is rejected. Reads O(K + vocabulary) numbers, in one thread. Does not allocate.
template <class Token, class Real, class Uniform>
DHISPARSE_HD constexpr acceptance<Token> accept_sampled(const sampled_block<Token, Real>& block, Uniform&& uniform) {
    for (std::int32_t a = 0; a < block.n; ++a) {
        const Real* p = block.target + a * block.p_stride;
        const Real* q = block.draft + a * block.q_stride;
        const auto x = static_cast<std::int64_t>(block.proposed[a]);
        const bool known = x >= 0 && x < block.vocabulary;
        if (known && static_cast<Real>(uniform()) * q[x] < p[x]) continue;
        const Real u = static_cast<Real>(uniform());
        const auto next = sample_weights(block.vocabulary, u, [&](std::int32_t y) { return p[y] > q[y] ? p[y] - q[y] : Real{0}; });
        if (next >= 0) return {a, static_cast<Token>(next)};
        // Nothing is left where p = q but for rounding: then x, rejected by rounding too, was as good.
        return {a, static_cast<Token>(sample_weights(block.vocabulary, u, [&](std::int32_t y) { return p[y]; }))};
    }
    const Real* p = block.target + block.n * block.p_stride;
    return {block.n, static_cast<Token>(sample_weights(block.vocabulary, static_cast<Real>(uniform()), [&](std::int32_t y) { return p[y]; }))};
}

} // namespace dhisparse
