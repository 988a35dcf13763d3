// Options as typed: ranges are checked by the programs, so that one message fits them all.
#pragma once

#include "program.hpp"

#include <dhisparse/core/config.hpp>
#include <dhisparse/core/types.hpp>
#include <dhisparse/layout/presets.hpp>
#include <dhisparse/layout/shape_json.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>

namespace program {

[[noreturn]] inline void refuse(const char* name, const std::string& value, const std::string& permitted) {
    throw dhisparse::invalid_argument(fmt::format("{} is {}, permitted: {}", name, value, permitted));
}

/// The number in [low, high] that the text is.
template <class T>
T number(const char* name, const std::string& text, T low, T high) {
    T value{};
    const auto* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value);
    if (read.ec != std::errc{} || read.ptr != end || !(value >= low && value <= high)) refuse(name, text, fmt::format("{} to {}", low, high));
    return value;
}

/// Of a number of GiB of at least `low`.
inline std::int64_t bytes_of(const char* name, const std::string& gib, double low = 0) {
    return std::llround(number<double>(name, gib, low, 1 << 24) * static_cast<double>(dhisparse::GiB));
}

/// --model: a preset's name, or a file.
inline dhisparse::model_shape shape_of(const std::string& model) {
    const auto names = dhisparse::preset::names();
    if (std::find(names.begin(), names.end(), model) != names.end()) return dhisparse::preset::named(model);
    std::string permitted = "a JSON file";
    for (const auto& name : names) permitted += ", " + name;
    if (!std::filesystem::exists(model)) refuse("--model", model, permitted);
    return dhisparse::load_shape(model);
}

/// Throws help_wanted, or dhisparse::invalid_argument in one line.
inline void parse(CLI::App& app, int argc, const char* const* argv) {
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        throw help_wanted(app.help());
    } catch (const CLI::ParseError& e) {
        throw dhisparse::invalid_argument(fmt::format("{} (see --help)", e.what()));
    }
}

} // namespace program
