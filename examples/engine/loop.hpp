// A serving loop over dhisparse: continuous batching, chunked prefill, speculative rounds of a width chosen for each
// request, prefixes, parks and aborts, one step ahead of the device. step() is what happens in each step.
#pragma once

#include "prefix_cache.hpp"
#include "session.hpp"

#include <dhisparse/admission/fifo.hpp>
#include <dhisparse/hierarchy.hpp>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <string_view>
#include <vector>

namespace engine {

struct loop_config {
    int k_max = 1;          // K of a round, at most; 1: plain decoding
    int draft_window = 0;   // positions that the drafter must have seen before it may propose
    int chunk_pages = 4;    // prompt that is prefilled in one step, over all requests
    int kept_prefixes = 8;
};

/// Model: target, drafter and verifier are callbacks, which enqueue work in stream() and wait for nothing.
///   open(slot, first)         another request has the slot; the positions before `first` are a prefix's
///   reopen(slot)              its tables have been made anew, after a park
///   prefill(kv, chunk, out)   computes rows and keys, writes them; behind the last chunk the first token
///   enqueue(out, round)       runs round(), or launches the graph that it was captured to for this `out`
///   draft(round)              proposals behind each request's last token
///   forward(round, resolve)   target pass; calls resolve(announcement, selection, locations) for each announcement
///   verify(round, out)        accepted() counts, the tokens that they give, and the next anchors
///   launched(out), wait(out)  the step's end in the stream; the host waits for it. drain(): for copies too
/// results: what the device tells the host, one for each step in flight: tokens(slot), those of a round or of a prompt's end.
template <class Kv, class Model>
class serving_loop {
public:
    struct hooks {
        std::function<void(std::size_t request, std::span<const std::uint8_t> tokens)> tokens = {}; // as they come
        std::function<void(const serving_loop&)> stepped = {};
    };

    serving_loop(const loop_config& config, Kv& kv, Model& model, int n_slots, hooks told)
        : config_(config), kv_(kv), model_(model), told_(std::move(told)), queue_(kv),
          prefixes_(kv, kv.shape().page_positions, static_cast<std::size_t>(config.kept_prefixes)),
          steps_{{n_slots, config.k_max}, {n_slots, config.k_max}} {}

    /// Serves the requests, in order of their arrival. Returns one reply each.
    std::vector<reply> run(std::span<const request> requests) {
        requests_ = requests;
        replies_.assign(requests.size(), {});
        for (const auto& r : requests) arriving_.push_back(&r);
        std::ranges::stable_sort(arriving_, {}, [](const request* r) { return r->arrival_step; });
        while (n_ended_ < requests.size()) step();
        while (prefixes_.drop_oldest(dh::prefix_id::none)) {}
        for (int i = 0; i < 4; ++i) { // the last pages come back
            model_.drain();
            kv_.advance(model_.stream(), kv_.completed(), {});
        }
        return std::move(replies_);
    }

    const loop_counts& counts() const { return counts_; }
    std::int64_t now() const { return now_; } // step, from 0; those without anything to do are left out
    std::size_t n_waiting() const { return waiting_.size() + queue_.n_waiting(); }
    std::size_t n_parked() const { return queue_.n_parked(); }
    std::size_t n_ended() const { return n_ended_; }
    /// Requests that have a slot and are not parked.
    std::size_t n_running() const { return live_.size() - queue_.n_parked(); }

private:
    using queue = dh::admission::fifo<Kv>;
    using record = step_record<Model>;

    /// The host launches this step before it has read the one before it: tokens, accepted counts and frontiers stay on
    /// the device, and what the host knows is one step old. The hierarchy is configured for that by steps_ahead = 1.
    void step() {
        auto &now = steps_[counts_.steps % 2], &before = steps_[(counts_.steps + 1) % 2];
        progress_ = false;
        take_arrivals();
        const auto& plan = kv_.advance(model_.stream(), kv_.completed(), reports_);
        reports_.clear();
        schedule(plan);
        prefill(now);
        launch(plan, now);
        model_.launched(now.out);
        read(before);
        keep_prefixes();
        check_progress();
        counts_.most_at_once = std::max(counts_.most_at_once, static_cast<std::int64_t>(n_running()));
        if (told_.stepped) told_.stepped(*this);
        ++counts_.steps, ++now_;
    }

