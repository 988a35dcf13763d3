// Presets by name; CMake writes presets.inc, an entry for each file of src/presets.
#include <dhisparse/core/error.hpp>
#include <dhisparse/layout/presets.hpp>
#include <dhisparse/layout/shape_json.hpp>

#include <utility>

namespace dhisparse::preset {
namespace {

constexpr std::pair<std::string_view, std::string_view> all[] = {
#include "presets.inc"
};

} // namespace

std::vector<std::string> names() {
    std::vector<std::string> out;
    for (const auto& [name, text] : all) out.emplace_back(name);
    return out;
}

std::string_view json(std::string_view name) {
    std::string known;
    for (const auto& [one, text] : all) {
        if (one == name) return text;
        known += (known.empty() ? "" : ", ") + std::string(one);
    }
    throw invalid_argument(text("model is ", name, ", permitted: ", known));
}

model_shape named(std::string_view name) { return shape_from_json(json(name), std::string(name)); }

} // namespace dhisparse::preset
