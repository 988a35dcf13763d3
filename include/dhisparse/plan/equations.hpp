/// The planner's equations, (9) to (13), and the figures published for GLM-5.3 that it takes as defaults.
#pragma once

#include <dhisparse/draft/ring_equations.hpp>
#include <dhisparse/policy/width/scheduled.hpp>

#include <cstdint>

namespace dhisparse::plan {

using dhisparse::published_width;
using dhisparse::ring_row;  // (10)
using dhisparse::ring_rows; // (9)

/// (11) Staging of so many sessions, for the group whose rows take most: k · lanes · row_bytes.
constexpr std::int64_t staging_bytes(std::int64_t sessions, std::int64_t k_max, std::int64_t widest_selection_bytes) {
    return sessions * k_max * widest_selection_bytes;
}

/// (13) sessions_*: sessions admitted with and without speculation; tpot_ratio: TPOT with it, divided by without.
constexpr bool speculation_pays(double sessions_spec, double sessions_plain, double tpot_ratio) {
    return sessions_spec / sessions_plain > tpot_ratio;
}

/// Published for GLM-5.3 with DFlash2, where no other number is given. The 140 sessions are measured:
/// they do not follow from the published bytes.
struct published {
    static constexpr const char* model = "glm-5.3"; // whose figures these are
    static constexpr std::int64_t context = 100'000;
    static constexpr std::int64_t hot_rows = 4'096;
    static constexpr std::int32_t slots = 35;
    static constexpr std::int64_t sessions_plain = 208, sessions_spec = 140;
    static constexpr double miss_rate = 0.0005; // 0.05 % of the selected rows came from the host
    static constexpr std::int64_t dflash2_window = 2'048, dflash2_row_bytes = 12'288;
    static constexpr int dflash2_layers = 6, dflash2_k_max = 8;
};

} // namespace dhisparse::plan
