// Requests over time, from files: what dhisparse-replay and dhisparse-engine read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace traces {

struct arrival {
    double at_s = 0;                     // since the trace's start, never before the one before it
    std::int64_t input = 1, output = 1;  // tokens
    std::vector<std::int64_t> blocks = {}; // ids of the input's blocks in order, the last maybe partial; equal ids: equal prefix
};

class trace_source {
public:
    virtual ~trace_source() = default;
    /// None at the end. Throws invalid_argument naming the line that is wrong.
    virtual std::optional<arrival> next() = 0;
    /// Share that has been read, 0 to 1.
    virtual double progress() const = 0;
};

inline constexpr std::int64_t block_tokens = 512; // of a block of a trace

/// A .csv file with the columns arrival_s,input_tokens,output_tokens, or a .jsonl file whose lines have timestamp (ms),
/// input_length, output_length and, optionally, hash_ids. Throws invalid_argument where it can't be read.
std::unique_ptr<trace_source> open_trace(const std::string& file);

} // namespace traces
