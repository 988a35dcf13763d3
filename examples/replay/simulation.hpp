// A trace through the real ledger, its page pools and maps, on a simulated clock: the engine's part.
#pragma once

#include "cost.hpp"
#include "link.hpp"
#include "maps.hpp"
#include "outcome.hpp"
#include "prefixes.hpp"
#include "setup.hpp"
#include "store.hpp"
#include "trace.hpp"

#include <dhisparse/admission/fifo.hpp>
#include <dhisparse/policy/width/fixed.hpp>
#include <dhisparse/policy/width/online.hpp>
#include <dhisparse/policy/width/scheduled.hpp>

#include <functional>
#include <optional>
#include <unordered_map>
#include <variant>
#include <vector>

namespace replay {

class simulation {
public:
    /// Throws as the ledger, where the sizes can't serve any request.
    simulation(const setup& with, trace_source& trace);
    /// To the end. progress is called now and then with the share that is done. Throws where nothing can go on.
    outcome run(const std::function<void(double)>& progress);
    const cost_model& cost() const { return cost_; }

private:
    using queue = dhisparse::admission::fifo<dhisparse::ledger>;
    struct session {
        arrival from;
        dhisparse::slot_id slot;
        double started_s = -1;       // first step; -1: none yet
        std::int64_t generated = 0;  // tokens
        std::int32_t landed = 0;     // pages of history that are there
        bool imported = false, waited = false, ran = false, parked = false;
        std::vector<content> contents; // of its pages
        std::optional<prefixes::entry> prefix;
        std::int64_t positions() const { return from.input + generated; }
    };

    bool done() const { return !next_ && sessions_.empty(); }
    void round();
    void read_next();
    void admit_arrivals();
    bool may_submit() const;
    void submit();
    void handle(std::span<const queue::event> events);
    void begin(session& s);
    void restart(session& s);
    void import_history();
    void import_some(session& s);
    std::int64_t lacking_pages() const;
    std::int32_t pages_of(std::int64_t positions) const {
        const auto p = layout_.shape().page_positions;
        return static_cast<std::int32_t>((positions + p - 1) / p);
    }
    void make_room();
    void leave_at_once();
    void start_runs();
    void step_or_wait();
    std::vector<session*> taking_part();
    int next_width(std::size_t sessions);
    step_load load_of(const std::vector<session*>& now, int k);
    void step(const std::vector<session*>& now);
    void generate(session& s, int k);
    void append(session& s, std::int64_t n);
    void finish(queue::number request);
    void check_rows(const session& s);
    void check_budget();
    void take_sample();
    void pass(double seconds);
    [[noreturn]] void stuck() const;

    setup with_;
    trace_source* trace_;
    dhisparse::page_layout layout_;
    dhisparse::slot_table_layout tables_;
    dhisparse::ledger ledger_;
    queue queue_;
    cost_model cost_;
    store store_;
    maps maps_;
    link link_;
    prefixes prefixes_;
    std::variant<dhisparse::fixed, dhisparse::scheduled, dhisparse::online> width_;
    random_numbers random_;
    outcome out_;

    double clock_s_ = 0;
    std::optional<arrival> next_;
    std::unordered_map<queue::number, session> sessions_; // in the queue or admitted
    std::vector<queue::number> importing_, running_;       // by admission
    std::vector<dhisparse::ticket> completed_;
    std::vector<dhisparse::frontier_report> reports_;
    std::vector<queue::number> ended_;
    std::vector<std::int32_t> accepted_; // proposals of each session in the last round
    std::vector<char> stalled_; // [slots] could not grow in the last plan
    bool active_ = false; // something happened that the next plan goes on with
    std::int32_t optional_before_ = 0;
};

} // namespace replay
