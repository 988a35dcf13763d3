// The slots' tables as the step path would read them, and how much of each slot's history is mapped.
#pragma once

#include <dhisparse/executor/edits.hpp>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

namespace replay {

/// Hot indexes are left out: nobody looks a row up. Memory that nobody touches isn't taken.
class maps {
public:
    maps(const dhisparse::page_layout& layout, const dhisparse::slot_table_layout& sizes)
        : layout_(layout), sizes_(sizes), memory_(static_cast<std::byte*>(std::calloc(static_cast<std::size_t>(sizes.bytes()), 1))),
          slots_(static_cast<std::size_t>(sizes.n_slots())) {
        if (!memory_) throw std::bad_alloc();
        tables_ = sizes.at(memory_.get());
    }
    void apply(const dhisparse::step_plan& plan) {
        for (const auto& e : plan.edits) apply(e);
    }
    dhisparse::gpu_page gpu(std::int32_t slot, std::int64_t page) const { return dhisparse::gpu_page{tables_.page_map(slot)[page]}; }
    dhisparse::host_page host(std::int32_t slot, std::int64_t page) const { return dhisparse::host_page{tables_.host_map(slot)[page]}; }

    /// Of n pages of history, the share that is not mapped.
    double unmapped(std::int32_t slot, std::int64_t n) const {
        return n == 0 ? 0 : std::max(0.0, 1 - static_cast<double>(of(slot).mapped) / static_cast<double>(n));
    }
    /// 1: the slot's hot cache knows nothing of what it is asked for, 0: it is warm. A step warms it by 1 / steps.
    double coldness(std::int32_t slot, double steps) {
        const auto now = of(slot).coldness;
        of(slot).coldness = std::max(0.0, now - 1 / steps);
        return now;
    }

private:
    struct freed {
        void operator()(std::byte* memory) const { std::free(memory); }
    };
    struct state {
        int mapped = 0; // pages
        double coldness = 1;
    };
    state& of(std::int32_t slot) { return slots_[static_cast<std::size_t>(slot)]; }
    const state& of(std::int32_t slot) const { return slots_[static_cast<std::size_t>(slot)]; }

    void apply(const dhisparse::edit& e) {
        if (e.what == dhisparse::edit::kind::open) return open(e);
        if (e.what == dhisparse::edit::kind::move_run) throw dhisparse::error("a run moved: no request of a replay is extended");
        if (e.what == dhisparse::edit::kind::map) note_map(of(e.slot), tables_.page_map(e.slot)[e.index], static_cast<std::int32_t>(e.value));
        dhisparse::apply_edit(tables_, sizes_, layout_, e);
    }
    void open(const dhisparse::edit& e) {
        tables_.records[e.slot] = {.live = 1, .n_pages = e.index, .positions = 0, .frontier = 0, .tail_page = 0, .slot = 0, .run_bytes = e.value};
        std::fill_n(tables_.page_map(e.slot), (2 + layout_.index().n_sources) * std::int64_t{e.index}, -1);
        of(e.slot) = {};
    }
    /// The hot cache has to learn what history that leaves the GPU has served so far.
    static void note_map(state& slot, std::int32_t before, std::int32_t after) {
        if (before < 0 && after >= 0) ++slot.mapped;
        if (before < 0 || after >= 0) return;
        slot.coldness = std::min(1.0, slot.coldness + 1.0 / slot.mapped);
        --slot.mapped;
    }

    dhisparse::page_layout layout_;
    dhisparse::slot_table_layout sizes_;
    std::unique_ptr<std::byte, freed> memory_;
    dhisparse::slot_tables_ref tables_;
    std::vector<state> slots_;
};

} // namespace replay
