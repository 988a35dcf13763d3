/// Definitions for slot_tables.hpp.
#pragma once

#include <dhisparse/core/arithmetic.hpp>
#include <dhisparse/residency/slot_tables.hpp>

#include <algorithm>

namespace dhisparse {

template <hot_index_policy Index>
slot_table_layout slot_table_layout::make(const page_layout& layout, std::int32_t n_slots, std::int64_t region_bytes) {
    require_in(n_slots, 1, 1 << 20, "slots");
    slot_table_layout out;
    out.n_slots_ = n_slots;
    out.hot_pages_ = static_cast<std::int32_t>(layout.limits().hot_pages);
    out.page_positions_ = layout.shape().page_positions;
    out.region_bytes_ = round_up(region_bytes, 128);
    out.n_index_sources_ = layout.index().n_sources;
    out.page_run_bytes_ = std::int64_t{4} * (2 + layout.index().n_sources); // page map, host map, index tables
    for (int g = 0; g < layout.n_groups(); ++g) {
        group_tables group{out.page_run_bytes_, out.fixed_run_bytes_, out.entries_, static_cast<std::int32_t>(layout.hot_entries(g)), 0};
        group.codes = group.entries + layout.limits().k_max * layout.shape().k;
        out.entries_ = static_cast<std::int32_t>(round_up(out.entries_ + group.entries, 4)); // so that four stamps are one load
        out.page_run_bytes_ += layout.group(g).rows_per_page.divisor * Index::bytes_per_row;
        out.fixed_run_bytes_ += Index::fixed_bytes(group.codes);
        out.groups_.push_back(group);
    }
    return out;
}

inline std::int32_t slot_table_layout::pages_for(std::int64_t positions) const {
    const auto pages = round_up(std::max<std::int64_t>(ceil_div<std::int64_t>(positions, page_positions_), 1), 8);
    require_in<std::int64_t>(pages, 8, INT32_MAX / 8, "pages of a request");
    return static_cast<std::int32_t>(pages);
}

inline slot_table_layout::parts slot_table_layout::offsets() const {
    parts at;
    const auto slots = std::int64_t{n_slots_};
    const auto behind = [](std::int64_t start, std::int64_t bytes) { return round_up(start + bytes, 128); };
    at.hot_pages = behind(0, slots * static_cast<std::int64_t>(sizeof(slot_record)));
    at.clocks = behind(at.hot_pages, 4 * slots * hot_pages_);
    at.passes = behind(at.clocks, 4 * slots * static_cast<std::int64_t>(groups_.size()));
    at.entries = behind(at.passes, slots * static_cast<std::int64_t>(sizeof(pass_record)));
    at.region = behind(at.entries, 3 * 4 * slots * entries_);
    at.end = at.region + region_bytes_;
    return at;
}

inline slot_tables_ref slot_table_layout::at(std::byte* memory) const {
    const auto where = offsets();
    slot_tables_ref out;
    out.n_slots = n_slots_;
    out.hot_pages_per_slot = hot_pages_;
    out.n_groups = static_cast<std::int32_t>(groups_.size());
    out.entries_per_slot = entries_;
    out.records = reinterpret_cast<slot_record*>(memory);
    out.hot_pages = reinterpret_cast<std::int32_t*>(memory + where.hot_pages);
    out.clocks = reinterpret_cast<stamp*>(memory + where.clocks);
    out.passes = reinterpret_cast<pass_record*>(memory + where.passes);
    out.entry_state = reinterpret_cast<std::uint32_t*>(memory + where.entries);
    out.region = memory + where.region;
    return out;
}

inline void slot_table_layout::clear(const slot_tables_ref& tables, std::int32_t slot) const {
    const auto entries = static_cast<std::size_t>(entries_);
    tables.passes[slot] = {};
    std::fill_n(tables.clocks + std::int64_t{slot} * tables.n_groups, tables.n_groups, stamp{0});
    if (groups_.empty()) return;
    std::fill_n(tables.used(slot, groups_.front()), entries, stamp{0});
    std::fill_n(tables.entered(slot, groups_.front()), entries, stamp{0});
    std::fill_n(tables.rows(slot, groups_.front()), entries, std::int32_t{-1});
    std::memset(tables.region + tables.records[slot].run_bytes, 0xFF, static_cast<std::size_t>(run_bytes(tables.records[slot].n_pages)));
}

inline void slot_table_layout::move_run(const slot_tables_ref& tables, std::int32_t slot, std::int32_t n_pages, std::int64_t run) const {
    auto& record = tables.records[slot];
    const auto* from = tables.region + record.run_bytes;
    auto* to = tables.region + run;
    std::memset(to, 0xFF, static_cast<std::size_t>(run_bytes(n_pages)));
    const auto run_parts = shape(groups_.data());
    for (std::int32_t i = 0; i < run_parts.n_parts(); ++i) {
        const auto part = run_parts.part_of(i, record.n_pages, n_pages);
        std::memcpy(to + part.to, from + part.from, static_cast<std::size_t>(part.bytes));
    }
    record.n_pages = n_pages;
    record.run_bytes = run;
}

} // namespace dhisparse
