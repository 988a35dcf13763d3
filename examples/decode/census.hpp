// The outcome of a run, as the census for readers and as JSON for programs.
#pragma once

#include "options.hpp"
#include "speculation.hpp"

#include <dhisparse/metrics/tally.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace decode {

struct outcome {
    int prompt_tokens = 0;
    std::vector<std::vector<std::uint8_t>> texts; // [requests][new tokens], through the hierarchy
    std::string difference;                       // the first one, in words; empty: exact
    dhisparse::tally counts;
    std::int64_t rows_verified = 0;
    std::int64_t fast_bytes = 0, resident_bytes = 0; // with index keys, all requests
    double tokens_per_s = 0, resident_tokens_per_s = 0;
    std::optional<speculation> speculated = {}; // with --speculate
    bool exact() const { return difference.empty(); }
};

/// Prints on stdout the texts of all requests but the first, which has been shown, and the census.
void print_census(const options& o, const outcome& result);

/// One object, without a newline.
std::string json_text(const options& o, const outcome& result);
std::string json_error(const std::string& message);

} // namespace decode
