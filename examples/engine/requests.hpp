// Where requests come from: a file of them, a trace, or made up.
#pragma once

#include "request.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace engine {

/// A text of which prompts are made.
bytes read_story(const std::string& file);

/// JSON lines: see --help. Files named in it are relative to its folder. Throws dhisparse::invalid_argument naming the line.
std::vector<request> read_requests(const std::string& file, double step_ms);

struct trace_scale {
    double length = 0.05;  // tokens of the trace are so many of the model's
    double step_ms = 20;   // of the trace's time
    std::int64_t limit = 32; // requests
};
/// The first requests of a trace; equal blocks of it become equal text. Throws dhisparse::invalid_argument naming the line.
std::vector<request> read_trace(const std::string& file, const trace_scale& scale, const bytes& story);

/// Questions about a few documents, some of which are given up. The same seed gives the same requests.
std::vector<request> make_requests(std::int64_t n, std::uint64_t seed, const bytes& story);

} // namespace engine
