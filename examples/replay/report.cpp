#include "report.hpp"

#include "program.hpp"

#include <dhisparse/metrics/plot.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace replay {
namespace {

namespace dh = dhisparse;

struct line {
    const char* what;
    std::string (*value)(const outcome&);
};

std::string whole(std::int64_t n) { return fmt::format("{}", n); }
std::string seconds(double s) { return fmt::format("{:.3f}", s); }

const line lines[] = {
    {"requests", [](const outcome& o) { return whole(o.requests); }},
    {"finished", [](const outcome& o) { return whole(o.finished); }},
    {"refused: larger than the memory", [](const outcome& o) { return whole(o.refused); }},
    {"lost rows", [](const outcome& o) { return whole(o.lost_rows); }},
    {"concurrent sessions, most", [](const outcome& o) { return whole(o.max_concurrent); }},
    {"concurrent sessions, mean", [](const outcome& o) { return fmt::format("{:.1f}", o.mean_concurrent()); }},
    {"wait for admission, s, p50", [](const outcome& o) { return seconds(o.waits_s.at(0.5)); }},
    {"wait for admission, s, p95", [](const outcome& o) { return seconds(o.waits_s.at(0.95)); }},
    {"wait for admission, s, p99", [](const outcome& o) { return seconds(o.waits_s.at(0.99)); }},
    {"time, s", [](const outcome& o) { return fmt::format("{:.1f}", o.span_s()); }},
    {"tokens/s", [](const outcome& o) { return fmt::format("{:.1f}", o.tokens_per_s()); }},
    {"ms a token, p50", [](const outcome& o) { return fmt::format("{:.2f}", o.tpot_ms.at(0.5)); }},
    {"steps", [](const outcome& o) { return whole(o.steps); }},
    {"queries a round, mean", [](const outcome& o) { return fmt::format("{:.2f}", o.mean_width()); }},
    {"missed group rows a step", [](const outcome& o) { return fmt::format("{:.1f}", o.steps > 0 ? o.missed_rows / static_cast<double>(o.steps) : 0); }},
    {"reclaims", [](const outcome& o) { return whole(o.reclaims); }},
    {"pages reclaimed", [](const outcome& o) { return whole(o.reclaimed_pages); }},
    {"pages backed up", [](const outcome& o) { return whole(o.backed_up_pages); }},
    {"pages refilled", [](const outcome& o) { return whole(o.refilled_pages); }},
    {"requests parked", [](const outcome& o) { return whole(o.parks); }},
    {"requests restarted", [](const outcome& o) { return whole(o.restarts); }},
    {"positions from kept prefixes", [](const outcome& o) { return whole(o.prefix_positions); }},
    {"budget violations", [](const outcome& o) { return whole(o.budget_violations); }},
};

dh::plot_panel sessions_panel(const std::vector<outcome>& found) {
    dh::plot_panel out{.title = "Sessions on the GPU", .x_label = "seconds since the trace's start", .y_label = "sessions", .what = dh::plot_panel::kind::lines};
    for (const auto& one : found) {
        dh::plot_series series{.label = one.mode};
        for (const auto& s : one.over_time.samples()) series.points.emplace_back(s.at, s.admitted);
        out.series.push_back(series);
    }
    return out;
}

/// K, and the memory that comes off the pool for it.
std::string width_text(const setup& with, double gib) {
    const auto width = with.width == width_choice::scheduled ? "by schedule, at most " : with.width == width_choice::online ? "online, at most " : "";
    return fmt::format("K = {}{}{}", width, with.k, gib > 0 ? fmt::format("; rings and staging {:.2f} GiB of the pool", gib) : "");
}

} // namespace

std::string heading(const options& o) {
    const auto& with = o.with;
    const auto gib = [](std::int64_t bytes) { return static_cast<double>(bytes) / static_cast<double>(dh::GiB); };
    const auto layout = [&] {
        auto one = with;
        one.as = o.run.front();
        return one.layout();
    }();
    const cost_model cost(with.cost, layout);
    auto out = fmt::format("{}: pool {:g} GiB, {} pages of {} bytes; host {:g} GiB; {} slots; B = {}; {}\n", with.shape.name, gib(with.pool_bytes),
                           layout.limits().n_pages, layout.page_bytes(), gib(with.host_bytes), with.slots, with.hot_rows, width_text(with, gib(with.speculation_bytes())));
    out += o.trace_file.empty() ? fmt::format("trace: {} requests as of {}, seed {}", o.made.requests, o.made.of.name, o.made.seed) : "trace: " + o.trace_file;
    out += fmt::format("; speed {:g}; context x {:g}\ncost:", with.speed, with.context_scale);
    for (const auto& field : cost_fields()) {
        const auto value = field.value == &cost_parameters::host_row_bytes ? cost.host_row_bytes() : with.cost.*field.value;
        out += fmt::format(" {} {:g}", field.option, value);
    }
    return out + "\n\n";
}

std::string trace_name(const options& o) {
    return o.trace_file.empty() ? o.made.of.name : o.trace_file.substr(o.trace_file.find_last_of('/') + 1);
}

std::string table_text(const options& o, const std::vector<outcome>& found) {
    auto out = heading(o) + fmt::format("{:<34}", "mode");
    for (const auto& one : found) out += fmt::format("{:>14}", one.mode);
    out += "\n";
    for (const auto& l : lines) {
        out += fmt::format("{:<34}", l.what);
        for (const auto& one : found) out += fmt::format("{:>14}", l.value(one));
        out += "\n";
    }
    return out;
}

std::string json_text(const outcome& o) {
    return fmt::format("{{\"mode\":{},\"requests\":{},\"finished\":{},\"lost_rows\":{},\"max_concurrent\":{},\"mean_concurrent\":{},\"wait_p50_s\":{},"
                       "\"wait_p95_s\":{},\"tokens_per_s\":{},\"tpot_p50_ms\":{},\"reclaims\":{},\"reclaimed_pages\":{},\"refilled_pages\":{},\"budget_violations\":{}}}",
                       program::quoted(o.mode), o.requests, o.finished, o.lost_rows, o.max_concurrent, o.mean_concurrent(), o.waits_s.at(0.5), o.waits_s.at(0.95),
                       o.tokens_per_s(), o.tpot_ms.at(0.5), o.reclaims, o.reclaimed_pages, o.refilled_pages, o.budget_violations);
}

std::string plot_text(const std::vector<outcome>& found) {
    std::vector<dh::plot_panel> panels;
    for (const auto& one : found)
        if (!one.over_time.samples().empty()) panels.push_back(traces::pages_panel("Pages by class, " + one.mode, "seconds since the trace's start", one.over_time.samples()));
    if (!panels.empty()) panels.push_back(sessions_panel(found));
    return dh::plot_svg(panels);
}

} // namespace replay