    void take_arrivals() {
        if (n_ended_ == sessions_.size()) now_ = std::max(now_, arriving_[n_arrived_]->arrival_step); // nothing to do until then
        for (; n_arrived_ < arriving_.size() && arriving_[n_arrived_]->arrival_step <= now_; ++n_arrived_) {
            const auto number = static_cast<std::size_t>(arriving_[n_arrived_] - requests_.data());
            auto& s = sessions_.emplace_back(session{.asked = &requests_[number], .told = &replies_[number], .number = number});
            s.told->arrived = s.asked->arrival_step;
            waiting_.push_back(&s);
            if (s.asked->abort_step) leaving_.push_back(&s);
        }
        for (auto* s : leaving_)
            if (s->told->how == ending::none && *s->asked->abort_step <= now_) end(*s, ending::aborted);
    }

    /// Who gets a slot, who is parked, who comes back. The order is the engine's own: the front of `waiting_` goes into the
    /// library's queue when that is empty, so that its prefix is looked up as late as may be.
    void schedule(const dh::step_plan& plan) {
        static const dh::step_plan nothing;
        for (const auto& lost : plan.failed) {
            prefixes_.forget(lost.prefix);
            if (front_ && lost.prefix != dh::prefix_id::none && front_->wanted.prefix == lost.prefix) front_->wanted = {front_->wanted.positions, front_->wanted.growth};
        }
        handle(queue_.step(plan));
        while (!waiting_.empty() && queue_.n_waiting() + queue_.n_parked() == 0) {
            submit_next();
            handle(queue_.step(nothing));
        }
        make_room(plan);
    }

    void submit_next() {
        auto& s = *waiting_.front();
        waiting_.pop_front();
        const auto shared = prefixes_.find(s.asked->prompt);
        s.wanted = {std::ssize(s.asked->prompt), s.asked->tokens, shared.prefix, shared.positions};
        const auto ticket = queue_.submit(s.wanted);
        if (!ticket) return end(s, ending::refused);
        s.ticket = *ticket;
        of_ticket_[*ticket] = front_ = &s;
    }

    void handle(std::span<const typename queue::event> events) {
        using kind = typename queue::event::kind;
        for (const auto& event : events) {
            auto& s = *of_ticket_.at(event.request);
            progress_ = true;
            s.since = now_;
            if (event.what == kind::admitted) {
                s.slot = event.slot;
                s.told->shared = kv_.shared_positions(s.slot);
                if (s.told->admitted < 0) s.told->admitted = now_;
                counts_.shared_pages += s.told->shared / kv_.shape().page_positions;
                live_.push_back(&s);
                if (front_ == &s) front_ = nullptr;
            }
            if (event.what == kind::parked) ++counts_.parks;
            if (event.what == kind::resumed) {
                ++counts_.resumes;
                model_.reopen(s.slot);
            }
            if (event.what == kind::restarted) { // it says again what it has said, to nobody
                ++counts_.restarts;
                std::erase(live_, &s);
                s.slot = {};
                s.landed = s.prefilled = s.kept = false;
                s.unread = 0;
                s.output.clear();
            }
            if (event.what == kind::failed) end(s, ending::failed);
        }
    }

    /// Kept prefixes give way where the host tier is short, in the end also the one that the front would share.
    void make_room(const dh::step_plan& plan) {
        const bool front_waits = front_ && std::string_view(kv_.fits(front_->wanted).limit) == "host pages";
        const bool growth_waits = !plan.stalled.empty() && kv_.ledger().free_host_pages() == 0;
        if (!front_waits && !growth_waits && idle_steps_ < 4) return;
        if (prefixes_.drop_oldest(awaited_prefix()) || awaited_prefix() == dh::prefix_id::none) return;
        queue_.cancel(front_->ticket);
        waiting_.push_front(std::exchange(front_, nullptr));
        prefixes_.drop_oldest(dh::prefix_id::none);
    }

