// Requests over time: read from a file line by line, or made from published statistics.
#pragma once

#include <traces/trace_file.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace replay {

using traces::arrival;
using traces::block_tokens;
using traces::open_trace;
using traces::trace_source;

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
