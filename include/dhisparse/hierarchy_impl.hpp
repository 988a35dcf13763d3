/// Definitions for hierarchy.hpp.
#pragma once

#include <dhisparse/hierarchy.hpp>

#include <algorithm>

namespace dhisparse {
namespace detail {

/// Pages that so many bytes hold, where the count isn't given.
inline std::int64_t page_count(std::int64_t pages, std::int64_t bytes, std::int64_t page_bytes) {
    return pages > 0 ? pages : bytes / page_bytes;
}

/// Bytes for page maps and hot indexes: enough for every request that both tiers can hold, but no more
/// than 1.6 % of the pool or what the longest request needs.
inline std::int64_t region_bytes(const hierarchy_config& config, const slot_table_layout& tables, std::int64_t pages, std::int64_t pool_bytes) {
    if (config.metadata_bytes > 0) return config.metadata_bytes;
    const auto of = [&](std::int64_t n_pages, std::int64_t runs) { return runs * tables.run_bytes(0) + n_pages * (tables.run_bytes(1) - tables.run_bytes(0)); };
    const auto all = of(pages + 8 * std::int64_t{config.slots}, config.slots);
    const auto longest = config.max_positions > 0 ? config.max_positions : std::min<std::int64_t>(pages * config.shape.page_positions, 1 << 20);
    return std::min(all, std::max(pool_bytes / 1000 * 16, of(tables.pages_for(longest), 1)));
}

} // namespace detail

template <class Backend, class Policies>
auto hierarchy<Backend, Policies>::measure(const hierarchy_config& config) -> plan_of_memory {
    require_in(config.slots, 1, 1 << 20, "slots");
    require_in<std::int64_t>(config.host_bytes, 0, INT64_MAX, "host_bytes");
    require_in<std::int64_t>(config.pool_bytes, 0, INT64_MAX, "pool_bytes");
    require_in(config.pool_pages, 0, INT32_MAX, "pool_pages");
    require_in(config.host_pages, 0, INT32_MAX, "host_pages");
    require_in(config.max_requests, 0, 1 << 20, "max_requests");
    require_in<std::int64_t>(config.metadata_bytes, 0, INT64_MAX, "metadata_bytes");
    require_in<std::int64_t>(config.max_positions, 0, 1 << 30, "max_positions");
    require_in(config.max_unsettled, 0, Backend::has_passes ? 1024 : 0, "max_unsettled");
    require(Backend::has_passes || std::ranges::find(config.shape.passes, pass::draft) == config.shape.passes.end(), "backend ", Backend::name,
            " has no draft pass; passes may be target alone");
    using layout_policy = typename Policies::layout;
    auto layout = page_layout::make<layout_policy>(config.shape, {1, config.hot_pages, config.k_max});
    require_in<std::int64_t>(std::int64_t{config.max_requests > 0 ? config.max_requests : config.slots} * config.k_max, 1, 1 << 24, "max_requests x k_max");
    const auto pages = detail::page_count(config.pool_pages, config.pool_bytes, layout.page_bytes());
    require(pages > 0, "the pool has ", config.pool_bytes, " bytes, less than one page of ", layout.page_bytes());
    const auto host_pages = detail::page_count(config.host_pages, config.host_bytes, layout.host_page_bytes());
    require_in<std::int64_t>(host_pages, 0, INT32_MAX, "host pages");
    layout = page_layout::make<layout_policy>(config.shape, {pages, config.hot_pages, config.k_max, host_pages > 0 ? config.slots : 0});
    if (host_pages > 0 && !Backend::stages)
        for (int g = 0; g < layout.n_groups(); ++g)
            require(layout.hot_entries(g) >= std::int64_t{config.k_max} * config.shape.k, "the hot cache of group ", g, " has ", layout.hot_entries(g),
                    " entries, permitted on backend ", Backend::name, ": at least k_max x k = ", std::int64_t{config.k_max} * config.shape.k);
    const auto sizes = slot_table_layout::make<typename Policies::hot_index>(layout, config.slots, 0);
    const auto region = detail::region_bytes(config, sizes, std::max(pages, host_pages), layout.slab_bytes() - layout.staging_bytes());
    return {layout, slot_table_layout::make<typename Policies::hot_index>(layout, config.slots, region),
            boundary_layout::make(config.shape, config.slots, config.k_max, config.max_unsettled), static_cast<std::int32_t>(host_pages)};
}

template <class Backend, class Policies>
memory_needed hierarchy<Backend, Policies>::needed(const plan_of_memory& plan) {
    return {plan.layout.slab_bytes(), checked_mul(plan.host_pages, plan.layout.host_page_bytes(), "host bytes"), plan.tables.bytes(), plan.boundary.bytes(), plan.layout.staging_bytes()};
}

template <class Backend, class Policies>
memory_needed hierarchy<Backend, Policies>::bytes_needed(const hierarchy_config& config) { return needed(measure(config)); }

template <class Backend, class Policies>
std::int32_t hierarchy<Backend, Policies>::required_pages(const hierarchy_config& config, const demand& wanted) {
    const auto plan = measure(config);
    const class ledger alone(plan.layout, plan.tables, config_of(config, plan), ledger_policies::of<Policies>());
    return alone.required_pages(wanted);
}

template <class Backend, class Policies>
hierarchy<Backend, Policies>::hierarchy(const hierarchy_config& config) : hierarchy(config, measure(config)) {}

template <class Backend, class Policies>
hierarchy<Backend, Policies>::hierarchy(const hierarchy_config& config, plan_of_memory plan)
    : layout_(plan.layout), table_layout_(plan.tables), boundary_layout_(plan.boundary),
      ledger_(layout_, table_layout_, config_of(config, plan), ledger_policies::of<Policies>()),
      slab_({}, needed(plan).pool, 128, config.pool_memory, "pool"), table_memory_({}, needed(plan).tables, 128, config.table_memory, "table"),
      boundary_({}, needed(plan).boundary, 128, {}, "boundary"),
      host_({}, needed(plan).host, 128, config.host_memory, "host"),
      path_(layout_, table_layout_, config.max_requests > 0 ? config.max_requests : config.slots, slab_.data(), host_.data(), table_memory_.data()),
      max_unsettled_(config.max_unsettled) {
    read_lane_.assign(static_cast<std::size_t>(shape().layers), -1);
    for (const auto& said : shape().announcements)
        for (const int layer : said.consumers)
            read_lane_[static_cast<std::size_t>(layer)] = layout_.lane_of_layer(
                shape().sources[static_cast<std::size_t>(source_read_by(shape(), said, layer))].layer);
}

template <class Backend, class Policies>
const step_plan& hierarchy<Backend, Policies>::advance(stream s, std::span<const ticket> completed, std::span<const frontier_report> frontiers) {
    const auto& plan = ledger_.advance(completed, frontiers);
    path_.apply(executor_, s, plan);
    return plan;
}

template <class Backend, class Policies>
void hierarchy<Backend, Policies>::resolve(stream s, const round_ref& round, const announcement_shape& said, const selection_ref& selection, const locations_ref& out) {
    require_in(said.group, 0, layout_.n_groups() - 1, "group");
    require_in(selection.k, 1, shape().k, "k of a selection");
    path_.resolve(s, said.group, round, selection, out);
}

template <class Backend, class Policies>
void hierarchy<Backend, Policies>::commit(stream s, const round_ref& round, const std::int32_t* accepted, std::int32_t unsettled, pass of) {
    require_in(unsettled, 0, max_unsettled_, "unsettled");
    require(of == pass::target || std::ranges::find(shape().passes, of) != shape().passes.end(), "no group belongs to the draft pass");
    path_.commit(s, round, accepted, unsettled, of);
}

template <class Backend, class Policies>
std::int32_t hierarchy<Backend, Policies>::settled_positions(slot_id slot) const {
    const auto passes = path_.read(&step().tables.passes[slot.index]);
    auto out = frontier(slot) - passes.unsettled[static_cast<int>(pass::target)];
    if (std::ranges::find(shape().passes, pass::draft) != shape().passes.end())
        out = std::min(out, passes.draft_frontier - passes.unsettled[static_cast<int>(pass::draft)]);
    return out;
}

template <class Backend, class Policies>
void hierarchy<Backend, Policies>::gather(stream s, int layer, slot_id slot, std::int64_t first, std::int64_t last, std::span<std::byte> out) {
    const auto lane = layout_.lane_of_layer(layer);
    int g = 0;
    while (lane >= layout_.group(g).first_lane + layout_.group(g).n_lanes) ++g;
    const auto row_bytes = layout_.lanes()[static_cast<std::size_t>(lane)].row_bytes;
    const auto rows = std::int64_t{layout_.group(g).rows_per_page.divisor} * static_cast<std::int64_t>(ledger_.page_table(slot).size());
    require(first >= 0 && first <= last && last <= rows, "gather: rows [", first, ", ", last, "), permitted: within [0, ", rows, ")");
    require(static_cast<std::int64_t>(out.size()) >= (last - first) * row_bytes, "gather: room for ", out.size(), " bytes, needed: ", (last - first) * row_bytes);
    path_.gather(s, {.slot = slot.index, .group = g, .lane = lane - layout_.group(g).first_lane, .first_row = static_cast<std::int32_t>(first),
                     .last_row = static_cast<std::int32_t>(last), .out = out.data()});
}

template <class Backend, class Policies>
source_view hierarchy<Backend, Policies>::view(int layer) const {
    require_in(layer, 0, shape().layers - 1, "layer");
    const auto lane = read_lane_[static_cast<std::size_t>(layer)];
    require(lane >= 0, "layer ", layer, " reads no source of this shape");
    return layout_.view(slab_.data(), lane);
}

template <class Backend, class Policies>
std::byte* hierarchy<Backend, Policies>::row(int layer, location at, int run) const {
    return slab_.data() + layout_.lanes()[static_cast<std::size_t>(layout_.lane_of_layer(layer))].offset_bytes(at, run);
}

template <class Backend, class Policies>
boundary_ring_ref hierarchy<Backend, Policies>::boundary(int layer) const {
    const auto source = source_of(shape(), layer);
    require(source >= 0, "layer ", layer, " writes no source of this shape");
    return boundary_layout_.at(boundary_.data(), source);
}

template <class Backend, class Policies>
location hierarchy<Backend, Policies>::location_of(int layer, gpu_page page, std::int32_t position_in_page) const {
    const auto lane = layout_.lane_of_layer(layer);
    for (const auto& group : layout_.groups())
        if (lane >= group.first_lane && lane < group.first_lane + group.n_lanes)
            return group.at(page, static_cast<std::uint32_t>(position_in_page / group.positions_per_row));
    return no_location;
}

} // namespace dhisparse
