/// The facade: one ledger, one executor and the step path over one pool. What an engine links.
#pragma once

#include <dhisparse/host_backend.hpp>
#include <dhisparse/ledger/ledger.hpp>
#include <dhisparse/memory/buffer.hpp>
#include <dhisparse/metrics/tally.hpp>
#include <dhisparse/policy/growth/stepwise.hpp>
#include <dhisparse/policy/hot_index/dense.hpp>
#include <dhisparse/policy/layout/page_major.hpp>
#include <dhisparse/policy/park_order/youngest.hpp>
#include <dhisparse/policy/promotion/most_selected.hpp>
#include <dhisparse/policy/reclaim_order/longest_free.hpp>
#include <dhisparse/policy/refill_order/in_turn.hpp>
#include <dhisparse/policy/replacement/lru.hpp>
#include <dhisparse/tail/boundary_ring.hpp>

#include <algorithm>
#include <span>
#include <vector>

namespace dhisparse {

/// Derive from it to change one: struct mine : default_policies { using replacement = fifo; };
struct default_policies {
    using layout = page_major;
    using hot_index = dense;
    using replacement = lru;
    using promotion = most_selected;
    using growth = stepwise;
    using reclaim_order = longest_free;
    using refill_order = in_turn;
    using park_order = youngest;
};

struct hierarchy_config {
    model_shape shape = {};
    std::int64_t pool_bytes = 0; // of GPU pages, or pool_pages of them; staging comes on top
    std::int64_t host_bytes = 0; // of host pages, or host_pages of them; none: every row stays on the GPU (resident)
    std::int32_t pool_pages = 0;
    std::int32_t host_pages = 0;
    std::int32_t slots = 1;      // requests at a time
    std::int32_t hot_pages = 0;  // H: hot-cache pages a slot; B_g = H · p/m entries
    std::int32_t k_max = 1;      // K_max: queries a round; where B < k_max · k, the rest of a union is staged
    std::int32_t max_requests = 0; // of a batch, padding included; 0: slots
    std::int32_t steps_ahead = 1;
    std::int32_t max_unsettled = 0; // positions that a commit may leave unsettled, or the draft pass be behind when frontiers are reported
    std::int32_t tail_pages = 0; // required a slot; 0: what steps_ahead and k_max ask for
    std::int32_t reserve_pages = 0; // never granted to optional history: for growth
    std::int32_t refill_pages_per_step = 8; // history pages that start to come back to the GPU in one plan
    std::int32_t backup_pages_per_step = 0; // imported pages backed up in one plan before a reclaim asks; 0: deferred
    std::int32_t departing_plans = 0; // for so many plans a reclaimed page that is read stays readable: rows selected meanwhile go to the hot cache from there; 0: it leaves at once, and they are missed
    std::int64_t metadata_bytes = 0; // of page maps and hot indexes; 0: 1.6 % of the pool, or what one request of max_positions needs
    std::int64_t max_positions = 0;  // longest request; 0: what both tiers can hold, at most 2^20
    std::span<std::byte> pool_memory = {}, host_memory = {}, table_memory = {}; // lent; empty: made
};

/// What a configuration allocates, in bytes.
struct memory_needed {
    std::int64_t pool = 0, host = 0, tables = 0;
    std::int64_t boundary = 0; // state of unfinished rows
    std::int64_t staging = 0; // of pool: rows of unions larger than the hot cache, equation (11) less what fits into it
    friend bool operator==(const memory_needed&, const memory_needed&) = default;
};

/// Not thread-safe: one thread at a time. Rounds, one after another, run in the stream that is passed;
/// admission, import and advance are host calls between rounds and never wait.
template <class Backend = host_backend, class Policies = default_policies>
class hierarchy {
public:
    using backend = Backend;
    using policies = Policies;
    using stream = typename Backend::stream;

    /// Throws invalid_argument or out_of_capacity before anything is allocated.
    explicit hierarchy(const hierarchy_config& config);
    static memory_needed bytes_needed(const hierarchy_config& config);

