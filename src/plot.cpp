// Figures as SVG: axes with round ticks, a legend beside each panel, colours that most eyes can tell apart.
#include <dhisparse/core/error.hpp>
#include <dhisparse/metrics/plot.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

namespace dhisparse {
namespace {

constexpr double left = 80, right = 250, top = 44, bottom = 58, width = 900, height = 380;
constexpr double plot_width = width - left - right, plot_height = height - top - bottom;
constexpr const char* colours[] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c6d31", "#666666"};
constexpr std::size_t n_colours = std::size(colours);

std::string colour(const plot_panel& panel, std::size_t i) {
    const auto own = panel.series[i].colour;
    return colours[(own < 0 ? i : static_cast<std::size_t>(own)) % n_colours];
}

std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
    return out;
}

/// 1500000 as 1.5M.
std::string tick_text(double value) {
    for (const auto& [unit, suffix] : {std::pair{1e9, "G"}, {1e6, "M"}, {1e3, "K"}})
        if (value >= unit) return fmt::format("{:.4g}{}", value / unit, suffix);
    return fmt::format("{:.4g}", value);
}

struct axis {
    double low = 0, high = 1;
    bool logarithmic = false;
    double share(double value) const { // of the axis's length, from its low end
        return logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
    }
    std::vector<double> ticks() const {
        std::vector<double> out;
        if (logarithmic) {
            for (double decade = std::pow(10, std::floor(std::log10(low))); decade <= high; decade *= 10)
                for (const double step : {1., 2., 5.})
                    if (decade * step >= low * 0.999 && decade * step <= high * 1.001) out.push_back(decade * step);
            return out;
        }
        const auto rough = (high - low) / 6, decade = std::pow(10, std::floor(std::log10(rough)));
        const auto step = decade * (rough / decade < 1.5 ? 1 : rough / decade < 3.5 ? 2 : rough / decade < 7.5 ? 5 : 10);
        for (auto at = std::ceil(low / step) * step; at <= high * 1.0001; at += step) out.push_back(at);
        return out;
    }
};

struct drawing {
    const plot_panel& panel;
    axis x, y;
    std::string out = {};
    double px(double value) const { return left + plot_width * x.share(value); }
    double py(double value) const { return top + plot_height * (1 - y.share(value)); }

    void text(double at_x, double at_y, const char* anchor, const std::string& what, const char* more = "") {
        out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", at_x, at_y, anchor, more, escaped(what));
    }
    void line(double x1, double y1, double x2, double y2, const char* stroke) {
        out += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x1, y1, x2, y2, stroke);
    }
    void rectangle(double at_x, double at_y, double w, double h, const std::string& fill) {
        out += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n", at_x, at_y, w, h, fill);
    }
};

double sum_at(const plot_panel& panel, std::size_t i, int column) {
    double sum = 0;
    for (const auto& s : panel.series)
        if (panel.what != plot_panel::kind::bars || s.column == column) sum += s.points[i].second;
    return sum;
}

int columns_of(const plot_panel& panel) {
    int n = 0;
    for (const auto& s : panel.series) n = std::max(n, s.column + 1);
    return n;
}

bool log_x(const plot_panel& panel) { return panel.logarithmic || panel.logarithmic_x; }

void check(const plot_panel& panel) {
    require(!panel.series.empty(), "panel ", panel.title, " has no series");
    for (const auto& s : panel.series) {
        require(!s.points.empty(), "panel ", panel.title, ": series ", s.label, " has no point");
        require(panel.what == plot_panel::kind::lines || s.points.size() == panel.series[0].points.size(), "panel ", panel.title,
                ": series ", s.label, " has ", s.points.size(), " points, permitted: as many as the first, ", panel.series[0].points.size());
        for (const auto& [x, y] : s.points)
            require(std::isfinite(x) && std::isfinite(y) && x >= 0 && y >= panel.y_low && y >= 0 && (!log_x(panel) || x > 0) && (!panel.logarithmic || y > 0), "panel ",
                    panel.title, ": series ", s.label, " has a point at ", x, ", ", y, " that the axes can't show");
    }
}

drawing axes_of(const plot_panel& panel) {
    drawing d{panel, {1e300, 0, log_x(panel)}, {panel.logarithmic ? 1e300 : panel.y_low, 0, panel.logarithmic}};
    for (const auto& s : panel.series)
        for (std::size_t i = 0; i < s.points.size(); ++i) {
            const auto [x, own] = s.points[i];
            const auto y = panel.what == plot_panel::kind::lines ? own : sum_at(panel, i, s.column);
            d.x.low = std::min(d.x.low, x);
            d.x.high = std::max(d.x.high, x);
            d.y.low = std::min(d.y.low, y);
            d.y.high = std::max(d.y.high, panel.logarithmic ? y * 1.3 : y + (y - panel.y_low) * 0.05);
        }
    if (d.x.high <= d.x.low) d.x.high = d.x.low + 1;
    if (d.y.high <= d.y.low) d.y.high = d.y.low + 1;
    return d;
}

