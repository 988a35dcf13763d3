// A serving loop over dhisparse: continuous batching, chunked prefill, speculative rounds of a width chosen
// for each request, one step ahead of the device. loop_impl.hpp has the functions, step() first.
#pragma once

#include "prefix_cache.hpp"
#include "request.hpp"

#include <dhisparse/admission/fifo.hpp>
#include <dhisparse/hierarchy.hpp>

#include <deque>
#include <functional>
#include <map>
#include <span>
#include <vector>

namespace engine {

struct loop_config {
    int k_max = 1;          // K of a round, at most; 1: plain decoding
    int draft_window = 0;   // positions that the drafter must have seen before it may propose
    int chunk_pages = 4;    // prompt that is prefilled in one step, over all requests
    int kept_prefixes = 8;
};

/// What a chunk of a prompt is for the model.
struct prefill_chunk {
    dh::slot_id slot;
    std::int64_t first = 0;              // position of tokens[0]; all positions before it are in either tier
    std::span<const std::uint8_t> tokens;
    std::span<const dh::gpu_page> pages; // of positions from first / p · p on
    bool last = false;                   // the prompt ends with it: a token follows
};

/// Model: target, drafter and verifier are callbacks. All of them enqueue work in stream() and wait for nothing; what they
/// give to the host is in a `results`, which they write on the device:
///   results {int n_tokens(slot); const std::uint8_t* tokens(slot);}    one for each step in flight
///   open(slot, first)                    another request has the slot; the positions before `first` are a prefix's
///   reopen(slot)                         its tables have been made anew, after a park
///   prefill(kv, chunk, results)          computes rows and keys, writes them; behind the last chunk the first token
///   draft(round)                         proposals behind each request's last token
///   forward(round, resolve)              target pass; calls resolve(announcement, selection, locations) for each announcement
///   verify(round, results)               accepted() counts, the tokens that they give, and the next anchors
///   launched(results), wait(results)     the step's end in the stream; the host waits for it
/// widths: false where every request of a batch has one query.
template <class Kv, class Model>
class serving_loop {
public:
    using results = typename Model::results;
    struct hooks {
        std::function<void(std::size_t request, std::span<const std::uint8_t> tokens)> tokens = {}; // as they come
        std::function<void(const serving_loop&)> stepped = {};
    };

    serving_loop(const loop_config& config, Kv& kv, Model& model, int n_slots, hooks told = {});

    /// Serves the requests, in order of their arrival. Returns one reply each.
    std::vector<reply> run(std::span<const request> requests);

    const loop_counts& counts() const { return counts_; }
    const Kv& kv() const { return kv_; }
    std::int64_t now() const { return now_; }
    std::size_t n_waiting() const { return waiting_.size() + queue_.n_waiting(); }
    std::size_t n_parked() const { return queue_.n_parked(); }
    std::size_t n_ended() const { return n_ended_; }
    /// Requests that have a slot and are not parked.
    std::size_t n_running() const { return live_.size() - queue_.n_parked(); }

private:
    using queue = dh::admission::fifo<Kv>;
    struct session {
        const request* asked = nullptr;
        reply* told = nullptr;
        std::size_t number = 0;   // in the order of arrival
        dh::demand wanted = {};
        typename queue::number ticket = 0; // in the queue; 0: not there yet
        dh::slot_id slot = {};    // index -1: none
        std::int64_t imported = 0; // positions of the prompt that are there
        bool landed = false, prefilled = false, kept = false;
        std::int32_t frontier = 0; // as the host knows it
        std::int32_t drafts_from = 0; // frontier from which on the drafter has its window
        int unread = 0;           // tokens that the steps in flight give at most
        int k = 1;                // K of its next round
        std::int64_t since = 0;   // step in which it was admitted or resumed: its tables come with the next plan
        bytes output = {};        // of this life; restarted requests begin anew
    };
    struct launched_row {
        session* of = nullptr;
        dh::slot_id slot;
        int width = 0; // K; 0: the last chunk of a prompt
    };
    /// A step in flight: what was launched, and what it says.
    struct step_record {
        step_record(int n_slots, int k_max) : out(n_slots, k_max), slots(n(n_slots)), widths(n(n_slots)) {}
        static std::size_t n(int slots) { return static_cast<std::size_t>(slots); }
        std::vector<launched_row> rows;
        results out;
        typename Model::template array<std::int32_t> slots, widths; // [slots] of its batch
    };

    void step();
    void take_arrivals();
    void prefill(step_record& now);
    int prefill_chunk_of(session& s, int pages, step_record& now);
    void launch(const dh::step_plan& plan, step_record& now);
    int width_of(const session& s) const;
    void read(step_record& before);
    void take_tokens(const launched_row& from, const results& out);
    void schedule(const dh::step_plan& plan);
    void submit_next();
    void make_room(const dh::step_plan& plan);
    void handle(std::span<const typename queue::event> events);
    void keep_prefixes();
    void end(session& s, ending how);
    void check_progress();

    loop_config config_;
    Kv& kv_;
    Model& model_;
    hooks told_;
    queue queue_;
    prefix_cache<Kv> prefixes_;
    step_record steps_[2]; // the step that is launched, and the one before it
    std::vector<dh::frontier_report> reports_;
    std::deque<session> sessions_;   // all that have arrived
    std::deque<session*> waiting_;   // not in the queue yet, by arrival
    std::vector<session*> live_;     // with a slot, by admission
    std::vector<session*> leaving_;  // that have an abort_step
    std::map<typename queue::number, session*> of_ticket_;
    session* front_ = nullptr;       // waits in the queue and has never been admitted
    std::span<const request> requests_;
    std::vector<const request*> arriving_; // by arrival
    std::size_t n_arrived_ = 0, n_ended_ = 0;
    std::vector<reply> replies_;
    loop_counts counts_;
    std::int64_t now_ = 0;    // the engine's clock: a step
    int idle_steps_ = 0;      // in a row
    bool progress_ = false;   // in this step
};

} // namespace engine

#include "loop_impl.hpp"
