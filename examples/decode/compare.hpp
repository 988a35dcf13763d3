// Whether two decodes are the same, byte by byte and bit by bit.
#pragma once

#include "decode.hpp"

#include <bit>
#include <string>

namespace decode {

/// The first difference in words, empty: none. A resolve that broke a precondition is one as well,
/// and so are selected rows of which the bytes were wrong.
inline std::string first_difference(const decoded& expected, const decoded& got,
                                    std::int64_t n_wrong_rows) {
    for (std::size_t r = 0; r < got.texts.size(); ++r)
        for (std::size_t i = 0; i < got.texts[r].size(); ++i)
            if (got.texts[r][i] != expected.texts[r][i])
                return dh::text("new byte ", i, " of request ", r, " is ", int{got.texts[r][i]},
                                ", resident: ", int{expected.texts[r][i]});
    for (std::size_t i = 0; i < got.logits.size(); ++i)
        if (std::bit_cast<std::uint32_t>(got.logits[i]) !=
            std::bit_cast<std::uint32_t>(expected.logits[i]))
            return dh::text("a logit of step ", i / (got.texts.size() * tiny_dsa::n_bytes), " is ",
                            got.logits[i], ", resident: ", expected.logits[i]);
    if (n_wrong_rows > 0) return dh::text(n_wrong_rows, " selected rows differ from the original");
    for (int v = 0; v < dh::n_violations; ++v)
        if (got.counts.violations[v] > 0)
            return dh::text(got.counts.violations[v], " broken preconditions of kind ", v);
    return {};
}
inline std::string first_difference(const decoded& expected, const decoded& got,
                                    const row_check* check) {
    return first_difference(expected, got, check ? check->n_wrong() : std::int64_t{0});
}

} // namespace decode
