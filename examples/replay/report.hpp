// What dhisparse-replay says: a table, a JSON object, a figure.
#pragma once

#include "options.hpp"
#include "outcome.hpp"

#include <string>
#include <vector>

namespace replay {

/// What is replayed and at which costs.
std::string heading(const options& o);
/// The trace's file without its folder, or what it was made of.
std::string trace_name(const options& o);
std::string table_text(const options& o, const std::vector<outcome>& found);
/// One line.
std::string json_text(const outcome& found);
/// Pages by class over time, and sessions over time, of each mode.
std::string plot_text(const std::vector<outcome>& found);

} // namespace replay
