// The command line of dhisparse-plan, turned into what the planner is asked.
#pragma once

#include <dhisparse/plan/planner.hpp>

#include <string>

namespace plan_program {

struct options {
    dhisparse::plan::request asked = {};
    std::string plot_file = {}; // empty: no plot
    bool json = false;
};

/// Throws dhisparse::invalid_argument in one line: the option, its value and what is permitted; and program::help_wanted.
options parse_options(int argc, const char* const* argv);

} // namespace plan_program
