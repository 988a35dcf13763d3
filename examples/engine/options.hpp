// The command line of dhisparse-engine.
#pragma once

#include "requests.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace engine {

enum class backend { host, cuda };

struct options {
    std::string model_dir, requests_file, trace_file; // files empty: made
    trace_scale scale = {};
    std::int64_t made = 12;
    std::uint64_t seed = 1;
    std::optional<int> pool_pages = {}, host_pages = {}; // none: by the requests
    int slots = 8, hot_pages = 4, k = 1, chunk_pages = 4, keep = 8;
    backend where = backend::host;
    bool stream = false, compare = true, json = false;
    std::string plot_file, metrics_file;
};

/// Throws dhisparse::invalid_argument in one line, and program::help_wanted.
options parse_options(int argc, const char* const* argv);

std::vector<request> requests_of(const options& o);

} // namespace engine
