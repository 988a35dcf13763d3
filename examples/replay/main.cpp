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

void run(const replay::options& o) {
    std::vector<replay::outcome> found;
    for (const auto as : o.run) found.push_back(run_mode(o, as));
    if (!o.plot_file.empty()) program::write_file("--plot", o.plot_file, replay::plot_text(found));
    program::print(o.json ? replay::json_text(found.front()) + "\n" : replay::table_text(o, found));
}

} // namespace

int main(int argc, char** argv) {
    return program::main_of("dhisparse-replay", argc, argv, [&] { run(replay::parse_options(argc, argv)); });
}
