/// The shapes of models in use, by name. In dhisparse::runtime: each file of src/presets is one, and CMake
/// writes a function for each into dhisparse/preset/models.hpp: preset::glm_5_3() for glm-5.3.json.
#pragma once

#include <dhisparse/layout/model_shape.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace dhisparse::preset {

/// Sorted as their files are.
std::vector<std::string> names();

/// The JSON that the preset is made from. Throws invalid_argument that lists all names where there is none of this name.
std::string_view json(std::string_view name);

/// Throws as json().
model_shape named(std::string_view name);

} // namespace dhisparse::preset
