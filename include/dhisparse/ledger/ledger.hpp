/// The half that decides: who is admitted, which pages each request holds in either tier, what is
/// copied when. No CUDA, no clock, no polling: the same calls give the same plans.
#pragma once

#include <dhisparse/ledger/plan.hpp>
#include <dhisparse/ledger/request_size.hpp>
#include <dhisparse/ledger/request_state.hpp>
#include <dhisparse/metrics/ledger_counts.hpp>
#include <dhisparse/pool/page_pool.hpp>
#include <dhisparse/residency/metadata_region.hpp>

#include <algorithm>
#include <deque>
#include <set>
#include <span>
#include <tuple>

namespace dhisparse {

class ledger {
public:
    /// Throws invalid_argument where the configuration can't serve any request.
    ledger(const page_layout& layout, const slot_table_layout& tables, const ledger_config& config, const ledger_policies& policies = {});

    // ---- admission
    /// Whether a request would be admitted. Changes nothing. Throws invalid_argument where the demand is negative, or
    /// names a prefix that isn't kept or isn't as long as `shared`.
    fit fits(const demand& wanted) const;
    /// Takes all required pages, metadata and host pages, or nothing. Throws as fits. What it has of a prefix: shared_positions(slot).
    std::optional<slot_id> try_admit(const demand& wanted);
    /// Raises the reserved length to `positions` (a smaller one changes nothing); false where metadata, or with growth
    /// `reserved` a page of either tier, lacks.
    bool try_extend(slot_id slot, std::int64_t positions);
    /// By equation (4): whole requests give their optional history until `pages` more pages come back than are free or on
    /// their way now. Those are kept for an admission: nothing optional takes them until try_admit has had them, or
    /// reclaim(0) lets them go. Returns the pages that come back; 0 and no change where all of them would not do.
    std::int32_t reclaim(std::int64_t pages);

    // ---- import
    /// Gives writable pages for [first, first + n) of the slot's pages, as many from the front as there
    /// are now (maybe none); pages given earlier are given again. Valid until the next call. None while
    /// copies of a prefix are under way. While pages are spare every one is optional, and goes to whoever asks first.
    std::span<const gpu_page> import_pages(slot_id slot, std::int32_t first, std::int32_t n);
    /// The pages' contents are written, or will be before the next plan in stream order.
    void landed(slot_id slot, std::int32_t first, std::int32_t n);
    /// The history is complete: rounds may run once running(slot). Throws invalid_argument naming the first page that has not landed.
    void finish_import(slot_id slot);
    /// Positions that are there already, from a prefix: all that was asked for, or whole pages of it where the host tier hadn't
    /// all of the last. The import goes on there; a page that they end in is given with their rows in it, which gather finds too.
    /// Fewer after a park before that page had landed.
    std::int32_t shared_positions(slot_id slot) const { return state(slot, "shared_positions").shared; }

    // ---- a request's life
    /// The request has ended (or was aborted), in whatever state. Its pages come back after the steps and copies in flight.
    void finish(slot_id slot);
    /// Gives all of its GPU pages back; everything goes to the host tier, index keys and the partial page too. The slot and
    /// its id stay; rounds treat it as -1 after the next plan. Steps launched before may still report their frontiers, until
    /// try_resume. false, and no change, where host pages lack or it is neither importing nor running.
    bool park(slot_id slot);
    /// Whether try_resume would succeed; never: it is not parked. Changes nothing.
    fit fits_resume(slot_id slot) const;
    /// Takes the required pages of a parked request, or nothing. It goes on (running, or importing) after a later plan.
    bool try_resume(slot_id slot);
    /// Rounds may include the slot: the last plan has made it ready, or an earlier one.
    bool running(slot_id slot) const { return state(slot, "running").phase == phase::running && state(slot, "running").ready_in < counts_.plans; }
    bool importing(slot_id slot) const { return state(slot, "importing").importing(); }
    /// Given up by park; and no copy of it is under way any more.
    bool parked(slot_id slot) const { return state(slot, "parked").phase == phase::parked; }
    /// No copy of its pages is under way and all of its full pages are durable, or optional.
    bool settled(slot_id slot) const;

    // ---- prefixes and leases
    /// Keeps the first positions of a running request, in whole pages where the last is not history yet, beyond its end. Its
    /// pages are reclaimed before any request's. None where host pages for index keys lack, or a page's backup is awaited.
    std::optional<prefix_id> keep(slot_id slot, std::int64_t positions);
    /// Positions that it holds. Throws invalid_argument where the prefix isn't kept.
    std::int64_t kept_positions(prefix_id prefix) const { return prefix_of(prefix, "kept_positions").positions; }
    /// Requests that share it keep their pages.
    void drop(prefix_id prefix);
    /// Whole pages for the engine's own use, required until given back; none where so many aren't free.
    std::optional<std::vector<gpu_page>> lease(std::int32_t pages);
    /// They may be read by steps launched before; they come back with the next fence. Throws invalid_argument, changing nothing, where one is not leased.
    void give_back(std::span<const gpu_page> pages);
    /// Ends every request, prefix and lease. All pages are free once what is under way has completed.
    void reset();

