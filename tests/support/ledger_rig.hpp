/// A ledger alone: no memory, no executor.
#pragma once

#include "model_shapes.hpp"

#include <dhisparse/ledger/ledger.hpp>
#include <dhisparse/policy/hot_index/dense.hpp>
#include <dhisparse/policy/layout/page_major.hpp>

#include <vector>

namespace dhisparse_test {

namespace dh = dhisparse;

struct rig_sizes {
    int pool_pages = 16, host_pages = 64, slots = 4, hot_pages = 1, k_max = 1, steps_ahead = 1, tail_pages = 0, reserve_pages = 0;
    std::int64_t metadata_runs = 0; // of the shortest request; 0: plenty
    int refill_pages_per_step = 0, backup_pages_per_step = 0, departing_plans = 0;
    plain_shape_options shape = {};
};

struct ledger_rig {
    dh::page_layout layout;
    dh::slot_table_layout tables;
    dh::ledger it;

    explicit ledger_rig(const rig_sizes& n, const dh::ledger_policies& policies = {})
        : layout(dh::page_layout::make<dh::page_major>(plain_shape(n.shape), {n.pool_pages, n.hot_pages, n.k_max})), tables(sizes(n, layout)),
          it(layout, tables, {n.host_pages, n.steps_ahead, n.tail_pages, n.reserve_pages, n.refill_pages_per_step, n.backup_pages_per_step, n.departing_plans}, policies) {}

    static dh::slot_table_layout sizes(const rig_sizes& n, const dh::page_layout& layout) {
        const auto one = dh::slot_table_layout::make<dh::dense>(layout, n.slots, 0).run_bytes(8);
        return dh::slot_table_layout::make<dh::dense>(layout, n.slots, n.metadata_runs ? n.metadata_runs * one : 1 << 20);
    }
    dh::fit fits(int positions, int growth = 0) const { return it.fits({positions, growth}); }
    /// All pages given, landed, import finished, as far as there are pages without waiting.
    dh::slot_id start(int positions, int growth = 0) {
        const auto slot = it.try_admit({positions, growth}).value();
        const auto pages = (positions + layout.shape().page_positions - 1) / layout.shape().page_positions;
        for (int page = 0; page < pages; ++page) {
            while (it.import_pages(slot, page, 1).empty()) advance();
            it.landed(slot, page, 1);
        }
        it.finish_import(slot);
        advance();
        return slot;
    }
    /// A plan; everything outstanding has completed.
    const dh::step_plan& advance(const std::vector<dh::frontier_report>& reports = {}) {
        const auto& plan = it.advance(outstanding, reports);
        outstanding.clear();
        note(plan);
        return plan;
    }
    void note(const dh::step_plan& plan) {
        for (const auto& copy : plan.copies) outstanding.push_back(copy.id);
        if (plan.fence != 0) outstanding.push_back(plan.fence);
    }
    std::vector<dh::ticket> outstanding;
};

/// The slots that could not grow.
inline std::vector<dh::slot_id> stalled(const dh::step_plan& plan) {
    std::vector<dh::slot_id> out;
    for (const auto& at : plan.stalled) out.push_back(at.slot);
    return out;
}

/// Everything that a query could have changed.
struct ledger_state {
    dh::page_counts pages;
    int free_host = 0, free_slots = 0;
    explicit ledger_state(const dh::ledger& it) : pages(it.pages()), free_host(it.free_host_pages()), free_slots(it.free_slots()) {}
    friend bool operator==(const ledger_state& a, const ledger_state& b) {
        const auto list = [](const ledger_state& s) {
            return std::vector{s.pages.capacity, s.pages.required, s.pages.optional, s.pages.leaving, s.pages.free, s.pages.promised, s.free_host, s.free_slots};
        };
        return list(a) == list(b);
    }
};

} // namespace dhisparse_test
