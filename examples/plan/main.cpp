// dhisparse-plan: what a deployment takes and what fits, before there is one.
#include "options.hpp"
#include "report.hpp"

#include <dhisparse/core/error.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string_view>

namespace {

constexpr int could_not_run = 2;

void write(const std::string& file, const std::string& text) {
    std::ofstream out(file, std::ios::binary);
    out << text << std::flush;
    dhisparse::require(out.good(), "--plot is ", file, ", permitted: a file that can be written");
}

void run(const plan_program::options& o) {
    const auto found = dhisparse::plan::make(o.asked);
    if (!o.plot_file.empty()) write(o.plot_file, plan_program::plot_text(found));
    const auto text = o.json ? plan_program::json_text(found) + "\n" : plan_program::table_text(found);
    dhisparse::require(std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0, "stdout cannot be written");
}

int fail(const std::string& message, bool json) {
    const auto line = json ? plan_program::json_error(message) : "dhisparse-plan: " + message;
    std::fprintf(json ? stdout : stderr, "%s\n", line.c_str());
    return could_not_run;
}

} // namespace

int main(int argc, char** argv) {
    try {
        run(plan_program::parse_options(argc, argv));
        return 0;
    } catch (const plan_program::help_wanted& help) {
        std::fputs(help.what(), stdout);
        return 0;
    } catch (const std::exception& e) {
        return fail(e.what(), std::find(argv, argv + argc, std::string_view("--json")) != argv + argc);
    }
}
