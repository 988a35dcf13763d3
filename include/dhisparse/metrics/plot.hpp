/// Figures as SVG text: bars, stacked areas and lines. In dhisparse::runtime.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace dhisparse {

struct plot_series {
    std::string label = {};
    std::vector<std::pair<double, double>> points = {}; // ascending x
    int column = 0;  // of bars: series of one column are stacked on each other
    int colour = -1; // of the palette; -1: the series's own number. The same label and colour stand in the legend once
};

/// One pair of axes. bars: the points of every series have the same x; columns stand side by side.
/// areas: series are stacked in order. lines: each for itself.
struct plot_panel {
    enum class kind { bars, areas, lines };
    std::string title = {}, x_label = {}, y_label = {};
    kind what = kind::lines;
    bool logarithmic = false;   // both axes
    bool logarithmic_x = false; // that one alone
    double y_low = 0;           // where y begins, unless it is logarithmic
    std::vector<plot_series> series = {};
};

/// The panels below each other, each with its legend. Throws invalid_argument where a panel has no point, or
/// a point that its axes can't show (not finite, below 0 or y_low; logarithmic: 0).
std::string plot_svg(const std::vector<plot_panel>& panels);

} // namespace dhisparse
