/// What the hierarchy must do, written as maps and vectors: who holds which page of either tier, what is
/// mapped, durable, counted, and which bytes each position has. It predicts every answer that DESIGN.md
/// fixes, and reads only from the plans which page was taken.
#pragma once

#include "reference_cache.hpp"
#include "row_bytes.hpp"
#include "subject.hpp"

#include <deque>
#include <map>
#include <set>
#include <stdexcept>
#include <string>

namespace dhisparse_test {

/// The hierarchy and the model differ.
struct mismatch : std::runtime_error {
    using std::runtime_error::runtime_error;
};

template <class... Parts>
void expect(bool ok, const Parts&... parts) {
    if (!ok) throw mismatch(dh::text(parts...));
}

template <class A, class B, class... Parts>
void expect_equal(const A& got, const B& wanted, const Parts&... parts) {
    if (!(got == static_cast<A>(wanted))) throw mismatch(dh::text(parts..., ": ", got, ", expected ", wanted));
}

struct model_page {
    int gpu = -1, host = -1;
    dh::durability copied = dh::durability::none;
    bool optional = false, landed = false, whole_copy = false;
    bool away = false; // to be unmapped once its copy is done
};

struct model_request {
    int uid = -1;
    dh::slot_id id;
    int prompt = 0, positions = 0;
    bool opened = false, importing = true, decoding = false, ended = false;
    int known = 0;      // frontier that was reported
    int n = 0;          // frontier on the device
    int unsettled = 0;  // positions below it that are not backed up
    int first_tail = 0, mapped_to = 0, quota = 0, held = 0;
    int map_pages = 0, open_pages = 0, first_hosts = 0, first_indexes = 0;
    std::int64_t run = 0, open_run = 0;
    std::vector<token> tokens; // [n] of committed or imported positions
    std::vector<model_page> pages;
    std::vector<int> hot, index;
    std::vector<reference_cache> caches; // [groups]
    int device_positions = 0, device_tail = 0;
    std::vector<int> device_gpu, device_host; // [map_pages] as the step path sees them
    std::vector<int> frontiers;               // committed and not reported yet
};

struct model_options {
    int hot_pages = 0, tail_pages = 0, ahead = 1, reserve = 0, host_pages = 0, slots = 1;
};

class reference_model {
public:
    reference_model(subject& it, const model_options& options);

    // ---- the ledger's calls
    dh::fit fits(int positions, int growth) const;
    model_request& admitted(int positions, int growth, dh::slot_id id);
    bool extend(model_request& r, int positions);
    void import_pages(model_request& r, int first, int n, std::span<const dh::gpu_page> given);
    void landed(model_request& r, int page);
    void finish_import(model_request& r);
    void finish(model_request& r);
    void before_advance(const std::vector<dh::ticket>& completed);
    void after_advance(const dh::step_plan& plan, const std::vector<dh::frontier_report>& reports);

    // ---- what must hold
    void check_counts() const;
    void check_tables() const;
    void check_cache(const model_request& r, int g) const;
    void check_rows(model_request& r, random_source& random, int n_samples);
    int durable_positions(const model_request& r) const;

    // ---- state that the driver reads and, for rounds, writes
    std::map<int, model_request> requests; // by uid; live ones and those not let go of
    std::vector<int> on_device;            // [slots] uid, -1: none
    dh::tally tally;
    std::vector<std::vector<row_window>> windows; // [groups][lanes]

