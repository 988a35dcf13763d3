// Requests over time: read from a file line by line, or made from published statistics.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace replay {

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

/// Statistics of a service that a trace is made of.
struct service {
    const char* name;
    double requests_per_s;
    std::int64_t input_median, input_p95, input_max;
    std::int64_t output_median, output_p95, output_max;
    double continued; // share of requests that begin with the prefix of an earlier one
};
/// As published with the traces: Azure 2023 (conversation, code), Mooncake FAST'25 (conversation, synthetic).
const std::vector<service>& services();

struct made_trace {
    service of;
    std::int64_t requests = 2000;
    std::uint64_t seed = 1;
    std::int64_t input = 0, output = 0; // of every request; 0: by the service's quantiles
};
/// Poisson arrivals, lengths by the quantiles, prefixes of recent requests. The same seed gives the same trace.
std::unique_ptr<trace_source> make_trace(const made_trace& wanted);

} // namespace replay
