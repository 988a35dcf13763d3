#include "pools.hpp"

#include "shape.hpp"

#include <fmt/format.h>

namespace decode {
namespace {

namespace dh = dhisparse;

std::int32_t pages_of(std::int64_t positions) {
    return static_cast<std::int32_t>(dh::ceil_div<std::int64_t>(positions, page_positions));
}

/// What one request needs.
struct needs {
    std::int32_t at_admission = 0, in_the_end = 0; // GPU pages; growth may need more index pages
    std::int32_t tail = 0;
    std::int64_t metadata_bytes = 0;
};

/// Asked of a ledger that stands alone: it decides about memory and has none.
needs needs_of(const dh::hierarchy_config& config, const dh::demand& each) {
    using policies = dh::default_policies;
    constexpr int plenty = 1 << 16;
    const auto layout = dh::page_layout::make<policies::layout>(
        config.shape, {plenty, config.hot_pages, config.k_max});
    const auto tables = dh::slot_table_layout::make<policies::hot_index>(layout, 1, 1 << 30);
    const dh::ledger ledger(layout, tables,
                            {.host_pages = config.host_pages, .steps_ahead = config.steps_ahead});
    const auto positions = each.positions + each.growth;
    return {ledger.required_pages(each), ledger.required_pages({positions, 0}), ledger.tail_pages(),
            tables.run_bytes(tables.pages_for(positions))};
}

dh::hierarchy_config plain_config(int n_requests) {
    dh::hierarchy_config config;
    config.shape = tiny_shape();
    config.slots = n_requests;
    config.steps_ahead = 0; // the CPU runs the model: no step is ever in flight
    return config;
}

std::int32_t pool_pages(const options& o, const dh::hierarchy_config& config, const needs& need,
                        const dh::demand& each) {
    const auto required = need.in_the_end * config.slots;
    const auto whole_history = pages_of(each.positions + each.growth);
    if (!o.pool_pages)
        return required + config.slots * (o.resident_pages == options::all_pages
                                              ? whole_history
                                              : std::min(o.resident_pages, whole_history));
    if (*o.pool_pages < required)
        throw usage_error(fmt::format("--pool-pages is {}, permitted: {} or more ({} request{} of "
                                      "{} hot, {} tail and {} index pages)",
                                      *o.pool_pages, required, config.slots,
                                      config.slots > 1 ? "s" : "", config.hot_pages, need.tail,
                                      need.in_the_end - config.hot_pages - need.tail));
    return *o.pool_pages;
}

} // namespace

dh::hierarchy_config resident_config(int n_requests, const dh::demand& each) {
    auto config = plain_config(n_requests);
    const auto need = needs_of(config, each);
    config.pool_pages = need.in_the_end * n_requests;
    config.metadata_bytes = need.metadata_bytes * n_requests;
    return config;
}

dh::hierarchy_config tiered_config(const options& o, const dh::demand& each) {
    auto config = plain_config(o.requests);
    config.k_max = o.k_max.value_or(1);
    config.hot_pages = o.hot_rows / page_positions;
    config.host_pages = pages_of(each.positions + each.growth) * o.requests;
    const auto need = needs_of(config, each);
    config.pool_pages = pool_pages(o, config, need, each);
    config.metadata_bytes = need.metadata_bytes * o.requests;
    config.reserve_pages =
        (need.in_the_end - need.at_admission) * o.requests; // index pages to come
    return config;
}

} // namespace decode
