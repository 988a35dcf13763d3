// What a run finds, and who runs it.
#pragma once

#include "options.hpp"

#include <dhisparse/metrics/ledger_counts.hpp>
#include <dhisparse/metrics/tally.hpp>
#include <traces/timeline.hpp>

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace tiny_dsa {
class model;
}

namespace engine {

namespace dh = dhisparse;

struct outcome {
    std::vector<reply> replies;
    loop_counts loop;
    dh::ledger_counts ledger;
    dh::tally rows;
    std::int32_t pool_pages = 0, host_pages = 0;
    std::int32_t missing_pages = 0;   // of both tiers, that did not come back in the end
    std::string metrics_text, metrics_json;
    traces::timeline over_time;       // by step
    double seconds = 0;
};

/// Requests that have ended, of all.
using progress = std::function<void(double share)>;

/// host.cpp, and in builds with CUDA cuda.cpp.
outcome serve_on_host(const options& o, std::span<const request> requests, tiny_dsa::model& target, const progress& shown);
outcome serve_on_cuda(const options& o, std::span<const request> requests, tiny_dsa::model& target, const progress& shown);

/// [request] "text", one line a step in which it got tokens.
void show_tokens(std::size_t request, std::span<const std::uint8_t> tokens);

} // namespace engine
