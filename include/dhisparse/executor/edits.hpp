/// Applies the ledger's edits to the tables, on the host backend.
#pragma once

#include <dhisparse/layout/page_layout.hpp>
#include <dhisparse/ledger/plan.hpp>
#include <dhisparse/residency/slot_tables.hpp>

namespace dhisparse {
namespace detail {

/// Writes the blocks of a slot's j-th index page into its index tables. Blocks are handed out page of
/// positions by page of positions, source by source: block number b serves page b / n, source b mod n.
inline void apply_index_page(const slot_tables_ref& tables, const page_layout& layout, const edit& e) {
    const auto& index = layout.index();
    for (std::int32_t i = 0; i < index.blocks_per_page; ++i) {
        const auto b = std::int64_t{e.index} * index.blocks_per_page + i;
        const auto page = b / index.n_sources;
        if (page >= tables.records[e.slot].n_pages) break;
        tables.index_table(e.slot, static_cast<std::int32_t>(b % index.n_sources))[page] =
            layout.index_block(gpu_page{static_cast<std::int32_t>(e.value)}, i);
    }
}

inline void apply_open(const slot_tables_ref& tables, const slot_table_layout& sizes, const edit& e) {
    tables.records[e.slot] = {.live = 1, .n_pages = e.index, .positions = 0, .frontier = 0, .tail_page = 0, .slot = 0, .run_bytes = e.value};
    sizes.clear(tables, e.slot);
}

} // namespace detail

inline void apply_edit(const slot_tables_ref& tables, const slot_table_layout& sizes, const page_layout& layout, const edit& e) {
    auto& record = tables.records[e.slot];
    const auto value = static_cast<std::int32_t>(e.value);
    switch (e.what) {
    case edit::kind::open: return detail::apply_open(tables, sizes, e);
    case edit::kind::close: record.live = 0; return;
    case edit::kind::move_run: return sizes.move_run(tables, e.slot, e.index, e.value);
    case edit::kind::positions: record.positions = value; return;
    case edit::kind::frontier: record.frontier = tables.passes[e.slot].draft_frontier = value; return;
    case edit::kind::tail_page: record.tail_page = value; return;
    case edit::kind::map: tables.page_map(e.slot)[e.index] = value; return;
    case edit::kind::host_map: tables.host_map(e.slot)[e.index] = value; return;
    case edit::kind::hot_page: tables.hot_pages[std::int64_t{e.slot} * tables.hot_pages_per_slot + e.index] = value; return;
    case edit::kind::index_page: return detail::apply_index_page(tables, layout, e);
    }
}

} // namespace dhisparse
