// dhisparse-plan: what a deployment takes and what fits, before there is one.
#include "options.hpp"
#include "program.hpp"
#include "report.hpp"

namespace {

void run(const plan_program::options& o) {
    const auto found = dhisparse::plan::make(o.asked);
    if (!o.plot_file.empty()) program::write_file("--plot", o.plot_file, plan_program::plot_text(found));
    program::print(o.json ? plan_program::json_text(found) + "\n" : plan_program::table_text(found));
}

} // namespace

int main(int argc, char** argv) {
    return program::main_of("dhisparse-plan", argc, argv, [&] { run(plan_program::parse_options(argc, argv)); });
}
