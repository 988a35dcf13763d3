// The copies that are under way: one after another, beside the steps, at the link's rate.
#pragma once

#include "store.hpp"

#include <algorithm>
#include <deque>
#include <vector>

namespace replay {

class link {
public:
    explicit link(store& pages) : pages_(&pages) {}
    void post(const dhisparse::page_copy& copy, double seconds) {
        queue_.push_back({copy, pages_->of(copy), seconds});
        queued_s_ += seconds;
    }
    bool idle() const { return queue_.empty(); }
    double next_s() const { return queue_.front().seconds; } // until the first completes
    /// Share of a span from now on in which copies use the link.
    double share(double span_s) const { return std::clamp(queued_s_ / span_s, 0.0, 1.0); }
    /// So much time passes. Adds the tickets of those that complete.
    void run(double span_s, std::vector<dhisparse::ticket>& done) {
        while (!queue_.empty() && queue_.front().seconds <= span_s + tiny_s) {
            span_s -= queue_.front().seconds;
            queued_s_ -= queue_.front().seconds;
            pages_->copied(queue_.front().copy, queue_.front().at_start);
            done.push_back(queue_.front().copy.id);
            queue_.pop_front();
        }
        if (queue_.empty()) {
            queued_s_ = 0;
            return;
        }
        span_s = std::max(span_s, 0.0);
        queue_.front().seconds -= span_s;
        queued_s_ -= span_s;
    }

private:
    static constexpr double tiny_s = 1e-12;
    struct entry {
        dhisparse::page_copy copy;
        store::label at_start;
        double seconds = 0; // that it still takes
    };
    store* pages_;
    std::deque<entry> queue_;
    double queued_s_ = 0;
};

} // namespace replay