    /// That must not be dropped: the queue's front is going to share it.
    dh::prefix_id awaited_prefix() const { return front_ ? front_->wanted.prefix : dh::prefix_id::none; }

    /// Prompts enter page by page, in order of admission, as many pages a step as the configuration says.
    void prefill(record& now) {
        int left = config_.chunk_pages;
        for (auto* s : live_)
            if (left > 0 && s->since < now_ && kv_.importing(s->slot)) left -= prefill_chunk_of(*s, left, now);
    }

    /// Returns the pages that it took: fewer than asked for, or none, where what has landed is on its way to the host tier.
    int prefill_chunk_of(session& s, int pages, record& now) {
        const auto p = kv_.shape().page_positions;
        const auto n = std::ssize(s.asked->prompt);
        if (!s.landed) s.imported = kv_.shared_positions(s.slot); // a park may have taken what was shared of a page
        const auto page = static_cast<std::int32_t>(s.imported / p);
        const auto given = kv_.import_pages(s.slot, page, static_cast<std::int32_t>(std::min<std::int64_t>(pages, (n + p - 1) / p - page)));
        if (given.empty()) return 0;
        const auto n_pages = static_cast<std::int32_t>(given.size());
        const auto end = std::min<std::int64_t>(n, std::int64_t{page + n_pages} * p);
        if (!s.landed) {
            model_.open(s.slot, static_cast<std::int32_t>(s.imported));
            s.drafts_from = s.imported == 0 ? 0 : static_cast<std::int32_t>(s.imported) + config_.draft_window;
        }
        const auto tokens = std::span(s.asked->prompt).subspan(static_cast<std::size_t>(s.imported), static_cast<std::size_t>(end - s.imported));
        model_.prefill(kv_, {s.slot, s.imported, tokens, given, end == n}, now.out);
        kv_.landed(s.slot, page, n_pages);
        counts_.prefilled += end - s.imported;
        s.imported = end;
        s.landed = progress_ = true;
        if (end < n) return n_pages;
        kv_.finish_import(s.slot);
        s.prefilled = true;
        s.frontier = static_cast<std::int32_t>(n);
        s.unread = 1;
        s.k = config_.k_max;
        now.rows.push_back({&s, s.slot, 0});
        return n_pages;
    }

    /// A round of every request that runs: row r of the batch is slot r, so that the batch's shape never changes.
    void launch(const dh::step_plan& plan, record& now) {
        std::ranges::fill(now.slots, -1);
        std::ranges::fill(now.widths, 0);
        for (auto* s : live_) {
            const bool stalled = std::ranges::find(plan.stalled, s->slot, &dh::stall::slot) != plan.stalled.end();
            const int width = s->prefilled && kv_.running(s->slot) && !stalled ? width_of(*s) : 0;
            if (width == 0) continue;
            const auto r = static_cast<std::size_t>(s->slot.index);
            now.slots[r] = s->slot.index;
            now.widths[r] = width;
            now.rows.push_back({s, s->slot, width});
            s->unread += width;
        }
        if (std::ranges::count(now.slots, -1) == std::ssize(now.slots)) return;
        const auto stream = model_.stream();
        model_.enqueue(now.out, [&] {
            const auto round = kv_.append(stream, {now.slots.data(), now.widths.data(), static_cast<std::int32_t>(now.slots.size())});
            model_.draft(round);
            model_.forward(round, [&](const dh::announcement_shape& said, const dh::selection_ref& selection, const dh::locations_ref& out) {
                kv_.resolve(stream, round, said, selection, out);
            });
            model_.verify(round, now.out);
            kv_.commit(stream, round, model_.accepted());
        });
        ++counts_.rounds;
        progress_ = true;
    }

    /// K of a request's next round: one more than was accepted last time, never more than it may still use, whatever the step
    /// in flight accepts. 0: it may have all its tokens already.
    int width_of(const session& s) const {
        const int left = s.asked->tokens - static_cast<int>(s.output.size()) - s.unread;
        return std::clamp(s.frontier >= s.drafts_from ? s.k : 1, 0, std::max(left, 0));
    }

