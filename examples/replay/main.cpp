// dhisparse-replay: request traces through the real ledger, page pool and maps, on a simulated clock.
#include "options.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "simulation.hpp"

#include <dhisparse/core/error.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string_view>

namespace {

constexpr int could_not_run = 2;

replay::outcome run_mode(const replay::options& o, replay::mode as) {
    auto with = o.with;
    with.as = as;
    const auto trace = replay::open(o);
    replay::simulation simulation(with, *trace);
    replay::progress_bar bar(replay::name_of(as));
    return simulation.run([&](double share) { bar.show(share); });
}

void write(const std::string& file, const std::string& text) {
    std::ofstream out(file, std::ios::binary);
    out << text << std::flush;
    dhisparse::require(out.good(), "--plot is ", file, ", permitted: a file that can be written");
}

/// Every width at every speed, in one mode.
void run_widths(const replay::options& o) {
    std::vector<replay::widths_at> loads;
    for (const auto speed : o.widths) {
        loads.push_back({speed, {}});
        for (const auto& one : replay::width_cases()) {
            auto asked = o;
            asked.with.speed = speed;
            asked.with.width = one.choice;
            asked.with.k = one.k;
            loads.back().found.push_back(run_mode(asked, o.run.front()));
        }
    }
    const auto text = replay::heading(o) + replay::widths_table(loads);
    if (!o.plot_file.empty()) write(o.plot_file, replay::widths_plot(replay::trace_name(o), loads));
    dhisparse::require(std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0, "stdout cannot be written");
}

void run(const replay::options& o) {
    if (!o.widths.empty()) return run_widths(o);
    std::vector<replay::outcome> found;
    for (const auto as : o.run) found.push_back(run_mode(o, as));
    if (!o.plot_file.empty()) write(o.plot_file, replay::plot_text(found));
    const auto text = o.json ? replay::json_text(found.front()) + "\n" : replay::table_text(o, found);
    dhisparse::require(std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0, "stdout cannot be written");
}

int fail(const std::string& message, bool json) {
    const auto line = json ? replay::json_error(message) : "dhisparse-replay: " + message;
    std::fprintf(json ? stdout : stderr, "%s\n", line.c_str());
    return could_not_run;
}

} // namespace

int main(int argc, char** argv) {
    try {
        run(replay::parse_options(argc, argv));
        return 0;
    } catch (const replay::help_wanted& help) {
        std::fputs(help.what(), stdout);
        return 0;
    } catch (const std::exception& e) {
        return fail(e.what(), std::find(argv, argv + argc, std::string_view("--json")) != argv + argc);
    }
}
