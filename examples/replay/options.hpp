// The command line of dhisparse-replay, turned into what is replayed.
#pragma once

#include "setup.hpp"
#include "trace.hpp"
#include "widths.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace replay {

struct options {
    std::vector<mode> run = {};     // one after another
    setup with = {};                // the mode left out
    std::string trace_file = {};    // empty: made
    made_trace made = {};
    std::vector<double> widths = {}; // speeds at which widths are compared; empty: modes are
    std::string plot_file = {};     // empty: no plot
    bool json = false;
};

/// Throws dhisparse::invalid_argument in one line: the option, its value and what is permitted; and program::help_wanted.
options parse_options(int argc, const char* const* argv);

std::unique_ptr<trace_source> open(const options& o);

/// Mean survival of the records of an acceptance file that have one, for so many proposals. Throws invalid_argument.
std::vector<double> survival_from(const std::string& file, int proposals);

} // namespace replay
