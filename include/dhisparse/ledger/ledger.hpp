/// The half that decides: who is admitted, which pages each request holds in either tier, what is
/// copied when. No CUDA, no clock, no polling: the same calls give the same plans.
#pragma once

#include <dhisparse/core/arithmetic.hpp>
#include <dhisparse/core/types.hpp>
#include <dhisparse/durable/durability.hpp>
#include <dhisparse/layout/page_layout.hpp>
#include <dhisparse/ledger/demand.hpp>
#include <dhisparse/ledger/plan.hpp>
#include <dhisparse/pool/page_pool.hpp>
#include <dhisparse/residency/metadata_region.hpp>
#include <dhisparse/residency/slot_tables.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace dhisparse {

struct ledger_config {
    std::int32_t host_pages = 0;   // 0: no host tier, every page of a request is required
    std::int32_t steps_ahead = 1;  // steps that the host launches beyond the last completed one
    std::int32_t tail_pages = 0;   // required a slot; 0: what steps_ahead and K_max ask for
    std::int32_t reserve_pages = 0; // never granted to optional history
};

/// Pages by class: required + optional + leaving + free = capacity. `promised` of the required ones belong
/// to slots that have not taken them yet; leaving: of ended requests or unmapped history, until the fence.
struct page_counts {
    std::int32_t capacity = 0, required = 0, optional = 0, leaving = 0, free = 0, promised = 0;
};

class ledger {
public:
    /// Throws invalid_argument where the configuration can't serve any request.
    ledger(const page_layout& layout, const slot_table_layout& tables, const ledger_config& config);

    /// Whether a request would be admitted. Changes nothing.
    fit fits(const demand& wanted) const;
    /// Takes all required pages, metadata and host pages, or nothing. Throws invalid_argument where the demand is negative.
    std::optional<slot_id> try_admit(const demand& wanted);
    /// Raises the reserved length to `positions` (a smaller one changes nothing); false where metadata lacks.
    bool try_extend(slot_id slot, std::int64_t positions);

    /// Gives writable pages for [first, first + n) of the slot's pages, as many from the front as there
    /// are now (maybe none); pages given earlier are given again. Valid until the next call.
    std::span<const gpu_page> import_pages(slot_id slot, std::int32_t first, std::int32_t n);
    /// The pages' contents are written, or will be before the next plan in stream order.
    void landed(slot_id slot, std::int32_t first, std::int32_t n);
    /// The history is complete: rounds may run after the next plan. Throws invalid_argument naming the first page that has not landed.
    void finish_import(slot_id slot);

    /// The request has ended (or was aborted). Its pages come back after the steps and copies in flight.
    void finish(slot_id slot);

    /// Between rounds: takes note of completed work and of frontiers, and decides the next edits and copies.
    /// Throws invalid_argument, changing nothing, where a ticket is not outstanding. The plan is valid until the next call.
    const step_plan& advance(std::span<const ticket> completed, std::span<const frontier_report> frontiers);