void draw_bars(drawing& d) {
    const auto& first = d.panel.series[0].points;
    const auto n = static_cast<double>(first.size());
    const auto columns = columns_of(d.panel);
    const auto group = plot_width / n, bar = group * 0.8 / columns;
    for (std::size_t i = 0; i < first.size(); ++i) {
        const auto start = left + group * static_cast<double>(i) + group * 0.1;
        for (int column = 0; column < columns; ++column) {
            double base = 0;
            for (std::size_t s = 0; s < d.panel.series.size(); ++s) {
                if (d.panel.series[s].column != column) continue;
                const auto end = base + d.panel.series[s].points[i].second;
                d.rectangle(start + bar * column, d.py(end), bar * 0.92, d.py(base) - d.py(end), colour(d.panel, s));
                base = end;
            }
        }
        d.text(start + group * 0.4, top + plot_height + 18, "middle", tick_text(first[i].first));
    }
}

void draw_areas(drawing& d) {
    const auto& first = d.panel.series[0].points;
    std::vector<double> base(first.size(), 0);
    for (std::size_t s = 0; s < d.panel.series.size(); ++s) {
        std::string path;
        for (std::size_t i = first.size(); i-- > 0;) path += fmt::format(" {:.1f},{:.1f}", d.px(first[i].first), d.py(base[i]));
        for (std::size_t i = 0; i < first.size(); ++i) {
            base[i] += d.panel.series[s].points[i].second;
            path += fmt::format(" {:.1f},{:.1f}", d.px(first[i].first), d.py(base[i]));
        }
        d.out += fmt::format("<polygon points=\"{}\" fill=\"{}\"/>\n", path.substr(1), colour(d.panel, s));
    }
}

void draw_lines(drawing& d) {
    for (std::size_t s = 0; s < d.panel.series.size(); ++s) {
        std::string path;
        for (const auto& [x, y] : d.panel.series[s].points) path += fmt::format(" {:.1f},{:.1f}", d.px(x), d.py(y));
        d.out += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{}/>\n", path.substr(1), colour(d.panel, s),
                             s >= n_colours ? " stroke-dasharray=\"7 4\"" : "");
    }
}

void draw_frame(drawing& d) {
    for (const auto tick : d.y.ticks()) {
        d.line(left, d.py(tick), left + plot_width, d.py(tick), "#dddddd");
        d.text(left - 8, d.py(tick) + 4, "end", tick_text(tick));
    }
    if (d.panel.what != plot_panel::kind::bars)
        for (const auto tick : d.x.ticks()) {
            d.line(d.px(tick), top + plot_height, d.px(tick), top + plot_height + 5, "#333333");
            d.text(d.px(tick), top + plot_height + 18, "middle", tick_text(tick));
        }
    d.text(left, top - 16, "start", d.panel.title, " font-size=\"15\" font-weight=\"bold\"");
    d.text(left + plot_width / 2, height - 16, "middle", d.panel.x_label);
    const auto turned = fmt::format(" transform=\"rotate(-90 20 {0:.1f})\"", top + plot_height / 2);
    d.text(20, top + plot_height / 2, "middle", d.panel.y_label, turned.c_str());
}

/// The topmost of a stack comes first.
void draw_legend(drawing& d) {
    auto y = top + 8;
    const auto n = d.panel.series.size();
    std::set<std::pair<std::string, std::string>> shown;
    for (std::size_t i = 0; i < n; ++i) {
        const auto s = d.panel.what == plot_panel::kind::lines ? i : n - 1 - i;
        const auto fill = colour(d.panel, s);
        if (!shown.emplace(d.panel.series[s].label, fill).second) continue;
        const auto x = left + plot_width + 16;
        if (d.panel.what == plot_panel::kind::lines && s >= n_colours) {
            d.rectangle(x, y - 4, 6, 4, fill);
            d.rectangle(x + 9, y - 4, 6, 4, fill);
        } else {
            d.rectangle(x, y - 8, 14, 12, fill);
        }
        d.text(x + 22, y + 3, "start", d.panel.series[s].label);
        y += 20;
    }
}

std::string draw(const plot_panel& panel) {
    check(panel);
    auto d = axes_of(panel);
    draw_frame(d);
    if (panel.what == plot_panel::kind::bars) draw_bars(d);
    else if (panel.what == plot_panel::kind::areas) draw_areas(d);
    else draw_lines(d);
    d.line(left, top, left, top + plot_height, "#333333");
    d.line(left, top + plot_height, left + plot_width, top + plot_height, "#333333");
    draw_legend(d);
    return d.out;
}

} // namespace

std::string plot_svg(const std::vector<plot_panel>& panels) {
    require(!panels.empty(), "a figure needs a panel");
    const auto total = height * static_cast<double>(panels.size());
    auto out = fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
                           "font-family=\"sans-serif\" font-size=\"12\" fill=\"#222222\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
                           width, total);
    for (std::size_t i = 0; i < panels.size(); ++i)
        out += fmt::format("<g transform=\"translate(0 {})\">\n{}</g>\n", height * static_cast<double>(i), draw(panels[i]));
    return out + "</svg>\n";
}

} // namespace dhisparse