    // ---- admission and a request's life: see ledger.hpp for each call's contract
    fit fits(const demand& wanted) const { return ledger_.fits(wanted); }
    std::optional<slot_id> try_admit(const demand& wanted) { return ledger_.try_admit(wanted); }
    bool try_extend(slot_id slot, std::int64_t positions) { return ledger_.try_extend(slot, positions); }
    std::span<const gpu_page> import_pages(slot_id slot, std::int32_t first, std::int32_t n) { return ledger_.import_pages(slot, first, n); }
    void landed(slot_id slot, std::int32_t first, std::int32_t n) { ledger_.landed(slot, first, n); }
    void finish_import(slot_id slot) { ledger_.finish_import(slot); }
    void finish(slot_id slot) { ledger_.finish(slot); }
    std::int32_t reclaim(std::int64_t pages) { return ledger_.reclaim(pages); }
    bool park(slot_id slot) { return ledger_.park(slot); }
    fit fits_resume(slot_id slot) const { return ledger_.fits_resume(slot); }
    bool try_resume(slot_id slot) { return ledger_.try_resume(slot); }
    bool running(slot_id slot) const { return ledger_.running(slot); }
    bool importing(slot_id slot) const { return ledger_.importing(slot); }
    bool parked(slot_id slot) const { return ledger_.parked(slot); }
    bool settled(slot_id slot) const { return ledger_.settled(slot); }
    std::int32_t shared_positions(slot_id slot) const { return ledger_.shared_positions(slot); }
    std::optional<prefix_id> keep(slot_id slot, std::int64_t positions) { return ledger_.keep(slot, positions); }
    std::int64_t kept_positions(prefix_id prefix) const { return ledger_.kept_positions(prefix); }
    void drop(prefix_id prefix) { ledger_.drop(prefix); }
    std::optional<std::vector<gpu_page>> lease(std::int32_t pages) { return ledger_.lease(pages); }
    void give_back(std::span<const gpu_page> pages) { ledger_.give_back(pages); }
    void reset() { ledger_.reset(); }
    /// GPU pages that a request takes at admission, before any hierarchy exists. Throws as bytes_needed.
    static std::int32_t required_pages(const hierarchy_config& config, const demand& wanted);

    /// Tickets completed since the last call, failure_of() those of copies that failed. An engine of several ranks agrees on a set first.
    std::span<const ticket> completed() { return executor_.completed(); }
    /// Decides and enqueues the edits and copies that are due. Returns the plan; its `stalled` slots
    /// have not all of their next positions mapped, its `failed` requests have ended. Frontiers are those of settled positions,
    /// where a commit left some unsettled or the draft pass is behind: the lowest of the passes. Throws as ledger::advance.
    const step_plan& advance(stream, std::span<const ticket> completed, std::span<const frontier_report> frontiers);

    // ---- a round
    /// Locations of the new positions; the model writes its rows there. The arrays live until the next append.
    round_ref append(stream s, const batch_ref& batch) { return path_.append(s, batch); }
    /// Locations of the selected rows; they hold until the next resolve, release or commit. Throws invalid_argument where
    /// k or a stride is out of range.
    void resolve(stream s, const round_ref& round, const announcement_shape& said, const selection_ref& selection, const locations_ref& out);
    /// Ends the locations of the last resolve early, so that its staged rows are promoted beside other work. Never needed.
    void release(stream s, const round_ref& round) { path_.release(s, round); }
    /// accepted: [n_requests] A; null: all of K_r. The last `unsettled` positions of the pass may still be rewritten and are
    /// backed up by a later commit. of: the pass whose groups' rows become history; a drafter with full history
    /// rewrites its rows of the round after the target's commit, and then commits the same round in its own pass.
    /// Throws invalid_argument where unsettled exceeds max_unsettled, or no group belongs to the pass.
    void commit(stream s, const round_ref& round, const std::int32_t* accepted = nullptr, std::int32_t unsettled = 0, pass of = pass::target);

