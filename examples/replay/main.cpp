// dhisparse-replay: request traces through the real ledger, page pool and maps, on a simulated clock.
#include "options.hpp"
#include "program.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "simulation.hpp"

namespace {

replay::outcome run_mode(const replay::options& o, replay::mode as) {
    auto with = o.with;
    with.as = as;
    const auto trace = replay::open(o);
    replay::simulation simulation(with, *trace);
    replay::progress_bar bar(replay::name_of(as));
    return simulation.run([&](double share) { bar.show(share); });
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
    if (!o.plot_file.empty()) program::write_file("--plot", o.plot_file, replay::widths_plot(replay::trace_name(o), loads));
    program::print(replay::heading(o) + replay::widths_table(loads));
}

void run(const replay::options& o) {
    if (!o.widths.empty()) return run_widths(o);
    std::vector<replay::outcome> found;
    for (const auto as : o.run) found.push_back(run_mode(o, as));
    if (!o.plot_file.empty()) program::write_file("--plot", o.plot_file, replay::plot_text(found));
    program::print(o.json ? replay::json_text(found.front()) + "\n" : replay::table_text(o, found));
}

} // namespace

int main(int argc, char** argv) {
    return program::main_of("dhisparse-replay", argc, argv, [&] { run(replay::parse_options(argc, argv)); });
}
