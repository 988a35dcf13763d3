// How long a prefix of a block's proposals the target is asked to verify.
#pragma once

#include <tiny_dsa/spec.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>

namespace decode {

/// draft_logits: [K][256], of which slot 0, the anchor's, means nothing. Returns proposals in
/// [0, K-1]: the first so many are verified.
using schedule = std::function<int(std::span<const float> draft_logits)>;

/// The whole block, as DFlash does.
inline int fixed_block(std::span<const float> draft_logits) {
    return static_cast<int>(draft_logits.size()) / tiny_dsa::n_bytes - 1;
}

/// The longest prefix that the drafter itself expects to be accepted with probability `least`, as
/// DSpark does: the product of its probabilities of the bytes that it proposes, the likeliest ones.
struct confident_prefix {
    double least;

    int operator()(std::span<const float> draft_logits) const {
        const int n = fixed_block(draft_logits);
        double survives = 1;
        for (int i = 0; i < n; ++i) {
            const auto slot = draft_logits.subspan(
                static_cast<std::size_t>(i + 1) * tiny_dsa::n_bytes, tiny_dsa::n_bytes);
            survives *= likeliest(slot);
            if (survives < least) return i;
        }
        return n;
    }

private:
    /// The largest probability of a softmax.
    static double likeliest(std::span<const float> logits) {
        const float top = *std::ranges::max_element(logits);
        double sum = 0;
        for (const float logit : logits)
            sum += std::exp(static_cast<double>(logit - top));
        return 1 / sum;
    }
};

} // namespace decode
