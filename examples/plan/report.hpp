// What dhisparse-plan says: a table, a JSON object, a figure.
#pragma once

#include <dhisparse/plan/planner.hpp>

#include <string>

namespace plan_program {

std::string table_text(const dhisparse::plan::deployment& d);
/// One line.
std::string json_text(const dhisparse::plan::deployment& d);
/// Bytes a session over context length, and sessions over context length for this and every preset's shape.
std::string plot_text(const dhisparse::plan::deployment& d);

} // namespace plan_program
