// What a run has found, for people and for programs.
#pragma once

#include "outcome.hpp"

#include <optional>
#include <string>

namespace engine {

/// The first output that differs from the expected one, in words; empty: none. Of a request that was given up, what it has
/// is the beginning of its output. expected: [requests].
std::string first_difference(std::span<const request> requests, const std::vector<reply>& replies, const std::vector<bytes>& expected);

/// difference: none where nothing was compared.
std::string table_text(const outcome& found, const std::optional<std::string>& difference);
std::string json_text(const outcome& found, const std::optional<std::string>& difference);
std::string plot_text(const outcome& found);

} // namespace engine