    /// Between rounds: takes note of completed work and of frontiers, and decides the next edits and copies.
    /// completed: tickets, or failure_of() a copy's. Throws invalid_argument, changing nothing, where a ticket is not
    /// outstanding. The plan is valid until the next call.
    const step_plan& advance(std::span<const ticket> completed, std::span<const frontier_report> frontiers);

    // ---- queries
    page_counts pages() const;
    /// Pages held as this class, those on their way back included.
    std::int32_t pages_of_class(page_class of) const { return gpu_.n_of(of); }
    std::int32_t free_host_pages() const { return host_.n_free(); }
    std::int32_t free_slots() const { return static_cast<std::int32_t>(free_slots_.size()); }
    /// GPU pages at admission, without a prefix. With growth `stepwise` index and tail pages of later positions aren't among
    /// them: ask for {positions + growth, 0} to know those.
    std::int32_t required_pages(const demand& wanted) const { return static_cast<std::int32_t>(size_.of(wanted, 0).pages); }
    std::int32_t tail_pages() const { return size_.tail_pages(); }
    /// The durable watermark: every row generated since import below this position has a complete host copy.
    std::int32_t durable_positions(slot_id slot) const;
    /// [pages of the slot] gpu page of each page that is mapped or being imported, or none.
    std::vector<gpu_page> page_table(slot_id slot) const;
    /// The same of several, [slots][n_pages] page numbers, -1: none; for kernels that read earlier history by pages.
    void page_table(std::span<const slot_id> slots, std::int32_t n_pages, std::span<std::int32_t> out) const;
    /// [pages] index table of the i-th source with index keys in the slot's run of the region.
    const std::int32_t* index_table(slot_id slot, int i, const std::byte* region) const;
    /// What it has done so far; any thread that the caller orders after its calls may read.
    const ledger_counts& counts() const { return counts_; }

private:
    using phase = detail::phase;
    using page_record = detail::page_record;
    using place = page_record::place;
    using slot_state = detail::slot_state;
    using prefix_state = detail::prefix_state;
    using outstanding = detail::outstanding;
    using sharing = detail::sharing;
    using choice = detail::choice;
    using page_range = detail::page_range;
    using departure = detail::departure;

    // admission
    sharing sharing_of(const demand& wanted) const;
    void require_valid(const demand& wanted) const;
    fit fits_pages(std::int64_t needed) const;
    void open(std::int32_t s, const demand& wanted, std::int64_t run, std::int32_t map_pages);
    void open_shared(std::int32_t s, const demand& wanted, const sharing& shared);
    void copy_boundary(std::int32_t s, std::int32_t page, std::int32_t source);
    page_range reserved_growth(const slot_state& slot, std::int64_t positions) const;
    bool has_room_for(const slot_state& slot, const page_range& pages) const;
    void take_reserved(std::int32_t s, const page_range& pages);
    slot_state& at(std::int32_t s) { return slots_[static_cast<std::size_t>(s)]; }
    const slot_state& at(std::int32_t s) const { return slots_[static_cast<std::size_t>(s)]; }
    slot_id id_of(std::int32_t s) const { return {s, at(s).generation}; }
    slot_state& state(slot_id slot, const char* call);
    const slot_state& state(slot_id slot, const char* call) const;
    const prefix_state& prefix_of(prefix_id prefix, const char* call) const;

    // pages
    page_record& record(std::int32_t r) { return records_[static_cast<std::size_t>(r)]; }
    const page_record& record(std::int32_t r) const { return records_[static_cast<std::size_t>(r)]; }
    page_record& page_of(std::int32_t s, std::int32_t page);
    const page_record& page_of(std::int32_t s, std::int32_t page) const;
    std::int32_t record_number(std::int32_t s, std::int32_t page);
    void hold(std::int32_t r, std::int32_t s);
    void let_go(std::int32_t r, std::int32_t s);
    void free_if_unheld(std::int32_t r);
    void free_gpu(page_record& r);
    std::int32_t unpromised() const { return gpu_.n_free() - promised_; }
    std::int32_t coming() const { const auto p = pages(); return p.leaving + p.reclaiming; }
    bool may_grant() const { return host_.capacity() > 0 && unpromised() > config_.reserve_pages + kept_; }
    void grant(page_record& r);
    void ungrant(page_record& r);
    void note_exit(page_record& r);
    void note_readers(page_record& r);
    void note_readers_of(std::int32_t s);
    std::int32_t n_readers(const page_record& r) const;
    void unmap(page_record& r);
    void map_for_all(const page_record& r);
    void list_absent(std::int32_t s, std::int32_t page);
    void note_refillable(std::int32_t s);
    residency residency_of(std::int32_t s, std::uint64_t served) const;
    std::optional<gpu_page> take_tail(slot_state& slot);
    void hold_tail(slot_state& slot, std::int32_t change);
    bool give_index_pages(std::int32_t s, std::int64_t position_pages, bool quietly = false);
    bool give_host_page(std::int32_t s, std::int32_t page);
    bool give_import_page(std::int32_t s, std::int32_t page);
    bool keeps_last_for_boundary(const slot_state& slot) const;
    bool may_take_boundary(const slot_state& slot) const;
    void end_import(std::int32_t s);
    void say(edit::kind what, std::int32_t slot, std::int64_t value, std::int32_t index = 0) { next_.edits.push_back({what, slot, index, value}); }

