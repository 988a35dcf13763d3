/// A queue of requests on top of a ledger: arrival order, nobody starves, nobody waits for ever.
#pragma once

#include <dhisparse/ledger/ledger.hpp>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

namespace dhisparse::admission {

/// Kv: a ledger or a hierarchy. The one at the front waits for room and takes it; those behind it wait
/// for it, however small. Parked requests are ahead of all that have not been admitted. The engine calls
/// step() after every advance, and ends requests through finish(). Without a host tier nothing can be
/// parked: use growth policy `reserved` there, else those that can't grow are restarted.
template <class Kv>
class fifo {
public:
    /// Names a request from submit() on, by arrival.
    using number = std::uint64_t;
    struct event {
        enum class kind : std::uint8_t {
            admitted,  // import its history into the slot
            parked,    // leave it out of rounds until it is resumed
            resumed,   // it goes on in the same slot once kv.running(slot), or kv.importing(slot)
            restarted, // its slot is gone, and it waits in its old place, without its prefix: it could neither grow nor be parked
            failed,    // its slot is gone, by a copy that failed
        };
        kind what = kind::admitted;
        number request = 0;
        slot_id slot;
        friend bool operator==(const event&, const event&) = default;
    };

    explicit fifo(Kv& kv) : kv_(&kv) {}
    /// The same queue over a copy of its ledger.
    fifo(const fifo& other, Kv& kv) : fifo(other) { kv_ = &kv; }

    /// Queues a request; none where its reserved length can never fit, so that it holds nobody up.
    /// Throws as fits. A prefix that it names must be kept until it is admitted.
    std::optional<number> submit(const demand& wanted) {
        if (kv_->fits({wanted.positions + wanted.growth, 0}).answer == verdict::never || kv_->fits(wanted).answer == verdict::never) return std::nullopt;
        waiting_.push_back({++last_, wanted, {}});
        return last_;
    }
    /// Takes a request that waits out of the queue; false where it doesn't wait.
    bool cancel(number request) {
        const auto at = std::find_if(waiting_.begin(), waiting_.end(), [&](const entry& e) { return e.request == request; });
        if (at == waiting_.end()) return false;
        if (at == waiting_.begin() && parked_.empty()) kv_->reclaim(0); // nobody waits for those pages now
        waiting_.erase(at);
        return true;
    }
    /// Ends an admitted request, parked or not.
    void finish(slot_id slot) {
        kv_->finish(slot);
        forget(slot);
    }
    std::size_t n_waiting() const { return waiting_.size(); }
    std::size_t n_parked() const { return parked_.size(); }

    /// After the plan: makes room where slots can't grow, then lets in whom there is room for. Valid until the next call.
    std::span<const event> step(const step_plan& plan) {
        events_.clear();
        note_failures(plan);
        make_room(plan);
        if (plan.stalled.empty())
            while (resume_front()) {}
        if (parked_.empty())
            while (admit_front()) {}
        return events_;
    }

private:
    struct entry {
        number request = 0;
        demand wanted;
        slot_id slot;
    };
    static auto is(slot_id slot) {
        return [slot](const entry& e) { return e.slot == slot; };
    }
    void forget(slot_id slot) {
        std::erase_if(admitted_, is(slot));
        std::erase_if(parked_, is(slot));
    }
    /// Where a request belongs by arrival.
    template <class List>
    static void insert(List& list, const entry& e) {
        list.insert(std::find_if(list.begin(), list.end(), [&](const entry& other) { return other.request > e.request; }), e);
    }

    void note_failures(const step_plan& plan) {
        for (const auto& lost : plan.failed) {
            if (lost.prefix != prefix_id::none)
                for (auto& e : waiting_)
                    if (e.wanted.prefix == lost.prefix) e.wanted.prefix = prefix_id::none, e.wanted.shared = 0;
            for (const auto* list : {&admitted_, &parked_})
                for (const auto& e : *list)
                    if (e.slot == lost.slot) events_.push_back({event::kind::failed, e.request, e.slot});
            forget(lost.slot);
        }
    }

    void make_room(const step_plan& plan) {
        const bool lacks = std::any_of(plan.stalled.begin(), plan.stalled.end(), [](const stall& s) { return s.waits == stall::until::room_comes; });
        if (!lacks) return;
        const auto named = std::find_if(admitted_.begin(), admitted_.end(), is(plan.to_park));
        if (named != admitted_.end() && kv_->park(plan.to_park)) {
            events_.push_back({event::kind::parked, named->request, named->slot});
            insert(parked_, *named);
            admitted_.erase(named);
        } else if (admitted_.size() > 1) {
            restart(admitted_.back());
        } else if (!parked_.empty()) {
            restart(parked_.back()); // it holds host pages that the only one left needs
        }
    }
    void restart(const entry& which) {
        const entry e = which;
        kv_->finish(e.slot);
        forget(e.slot);
        events_.push_back({event::kind::restarted, e.request, e.slot});
        insert(waiting_, {e.request, {e.wanted.positions, e.wanted.growth}, {}}); // the prefix may have been dropped since
    }

    /// Asks for the pages that the front lacks.
    bool fits_now(const fit& found) {
        if (found.answer == verdict::after_reclaiming) kv_->reclaim(found.pages);
        return found.answer == verdict::now;
    }
    bool resume_front() {
        if (parked_.empty() || !fits_now(kv_->fits_resume(parked_.front().slot)) || !kv_->try_resume(parked_.front().slot)) return false;
        events_.push_back({event::kind::resumed, parked_.front().request, parked_.front().slot});
        insert(admitted_, parked_.front());
        parked_.erase(parked_.begin());
        return true;
    }
    bool admit_front() {
        if (waiting_.empty() || !fits_now(kv_->fits(waiting_.front().wanted))) return false;
        auto e = waiting_.front();
        e.slot = *kv_->try_admit(e.wanted);
        waiting_.pop_front();
        insert(admitted_, e);
        events_.push_back({event::kind::admitted, e.request, e.slot});
        return true;
    }

    Kv* kv_;
    number last_ = 0;
    std::deque<entry> waiting_;                // by arrival
    std::vector<entry> admitted_, parked_;     // by arrival
    std::vector<event> events_;
};

} // namespace dhisparse::admission