    /// What the step before this one has produced.
    void read(record& before) {
        model_.wait(before.out);
        for (const auto& from : before.rows)
            if (from.of->slot == from.slot) take_tokens(from, before.out); // else it has ended since, or begun anew
        before.rows.clear();
    }

    void take_tokens(const typename record::row& from, const typename Model::results& out) {
        auto& s = *from.of;
        const std::span<const std::uint8_t> tokens = out.tokens(s.slot.index);
        const auto n = static_cast<int>(tokens.size());
        s.unread -= std::max(from.width, 1);
        if (from.width > 0) {
            s.frontier += n; // n = A + 1
            reports_.push_back({s.slot, s.frontier});
            counts_.proposed += from.width - 1;
            counts_.accepted += n - 1;
            s.k = std::min(config_.k_max, n + 1);
        }
        s.output.insert(s.output.end(), tokens.begin(), tokens.end());
        auto& told = s.told->output;
        if (s.output.size() > told.size()) {
            const auto fresh = std::span<const std::uint8_t>(s.output).subspan(told.size());
            if (told.empty()) s.told->first_token = now_;
            told.insert(told.end(), fresh.begin(), fresh.end());
            counts_.tokens += static_cast<std::int64_t>(fresh.size());
            if (told_.tokens) told_.tokens(s.number, fresh);
        }
        if (static_cast<int>(s.output.size()) >= s.asked->tokens) return end(s, ending::finished);
        if (s.asked->abort_after && static_cast<int>(told.size()) >= *s.asked->abort_after) end(s, ending::aborted);
    }

    /// What requests begin with is kept for later ones, as soon as it is whole in the host tier or may stay where it is.
    void keep_prefixes() {
        for (auto* s : live_) {
            if (s->kept || !s->prefilled || !kv_.running(s->slot)) continue;
            const auto n = static_cast<std::size_t>(s->asked->prefix.value_or(static_cast<int>(s->asked->prompt.size())));
            s->kept = prefixes_.keep(s->slot, std::span(s->asked->prompt).first(n), awaited_prefix());
        }
    }

    /// In any state: waiting, importing, running with a step in flight, parked.
    void end(session& s, ending how) {
        if (how != ending::failed && s.slot.index >= 0) queue_.finish(s.slot);
        else if (s.ticket != 0) queue_.cancel(s.ticket);
        std::erase(waiting_, &s);
        std::erase(live_, &s);
        if (front_ == &s) front_ = nullptr;
        s.slot = {};
        s.told->how = how;
        s.told->ended = now_;
        s.output = {};
        ++n_ended_;
        progress_ = true;
    }

    void check_progress() {
        idle_steps_ = progress_ ? 0 : idle_steps_ + 1;
        dh::require<dh::error>(idle_steps_ < 1000, "nothing goes on: ", n_running(), " requests run, ", n_waiting(), " wait, ", n_parked(), " are parked");
    }

    loop_config config_;
    Kv& kv_;
    Model& model_;
    hooks told_;
    queue queue_;
    prefix_cache<Kv> prefixes_;
    record steps_[2]; // the step that is launched, and the one before it
    std::vector<dh::frontier_report> reports_;
    std::span<const request> requests_;
    std::vector<const request*> arriving_; // by arrival
    std::vector<reply> replies_;
    std::deque<session> sessions_;   // all that have arrived
    std::deque<session*> waiting_;   // not in the queue yet, by arrival
    std::vector<session*> live_;     // with a slot, by admission
    std::vector<session*> leaving_;  // that have an abort_step
    session* front_ = nullptr;       // waits in the queue and has never been admitted
    std::map<std::uint64_t, session*> of_ticket_;
    std::size_t n_arrived_ = 0, n_ended_ = 0;
    loop_counts counts_;
    std::int64_t now_ = 0;  // the engine's clock: a step
    int idle_steps_ = 0;    // in a row
    bool progress_ = false; // in this step
};

} // namespace engine
