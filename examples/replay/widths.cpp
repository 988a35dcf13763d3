#include "widths.hpp"

#include <dhisparse/metrics/plot.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace replay {
namespace {

namespace dh = dhisparse;

constexpr auto n_fixed = static_cast<std::size_t>(widest), schedule = n_fixed, online = n_fixed + 1;

/// One line for each case, over speed.
template <class Value>
dh::plot_panel panel_of(const std::string& title, const char* y_label, const std::vector<widths_at>& loads, Value value) {
    dh::plot_panel out{.title = title, .x_label = "arrivals, times as fast as in the trace", .y_label = y_label, .logarithmic_x = true};
    const auto cases = width_cases();
    for (std::size_t i = 0; i < cases.size(); ++i) {
        dh::plot_series series{.label = cases[i].name};
        for (const auto& at : loads) series.points.emplace_back(at.speed, value(at, i));
        out.series.push_back(series);
    }
    return out;
}

constexpr double least_percent = 90; // drawn: the rest lies at the bottom, so that those that compete can be told apart
double percent(const widths_at& at, std::size_t i) { return std::max(least_percent, 100 * at.of(i) / at.best_fixed()); }

/// Over all loads: the geometric mean of a case's tokens/s over another's.
template <class Of, class To>
double overall(const std::vector<widths_at>& loads, Of of, To to) {
    double sum = 0;
    for (const auto& at : loads) sum += std::log(of(at) / to(at));
    return std::exp(sum / static_cast<double>(loads.size()));
}

} // namespace

std::vector<width_case> width_cases() {
    std::vector<width_case> out;
    for (int k = 1; k <= widest; ++k) out.push_back({fmt::format("K = {}", k), width_choice::fixed, k});
    out.push_back({"schedule", width_choice::scheduled, widest});
    out.push_back({"online", width_choice::online, widest});
    return out;
}

double widths_at::best_fixed() const {
    double best = 0;
    for (std::size_t i = 0; i < n_fixed; ++i) best = std::max(best, of(i));
    return best;
}

std::string widths_table(const std::vector<widths_at>& loads) {
    std::string out = fmt::format("{:>8}", "speed");
    for (const auto& one : width_cases()) out += fmt::format("{:>10}", one.name);
    out += fmt::format("{:>9}{:>9}{:>9}\n", "o/best", "o/sched", "mean K");
    for (const auto& at : loads) {
        out += fmt::format("{:>8g}", at.speed);
        for (std::size_t i = 0; i < at.found.size(); ++i) out += fmt::format("{:>10.1f}", at.of(i));
        out += fmt::format("{:>9.4f}{:>9.4f}{:>9.2f}\n", at.of(online) / at.best_fixed(), at.of(online) / at.of(schedule), at.found[online].mean_width());
        out += fmt::format("{:>8}", "ms/token");
        for (const auto& one : at.found) out += fmt::format("{:>10.2f}", one.tpot_ms.at(0.5));
        out += '\n';
    }
    const auto of_online = [](const widths_at& at) { return at.of(online); };
    return out + fmt::format("tokens/s, ms a token (median). Overall (geometric mean) online / best fixed {:.4f}, online / schedule {:.4f}\n",
                             overall(loads, of_online, [](const widths_at& at) { return at.best_fixed(); }),
                             overall(loads, of_online, [](const widths_at& at) { return at.of(schedule); }));
}

std::string widths_plot(const std::string& title, const std::vector<widths_at>& loads) {
    auto share = panel_of(title + ": tokens a second, of the best fixed width's", "%, 90 and less at the bottom", loads, percent);
    share.y_low = least_percent;
    return dh::plot_svg({panel_of(title + ": tokens a second", "tokens/s", loads, [](const widths_at& at, std::size_t i) { return at.of(i); }),
                         panel_of(title + ": time of a token, median", "ms", loads, [](const widths_at& at, std::size_t i) { return at.found[i].tpot_ms.at(0.5); }), share});
}

} // namespace replay