    /// Rows [first, last) of the source that this layer writes, one after another in `out`, each row_bytes long with its runs one after
    /// another: for prefill attention over earlier history, wherever that lies. In stream order behind the last plan; `out` is memory
    /// that the backend writes. A row that is nowhere is left as it is. Throws invalid_argument where the range or `out` is too short.
    void gather(stream s, int layer, slot_id slot, std::int64_t first, std::int64_t last, std::span<std::byte> out);
    std::vector<gpu_page> page_table(slot_id slot) const { return ledger_.page_table(slot); }
    void page_table(std::span<const slot_id> slots, std::int32_t n_pages, std::span<std::int32_t> out) const { ledger_.page_table(slots, n_pages, out); }

    // ---- addresses
    /// Rows that this layer reads: its own source, or the one whose selection it reuses.
    source_view view(int layer) const;
    /// One run of a row of the source that this layer writes, at a location.
    std::byte* row(int layer, location at, int run = 0) const;
    /// Where this layer's source keeps the state of a slot's positions whose row is not finished; base null: it keeps none.
    boundary_ring_ref boundary(int layer) const;
    location location_of(int layer, gpu_page page, std::int32_t position_in_page) const;
    /// Index block b is at index_base() + b · layout().index().pitch_bytes.
    std::byte* index_base() const { return slab_.data(); }
    /// [pages] index block of each page of positions of the i-th source with index keys, in device memory,
    /// filled by the plan that gave them. Another address after the plan that follows try_extend.
    const std::int32_t* index_table(slot_id slot, int i) const { return ledger_.index_table(slot, i, step().tables.region); }
    /// n of a slot as the device has it. Waits for the device: for tests and tools.
    std::int32_t frontier(slot_id slot, pass of = pass::target) const { return path_.read(&step().tables.frontier(slot.index, of)); }
    /// Positions of a slot that are settled in every pass: what advance is to be told. Waits as frontier().
    std::int32_t settled_positions(slot_id slot) const;

    const model_shape& shape() const { return layout_.shape(); }
    const page_layout& layout() const { return layout_; }
    const class ledger& ledger() const { return ledger_; }
    typename Backend::executor& executor() { return executor_; }
    /// What the step path has counted; on CUDA as of the last commit that is done. Never waits.
    decltype(auto) counts() const { return path_.counts(); }
    void reset_counts() { path_.reset_counts(); }
    /// What kernels and host functions of the step path work on.
    const step_ref& step() const { return path_.step(); }
    const slot_tables_ref& tables() const { return step().tables; }
    const tiers_ref& tiers() const { return step().tiers; }

private:
    struct plan_of_memory {
        page_layout layout;
        slot_table_layout tables;
        boundary_layout boundary;
        std::int32_t host_pages = 0;
    };
    static plan_of_memory measure(const hierarchy_config& config);
    static memory_needed needed(const plan_of_memory& plan);
    static ledger_config config_of(const hierarchy_config& config, const plan_of_memory& plan) {
        const auto unsettled_steps = ceil_div(config.max_unsettled, std::max(config.k_max, 1));
        return {plan.host_pages, config.steps_ahead + unsettled_steps, config.tail_pages, config.reserve_pages, config.refill_pages_per_step, config.backup_pages_per_step, config.departing_plans};
    }
    hierarchy(const hierarchy_config& config, plan_of_memory plan);

    page_layout layout_;
    slot_table_layout table_layout_;
    boundary_layout boundary_layout_;
    class ledger ledger_;
    buffer<typename Backend::device_memory> slab_, table_memory_, boundary_;
    buffer<typename Backend::host_memory> host_;
    typename Backend::executor executor_;
    typename Backend::template step_path<Policies> path_;
    std::vector<int> read_lane_; // [layers] lane that the layer reads, -1: none
    std::int32_t max_unsettled_ = 0;
};

} // namespace dhisparse

#include <dhisparse/hierarchy_impl.hpp>
