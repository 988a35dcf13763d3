/// Whether speculation pays, and at which width, from measured TPOT ratios and sessions: equation (13).
#pragma once

#include <dhisparse/plan/equations.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

/// How far so many sessions are from those that width k was measured at; none where it wasn't measured.
inline std::optional<double> unmeasured(const std::vector<tpot_ratio>& measured, int k, double sessions) {
    std::optional<double> least, most;
    for (const auto& m : measured) {
        if (m.k != k) continue;
        const auto at = static_cast<double>(m.sessions);
        least = std::min(least.value_or(at), at);
        most = std::max(most.value_or(at), at);
    }
    if (!least) return std::nullopt;
    return std::max({0.0, *least - sessions, sessions - *most});
}

/// The width with the least ratio at so many sessions, and that ratio: of those that were measured nearest to them. 0: none.
inline std::pair<int, double> least_tpot(const std::vector<tpot_ratio>& measured, double sessions) {
    std::pair<int, double> out{0, 1};
    double nearest = 0;
    for (const auto& m : measured) {
        const auto far = *unmeasured(measured, m.k, sessions);
        const auto ratio = *tpot_at(measured, m.k, sessions);
        if (out.first != 0 && std::pair(far, ratio) >= std::pair(nearest, out.second)) continue;
        out = {m.k, ratio};
        nearest = far;
    }
    return out;
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

/// The width with the most tokens a second when so many sessions want to run, of those that were measured nearest to what
/// each admits; 1 where speculation doesn't pay at any. fits: [widths] the first is plain decoding.
inline int best_width(const std::vector<tpot_ratio>& measured, const std::vector<width_sessions>& fits, std::int64_t wanted) {
    const auto far = [&](const width_sessions& w) { return unmeasured(measured, w.k, static_cast<double>(std::min(wanted, w.sessions))).value_or(1e18); };
    double nearest = 1e18;
    for (const auto& spec : fits)
        if (spec.k > 1) nearest = std::min(nearest, far(spec));
    int best = 1;
    double most = 1;
    for (const auto& spec : fits) {
        const auto gained = spec.k > 1 && far(spec) <= nearest ? gain(measured, fits.front(), spec, wanted) : std::nullopt;
        if (!gained || *gained <= most) continue;
        most = *gained;
        best = spec.k;
    }
    return best;
}

} // namespace plan
} // namespace dhisparse