    // reclaim, refill
    choice choose(std::int64_t pages, bool whole_requests) const;
    void leave(std::int32_t r, bool departs);
    void depart(page_record& r);
    void end_departures();
    void end_departure();
    void reclaim_for_growth();
    void name_one_to_park();
    std::int32_t lacking(std::int32_t s) const;
    void refill();
    std::int32_t next_absent(std::int32_t s);
    void back_up_eagerly();

    // copies
    ticket post(outstanding work, const page_copy& copy);
    void start_backup(std::int32_t r);
    void save_index(const std::vector<gpu_page>& pages, std::int64_t n_pages, std::vector<host_page>& to, slot_id slot, prefix_id prefix);
    void restore_index(std::int32_t s, const std::vector<host_page>& from, std::int64_t n_pages);
    std::int32_t host_pages_to_park(std::int32_t s) const;
    void park_page(std::int32_t s, std::int32_t page);
    demand resumed_demand(const slot_state& slot) const;
    std::int64_t index_pages_to_resume(const slot_state& slot) const;
    void restore_partial_page(std::int32_t s);

    // steps
    void require_valid(std::span<const ticket> completed, std::span<const frontier_report> frontiers) const;
    void complete(ticket id, bool failed);
    void release(const outstanding& work);
    void page_done(const outstanding& work);
    void waiter_done(const outstanding& work);
    void fail(const outstanding& work);
    void end_parking(std::int32_t s);
    void reopen(std::int32_t s);
    void end(std::int32_t s);
    void end_prefix(std::int64_t prefix);
    void note_frontier(const frontier_report& report);
    void grow();
    void retire_full_pages(std::int32_t s);
    bool settle(std::int32_t s, std::int32_t page);
    void keep_or_unmap(page_record& r);
    void grow_later(std::int32_t s);
    bool map_ahead(std::int32_t s);
    void close_plan();
    void check() const;
    void audit() const;

    request_size size_;
    ledger_config config_;
    ledger_policies policies_;
    page_pool<gpu_page> gpu_;
    page_pool<host_page> host_;
    metadata_region region_;
    std::vector<slot_state> slots_;
    std::vector<std::int32_t> free_slots_; // a stack
    std::deque<page_record> records_;      // references stay good
    std::vector<std::int32_t> free_records_;
    std::map<std::int64_t, prefix_state> prefixes_;
    std::vector<std::int32_t> growing_;    // slots to map ahead, at the next advance
    std::vector<std::int32_t> parking_;    // slots whose copies to the host are under way
    std::set<std::tuple<std::uint64_t, std::uint64_t, std::int32_t>> refillable_; // key, admission, slot
    std::deque<std::pair<std::int32_t, std::uint32_t>> to_back_up_;                // record, use
    std::deque<departure> departing_; // in the order of their ends
    std::map<std::uint64_t, std::int32_t> unread_;                                 // records that may leave and nobody reads, by age
    std::int32_t required_ = 0, optional_ = 0, promised_ = 0;
    std::int32_t reclaimable_ = 0, reclaiming_ = 0; // of the optional: may leave; leave once copied
    std::int64_t kept_ = 0;      // free pages that wait for an admission
    ticket last_ticket_ = 0;
    std::int64_t last_prefix_ = 0;
    std::uint64_t n_admitted_ = 0, n_reclaims_ = 0, n_refills_ = 0, n_unread_ = 0;
    std::map<ticket, outstanding> outstanding_;
    outstanding leaving_; // let go of by the next fence
    step_plan next_, current_;
    std::vector<gpu_page> given_;
    ledger_counts counts_;
};

} // namespace dhisparse

#include <dhisparse/ledger/ledger_admission.hpp>
#include <dhisparse/ledger/ledger_import.hpp>
#include <dhisparse/ledger/ledger_pages.hpp>
#include <dhisparse/ledger/ledger_park.hpp>
#include <dhisparse/ledger/ledger_prefix.hpp>
#include <dhisparse/ledger/ledger_queries.hpp>
#include <dhisparse/ledger/ledger_reclaim.hpp>
#include <dhisparse/ledger/ledger_step.hpp>