    int p() const { return it_.layout().shape().page_positions; }
    int m(int g) const { return it_.layout().group(g).positions_per_row; }
    int rows_per_page(int g) const { return p() / m(g); }
    bool partial(int g) const { return it_.layout().group(g).partial_readable != 0; }
    int n_groups() const { return it_.layout().n_groups(); }
    int visible(int g, int positions) const { return (positions + (partial(g) ? m(g) - 1 : 0)) / m(g); }
    int pages_of(int positions) const { return (positions + p() - 1) / p(); }
    dh::location at(int g, int page, int row) const { return it_.layout().group(g).at(dh::gpu_page{page}, static_cast<std::uint32_t>(row)); }
    /// The i-th row that a slot has staged.
    dh::location staged_at(int g, int slot, int i) const { return it_.layout().staging()[g].at(it_.layout().group(g).rows_per_page, slot, i); }
    /// Compares a row's bytes at a location, all lanes, as far as tokens [m] are known.
    void expect_row(int g, dh::location where, std::span<const token> tokens, const std::string& what);
    void expect_host_row(int g, int page, int row, std::span<const token> tokens, const std::string& what);
    std::byte* key_at(const model_request& r, int i, int t) const;
    bool has_key(int i, int t) const { return (t + 1) % key_positions_[static_cast<std::size_t>(i)] == 0; }
    std::int64_t key_bytes(int i) const { return key_bytes_[static_cast<std::size_t>(i)]; }
    int n_keys() const { return static_cast<int>(key_bytes_.size()); }
    std::string name(const model_request& r) const { return dh::text("request ", r.uid, " (slot ", r.id.index, ")"); }
    model_request* live_in(int slot);

private:
    struct need {
        int pages = 0, host_pages = 0;
        std::int64_t run = 0;
    };
    struct copy_in_flight {
        int uid = -1, page = -1, gpu = -1, host = -1;
    };
    struct let_go_of {
        std::vector<int> gpu, host, tails; // tails: uids
    };
    need need_of(int positions, int growth) const;
    int quota_of(int positions, int growth) const;
    int first_positions(int known, int positions) const { return std::min(known + options_.ahead, positions); }
    int index_pages_of(int position_pages) const;
    int map_pages_of(int positions) const { return std::max(1, (pages_of(std::max(positions, 1)) + 7) / 8) * 8; }
    dh::page_counts counts() const;
    int n_of(dh::page_class of) const;
    int n_held_gpu() const { return static_cast<int>(std::count_if(gpu_.begin(), gpu_.end(), [](int h) { return h > 0; })) + unknown_gpu_; }
    int n_held_host() const { return static_cast<int>(std::count_if(host_.begin(), host_.end(), [](int h) { return h > 0; })) + unknown_host_; }
    std::optional<std::int64_t> free_run(std::int64_t bytes) const;
    void mark_run(std::int64_t offset, std::int64_t bytes, bool taken);
    bool gives_import_page(model_request& r, int page, dh::gpu_page given);
    void take_gpu(int page, dh::page_class as, const std::string& who);
    void take_host(int page, const std::string& who);
    void poison(int page);
    void poison_host(int page);
    // ---- one plan, in this order
    void read_plan(const dh::step_plan& plan);
    void take_promised_ids(const dh::step_plan& plan);
    void complete();
    void settle(const dh::step_plan& plan, const std::vector<dh::frontier_report>& reports);
    void settle_pages(model_request& r);
    void keep_or_unmap(model_request& r, int page);
    void let_ended_go();
    template <class Owners>
    void grow(const dh::step_plan& plan, Owners owners);
    void give_way(const dh::step_plan& plan);
    int n_unlanded() const;
    void apply(const dh::step_plan& plan);
    void check_plan(const dh::step_plan& plan);
    std::byte* host_row(int g, int page, int row) const;

    subject& it_;
    model_options options_;
    std::vector<int> gpu_, host_; // [pages] holders
    std::vector<dh::page_class> classes_; // [gpu pages] where held
    int unknown_gpu_ = 0, unknown_host_ = 0; // taken by admissions whose plan has not come
    std::vector<char> region_;    // [granules of 16 bytes] taken
    std::vector<std::deque<int>> to_open_; // [slots]
    std::set<std::pair<int, std::uint32_t>> ids_;
    std::map<dh::ticket, copy_in_flight> copies_;
    std::map<dh::ticket, let_go_of> fences_;
    std::set<dh::ticket> completed_; // of this advance
    std::vector<int> ended_;       // uids since the last plan
    let_go_of leaving_;            // by the plan that is being read
    std::vector<std::pair<int, int>> posted_; // (uid, page) of copies that the plan must have, in order
    std::map<std::pair<int, int>, int> host_maps_; // of the plan, (uid, page), those of admissions left out
    std::set<std::pair<int, int>> unmaps_;
    std::vector<int> owners_;      // [edits] uid
    std::vector<int> stalled_;     // uids, by the last plan
    std::vector<char> promised_;   // [edits] its page was taken by the admission
    std::vector<std::int64_t> key_bytes_;
    std::vector<int> key_positions_;
    std::int64_t host_page_bytes_ = 0;
    std::vector<std::int64_t> host_offsets_, host_row_bytes_; // [groups]
    std::vector<std::byte> row_, wanted_;
};

} // namespace dhisparse_test

#include "reference_model_impl.hpp"
