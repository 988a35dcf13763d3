// The figures of --plot.
#include "report.hpp"

#include <dhisparse/layout/presets.hpp>
#include <dhisparse/metrics/plot.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace plan_program {
namespace {

namespace dh = dhisparse;
using dh::plan::deployment;
using dh::plan::request;
using dh::plan::session_bytes;

constexpr std::int64_t default_hbm = 90 * dh::GiB;

std::int64_t longest(const dh::model_shape& shape) { return shape.max_positions > 0 ? shape.max_positions : 1 << 20; }

/// n contexts, evenly spaced up to `last`.
std::vector<std::int64_t> steps(std::int64_t last, int n) {
    std::vector<std::int64_t> out;
    for (int i = 1; i <= n; ++i) out.push_back(std::max<std::int64_t>(last * i / n, 1));
    return out;
}

/// One series of each part of a session's bytes that isn't always 0.
struct part {
    const char* label;
    int column, colour;
    std::int64_t session_bytes::*bytes;
};

dh::plot_panel bytes_over_context(const deployment& d, const std::vector<std::int64_t>& contexts, const std::vector<part>& parts) {
    dh::plot_panel panel;
    panel.x_label = "positions of a session";
    panel.y_label = "GiB a session";
    for (const auto& p : parts) {
        dh::plot_series series{p.label, {}, p.column, p.colour};
        double most = 0;
        for (const auto context : contexts) {
            auto asked = d.asked;
            asked.context = context;
            const auto gib = static_cast<double>(dh::plan::bytes_of(asked).*p.bytes) / static_cast<double>(dh::GiB);
            series.points.emplace_back(context, gib);
            most = std::max(most, gib);
        }
        if (most > 0) panel.series.push_back(series);
    }
    return panel;
}

/// The same budget for every model, and B where the model can have it, else its default.
dh::plot_series sessions_over_context(dh::model_shape shape, std::int64_t hot_rows, std::int64_t hbm) {
    dh::plot_series series{.label = shape.name};
    request asked{.shape = std::move(shape)};
    const auto& sources = asked.shape.sources;
    const bool fits = hot_rows % asked.shape.page_positions == 0 && std::all_of(sources.begin(), sources.end(), [&](const dh::source_shape& s) {
        return hot_rows / s.positions_per_row >= asked.shape.k;
    });
    asked.hot_rows = fits ? hot_rows : dh::plan::default_hot_rows(asked.shape);
    for (std::int64_t context = 8'192; context <= longest(asked.shape); context *= 2) {
        asked.context = context;
        const auto fit = hbm / dh::plan::bytes_of(asked).required();
        if (fit > 0) series.points.emplace_back(context, fit);
    }
    return series;
}

dh::plot_panel sessions_panel(const deployment& d) {
    const auto hbm = d.asked.hbm_bytes > 0 ? d.asked.hbm_bytes : default_hbm;
    dh::plot_panel panel{fmt::format("Sessions in {:.0f} GiB for KV, plain decoding", static_cast<double>(hbm) / static_cast<double>(dh::GiB)),
                         "positions of a session", "sessions", dh::plot_panel::kind::lines, true, {}};
    const auto add = [&](const dh::model_shape& shape, const std::string& label) {
        auto series = sessions_over_context(shape, d.asked.hot_rows, hbm);
        series.label = label;
        if (!series.points.empty()) panel.series.push_back(series);
    };
    const auto names = dh::preset::names();
    const auto& own = d.asked.shape;
    if (std::find(names.begin(), names.end(), own.name) == names.end() || own != dh::preset::named(own.name)) add(own, own.name + " as asked");
    for (const auto& name : names) add(dh::preset::named(name), name);
    return panel;
}

} // namespace

std::string plot_text(const deployment& d) {
    const auto last = std::min(longest(d.asked.shape), 2 * d.asked.context);
    using bytes = session_bytes;
    const std::vector<part> required{{"index keys", 1, 1, &bytes::index}, {"rows not selected", 1, 6, &bytes::unselected},
                                     {"hot cache", 1, 4, &bytes::hot},    {"tail page", 1, 5, &bytes::tail},
                                     {"draft ring", 1, 2, &bytes::ring},  {"staging", 1, 3, &bytes::staging}};
    std::vector<part> both{{"all rows", 0, 0, &bytes::history}, {"index keys", 0, 1, &bytes::index},
                           {"rows not selected", 0, 6, &bytes::unselected}, {"draft ring", 0, 2, &bytes::ring}};
    both.insert(both.end(), required.begin(), required.end());
    auto bars = bytes_over_context(d, steps(last, 8), both);
    bars.title = fmt::format("{}: resident (left) against required (right)", d.asked.shape.name);
    bars.what = dh::plot_panel::kind::bars;
    auto areas = bytes_over_context(d, steps(last, 64), required);
    areas.title = fmt::format("{}: what the hierarchy requires", d.asked.shape.name);
    areas.what = dh::plot_panel::kind::areas;
    std::vector<dh::plot_panel> panels{bars, areas};
    if (auto sessions = sessions_panel(d); !sessions.series.empty()) panels.push_back(std::move(sessions)); // HBM may hold no session at all
    return dh::plot_svg(panels);
}

} // namespace plan_program
