// The whole run on one backend: the loop, and what is told about it.
#pragma once

#include "loop.hpp"
#include "outcome.hpp"

#include <dhisparse/metrics_of.hpp>
#include <tiny_dsa/spec.hpp>

#include <chrono>

namespace engine {

/// Pages of both tiers as the options say, else by the longest of the requests.
dh::hierarchy_config memory_of(const options& o, std::span<const request> requests);

template <class Kv, class Model>
outcome serve(const options& o, std::span<const request> requests, Kv& kv, Model& model, const progress& shown) {
    using loop = serving_loop<Kv, Model>;
    outcome out;
    typename loop::hooks told;
    if (o.stream) told.tokens = show_tokens;
    told.stepped = [&](const loop& it) {
        const auto on_gpu = static_cast<double>(it.n_running());
        out.over_time.add(traces::sample_of(kv.ledger(), static_cast<double>(it.now()), on_gpu, static_cast<double>(it.n_waiting() + it.n_parked())));
        shown(static_cast<double>(it.n_ended()) / static_cast<double>(requests.size()));
    };
    loop serving({.k_max = o.k, .draft_window = tiny_dsa::draft_window, .chunk_pages = o.chunk_pages, .kept_prefixes = o.keep}, kv, model, o.slots, told);
    const auto start = std::chrono::steady_clock::now();
    out.replies = serving.run(requests);
    out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const auto pages = kv.ledger().pages();
    out.loop = serving.counts();
    out.ledger = kv.ledger().counts();
    out.rows = kv.counts();
    out.pool_pages = pages.capacity;
    out.host_pages = memory_of(o, requests).host_pages;
    out.missing_pages = pages.capacity - pages.free + out.host_pages - kv.ledger().free_host_pages();
    const auto metrics = dh::metrics_of(kv);
    out.metrics_text = metrics.prometheus();
    out.metrics_json = metrics.json();
    return out;
}

} // namespace engine