    page_counts pages() const;
    /// Pages held as this class, those on their way back included.
    std::int32_t pages_of_class(page_class of) const { return gpu_.n_of(of); }
    std::int32_t free_host_pages() const { return host_.n_free(); }
    std::int32_t free_slots() const { return static_cast<std::int32_t>(free_slots_.size()); }
    std::int32_t required_pages(const demand& wanted) const; // GPU pages at admission
    std::int32_t tail_pages() const { return tail_pages_; }
    /// The durable watermark: every row generated since import below this position has a complete host copy.
    std::int32_t durable_positions(slot_id slot) const;
    /// [pages of the slot] gpu page of each page that is mapped or being imported, or none.
    std::vector<gpu_page> page_table(slot_id slot) const;
    /// [pages] index table of the i-th source with index keys in the slot's run of the region.
    const std::int32_t* index_table(slot_id slot, int i, const std::byte* region) const;

private:
    struct page_state {
        gpu_page gpu = gpu_page::none;
        host_page host = host_page::none;
        durability copied = durability::none;
        bool optional = false;   // else required, where it is on the GPU
        bool landed = false;
        bool whole_copy = false; // some rows were written without a row backup: needs a page copy
    };
    struct slot_state {
        std::uint32_t generation = 0;
        bool live = false, importing = false, growing = false;
        std::int64_t prompt = 0, positions = 0; // imported; reserved
        std::int32_t frontier = 0;   // as the host knows it
        std::int32_t first_tail = 0; // pages before it are history
        std::int32_t mapped_to = 0;  // pages before it have been given
        std::int32_t tail_quota = 0, tail_held = 0;
        std::int32_t map_pages = 0;  // page-map entries
        std::int64_t run = 0;
        std::vector<page_state> pages;
        std::vector<gpu_page> hot, index;
    };
    struct need {
        std::int64_t pages = 0, host_pages = 0, run_bytes = 0;
    };
    /// What a completed ticket lets go of.
    struct outstanding {
        std::vector<gpu_page> gpu;
        std::vector<host_page> host;
        std::vector<slot_id> tails; // slots of which a required tail page leaves, one entry a page
        slot_id slot;               // whose page a copy makes durable
        std::int32_t page = -1;     // -1: no copy
    };

    // admission
    need need_of(const demand& wanted) const;
    std::int64_t first_positions(std::int64_t known, std::int64_t reserved) const { return std::min(known + ahead_, reserved); }
    std::int64_t pages_of(std::int64_t positions) const { return ceil_div<std::int64_t>(positions, layout_.shape().page_positions); }
    std::int32_t tail_quota_of(const demand& wanted) const;
    std::int64_t index_pages_of(std::int64_t position_pages) const;
    void open(std::int32_t s, const demand& wanted, std::int64_t run, std::int32_t map_pages);
    slot_state& state(slot_id slot, const char* call);
    const slot_state& state(slot_id slot, const char* call) const;

    // pages
    std::int32_t unpromised() const { return gpu_.n_free() - promised_; }
    std::optional<gpu_page> take_tail(slot_state& slot);
    void hold_tail(slot_state& slot, std::int32_t change);
    bool give_index_pages(std::int32_t s, std::int64_t position_pages);
    bool give_host_page(std::int32_t s, std::int32_t page);
    bool give_import_page(std::int32_t s, std::int32_t page);
    bool keeps_last_for_boundary(const slot_state& slot) const;
    bool may_take_boundary(const slot_state& slot) const;
    void say(edit::kind what, std::int32_t slot, std::int64_t value, std::int32_t index = 0) { next_.edits.push_back({what, slot, index, value}); }

    // steps
    void require_valid(std::span<const ticket> completed, std::span<const frontier_report> frontiers) const;
    void complete(ticket id);
    void let_go(const outstanding& work);
    void retire_full_pages(std::int32_t s);
    bool settle(std::int32_t s, std::int32_t page);
    void start_backup(std::int32_t s, std::int32_t page);
    void keep_or_unmap(std::int32_t s, std::int32_t page);
    void grow_later(std::int32_t s);
    bool map_ahead(std::int32_t s);
    void close_plan();
    void check() const;

    page_layout layout_;
    slot_table_layout tables_;
    ledger_config config_;
    std::int32_t tail_pages_ = 0;
    std::int64_t ahead_ = 0;
    page_pool<gpu_page> gpu_;
    page_pool<host_page> host_;
    metadata_region region_;
    std::vector<slot_state> slots_;
    std::vector<std::int32_t> free_slots_; // a stack
    std::vector<std::int32_t> growing_;    // slots to map ahead, at the next advance
    std::int32_t required_ = 0, optional_ = 0, promised_ = 0;
    ticket last_ticket_ = 0;
    std::map<ticket, outstanding> outstanding_;
    outstanding leaving_; // let go of by the next fence
    step_plan next_, current_;
    std::vector<gpu_page> given_;
};

} // namespace dhisparse

#include <dhisparse/ledger/ledger_admission.hpp>
#include <dhisparse/ledger/ledger_import.hpp>
#include <dhisparse/ledger/ledger_step.hpp>
