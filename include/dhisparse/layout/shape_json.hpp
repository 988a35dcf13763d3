/// Model shapes from JSON text. In dhisparse::runtime; no JSON library is needed to include this.
#pragma once

#include <dhisparse/layout/model_shape.hpp>

#include <string>
#include <string_view>

namespace dhisparse {

/// The shape that the text describes, validated. Keys are the names of model_shape's fields and of what
/// they consist of; a run's are offset, stride and bytes, a group is a list of layers, a pass "target" or
/// "draft", drafter may be null. Throws invalid_argument in one line, beginning with `name`, that says
/// which field is wrong and its value: malformed text, unknown, missing or repeated keys, numbers out of range.
model_shape shape_from_json(std::string_view text, const std::string& name = "shape");

/// The same for a file. Throws invalid_argument also where it can't be read.
model_shape load_shape(const std::string& file);

/// The contents of a file. Throws invalid_argument naming it where it can't be read.
std::string read_text_file(const std::string& file);

} // namespace dhisparse
