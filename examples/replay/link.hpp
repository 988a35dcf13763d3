// The copies that are under way, beside the steps: in each direction one after another, at the link's rate.
#pragma once

#include "store.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <vector>

namespace replay {

/// Copies of one direction.
class lane {
public:
    explicit lane(store& pages) : pages_(&pages) {}
    void post(const dhisparse::page_copy& copy, double seconds) {
        queue_.push_back({copy, pages_->of(copy), seconds});
        queued_s_ += seconds;
    }
    bool idle() const { return queue_.empty(); }
    double next_s() const { return idle() ? INFINITY : queue_.front().seconds; } // until the first completes
    double queued_s() const { return queued_s_; }
    /// So much time passes. Adds the tickets of those that complete.
    void run(double span_s, std::vector<dhisparse::ticket>& done) {
        while (!idle() && queue_.front().seconds <= span_s + tiny_s) {
            const auto& first = queue_.front();
            span_s = std::max(0.0, span_s - first.seconds);
            queued_s_ -= first.seconds;
            pages_->copied(first.copy, first.at_start);
            done.push_back(first.copy.id);
            queue_.pop_front();
        }
        if (idle()) {
            queued_s_ = 0;
        } else {
            queue_.front().seconds -= span_s;
            queued_s_ -= span_s;
        }
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

class link {
public:
    explicit link(store& pages) : to_host_(pages), to_gpu_(pages) {}
    void post(const dhisparse::page_copy& copy, double seconds) {
        (copy.way == dhisparse::direction::to_host ? to_host_ : to_gpu_).post(copy, seconds);
    }
    double next_s() const { return std::min(to_host_.next_s(), to_gpu_.next_s()); } // infinity where nothing is under way
    /// Share of a span from now on in which copies use the link, in whichever direction: misses wait for either.
    double share(double span_s) const { return std::clamp((to_host_.queued_s() + to_gpu_.queued_s()) / span_s, 0.0, 1.0); }
    void run(double span_s, std::vector<dhisparse::ticket>& done) {
        to_host_.run(span_s, done);
        to_gpu_.run(span_s, done);
    }

private:
    lane to_host_, to_gpu_;
};

} // namespace replay
