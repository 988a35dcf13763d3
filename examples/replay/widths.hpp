// Fixed widths, the published schedule and the width chosen online, side by side over load.
#pragma once

#include "outcome.hpp"
#include "setup.hpp"

#include <string>
#include <vector>

namespace replay {

inline constexpr int widest = 8; // of the published schedule, and what the others are compared to

struct width_case {
    std::string name;
    width_choice choice = width_choice::fixed;
    int k = 1;
};
/// K = 1 to `widest`, schedule, online.
std::vector<width_case> width_cases();

/// What each of width_cases() found at one speed of arrivals.
struct widths_at {
    double speed = 1;
    std::vector<outcome> found;
    /// The best fixed one's, and that of a case, in tokens/s.
    double best_fixed() const;
    double of(std::size_t which) const { return found[which].tokens_per_s(); }
};

std::string widths_table(const std::vector<widths_at>& loads);
/// Tokens/s, the median of ms a token, and each one's share of the best fixed width's tokens/s, over speed.
std::string widths_plot(const std::string& title, const std::vector<widths_at>& loads);

} // namespace replay
