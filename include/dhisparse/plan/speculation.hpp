/// Whether speculation pays, and at which width, from measured TPOT ratios and sessions: equation (13).
#pragma once

#include <dhisparse/plan/equations.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dhisparse {

/// One measurement: time per output token at K queries a round, divided by that of plain decoding.
struct tpot_ratio {
    std::int64_t sessions = 0;
    int k = 0;
    double ratio = 0;
};

/// A list of {"sessions": n, "k": K, "tpot_ratio": x}. In dhisparse::runtime. Throws invalid_argument in
/// one line that begins with `name` and says what is wrong with which entry.
std::vector<tpot_ratio> tpot_from_json(std::string_view text, const std::string& name);

namespace plan {

/// Published for GLM-5.3 with DFlash2 at the width of the published schedule.
inline std::vector<tpot_ratio> published_tpot() { return {{128, 4, 0.77}, {256, 4, 0.71}}; }

/// Width k's ratio at so many sessions: between two measurements on a straight line, outside them the
/// nearest. None where there is no measurement of this width.
inline std::optional<double> tpot_at(const std::vector<tpot_ratio>& measured, int k, double sessions) {
    const tpot_ratio *below = nullptr, *above = nullptr;
    for (const auto& m : measured) {
        if (m.k != k) continue;
        const auto at = static_cast<double>(m.sessions);
        if (at <= sessions && (!below || below->sessions < m.sessions)) below = &m;
        if (at >= sessions && (!above || above->sessions > m.sessions)) above = &m;
    }
    if (!below || !above) return below ? std::optional(below->ratio) : above ? std::optional(above->ratio) : std::nullopt;
    const auto span = static_cast<double>(above->sessions - below->sessions);
    if (span == 0) return below->ratio;
    return below->ratio + (above->ratio - below->ratio) * (sessions - static_cast<double>(below->sessions)) / span;
}

/// Sessions that fit at width K (1: plain decoding).
struct width_sessions {
    int k = 1;
    std::int64_t sessions = 0;
};

/// Tokens a second at width K, relative to those of plain decoding, when so many sessions want to run: (13)'s two
/// sides divided. None where nothing was measured for this width or nothing fits.
inline std::optional<double> gain(const std::vector<tpot_ratio>& measured, const width_sessions& plain, const width_sessions& spec,
                                  std::int64_t wanted) {
    const auto admitted = std::min(wanted, spec.sessions);
    const auto ratio = tpot_at(measured, spec.k, static_cast<double>(admitted));
    if (!ratio || plain.sessions <= 0) return std::nullopt;
    return static_cast<double>(admitted) / static_cast<double>(std::min(wanted, plain.sessions)) / *ratio;
}

/// The width with the most tokens a second when so many sessions want to run; 1 where speculation doesn't
/// pay at any. fits: [widths] the first is plain decoding.
inline int best_width(const std::vector<tpot_ratio>& measured, const std::vector<width_sessions>& fits, std::int64_t wanted) {
    int best = 1;
    double most = 1;
    for (const auto& spec : fits) {
        const auto gained = spec.k > 1 ? gain(measured, fits.front(), spec, wanted) : std::nullopt;
        if (!gained || *gained <= most) continue;
        most = *gained;
        best = spec.k;
    }
    return best;
}

} // namespace plan
} // namespace dhisparse
