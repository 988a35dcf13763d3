/// A hierarchy's numbers as metrics: where rows were found, pages by class, what the ledger has done.
#pragma once

#include <dhisparse/hierarchy.hpp>
#include <dhisparse/metrics/metric_list.hpp>

namespace dhisparse {

/// What the step path has counted. Rows are counted once a selected entry, host_rows once a copied group row.
inline void add_metrics(metric_list& to, const tally& counts) {
    const char* help = "Selected rows by where they were found";
    to.counter("rows_total", help, counts.tail, {{"found", "tail"}});
    to.counter("rows_total", help, counts.history, {{"found", "history"}});
    to.counter("rows_total", help, counts.hot, {{"found", "hot"}});
    to.counter("rows_total", help, counts.host, {{"found", "host"}});
    to.counter("host_rows_total", "Group rows brought from the host tier", counts.host_rows);
    to.counter("host_bytes_total", "Bytes of them, all lanes", counts.host_bytes);
    to.counter("staged_rows_total", "Of those, rows that no hot entry could take", counts.staged_rows);
    to.counter("promoted_rows_total", "Of those, rows that took one when they were released", counts.promoted_rows);
    to.counter("backed_up_rows_total", "Group rows copied to the host tier by commits", counts.backed_up_rows);
    for (int v = 0; v < n_violations; ++v)
        to.counter("violations_total", "Broken preconditions", counts.violations[v], {{"what", name_of(static_cast<violation>(v))}});
}

/// What the ledger holds and has done.
inline void add_metrics(metric_list& to, const ledger& it, const page_layout& layout) {
    const auto pages = it.pages();
    const char* help = "GPU pages by what they are for";
    to.gauge("pages", help, pages.required - pages.promised, {{"class", "required"}});
    to.gauge("pages", help, pages.promised, {{"class", "promised"}});
    to.gauge("pages", help, pages.optional, {{"class", "optional"}});
    to.gauge("pages", help, pages.leaving, {{"class", "leaving"}});
    to.gauge("pages", help, pages.free, {{"class", "free"}});
    to.gauge("free_host_pages", "Host pages that nobody holds", it.free_host_pages());
    to.gauge("free_slots", "Slots without a request", it.free_slots());
    const auto& c = it.counts();
    const auto page_bytes = static_cast<std::uint64_t>(layout.host_page_bytes());
    to.counter("plans_total", "Plans made", c.plans);
    const char* requests = "Requests by what happened to them";
    to.counter("requests_total", requests, c.admitted, {{"event", "admitted"}});
    to.counter("requests_total", requests, c.finished, {{"event", "finished"}});
    to.counter("requests_total", requests, c.failed, {{"event", "failed"}});
    to.counter("requests_total", requests, c.parked, {{"event", "parked"}});
    to.counter("requests_total", requests, c.resumed, {{"event", "resumed"}});
    to.counter("reclaims_total", "Times that optional pages were taken for others", c.reclaims);
    to.counter("reclaimed_pages_total", "Optional pages unmapped for others", c.reclaimed_pages);
    to.counter("unmapped_pages_total", "Full pages unmapped as there was no room to keep them", c.unmapped_pages);
    to.counter("refilled_pages_total", "History pages brought back", c.refilled_pages);
    to.counter("refilled_bytes_total", "Bytes of them", c.refilled_pages * page_bytes);
    to.counter("backed_up_pages_total", "Whole pages copied to the host tier", c.backed_up_pages);
    to.counter("backed_up_bytes_total", "Bytes of them", c.backed_up_pages * page_bytes);
    to.counter("failed_copies_total", "Copies that failed", c.failed_copies);
    to.counter("stalls_total", "Slots that could not grow, plan by plan", c.stalls);
    to.distribution("watermark_lag_positions", "Positions committed and not yet durable, at each report", c.watermark_lag);
    to.distribution("stalled_plans", "Plans that a slot waited for pages", c.stalled_plans);
}

template <class Backend, class Policies>
metric_list metrics_of(const hierarchy<Backend, Policies>& it) {
    metric_list out;
    add_metrics(out, it.counts());
    add_metrics(out, it.ledger(), it.layout());
    return out;
}

} // namespace dhisparse
