/// A page copier whose copies happen, and complete, when a test says so.
#pragma once

#include <dhisparse/executor/host_executor.hpp>

#include <cstddef>
#include <vector>

namespace dhisparse_test {

class held_copier {
public:
    void post(const dhisparse::page_copy& copy, const dhisparse::tiers_ref& tiers) {
        if (at_once_) copy_bytes(copy, tiers);
        held_.push_back({copy, tiers});
    }
    void done(std::vector<dhisparse::ticket>& out) {
        out.insert(out.end(), done_.begin(), done_.end());
        done_.clear();
    }

    /// true: bytes move as a copy is posted; it still completes only when it is released.
    void move_bytes_at_once(bool at_once) { at_once_ = at_once; }
    std::size_t n_held() const { return held_.size(); }
    const dhisparse::page_copy& held(std::size_t i) const { return held_[i].copy; }
    /// The i-th held copy happens and completes.
    void release(std::size_t i) {
        if (!at_once_) copy_bytes(held_[i].copy, held_[i].tiers);
        done_.push_back(held_[i].copy.id);
        held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    /// The i-th held copy fails: it leaves the first bytes of what it should have written, and is told of.
    void fail(std::size_t i) {
        const auto& copy = held_[i].copy;
        auto* page = held_[i].tiers.host + number(copy.host) * held_[i].tiers.host_page_bytes;
        if (copy.way == dhisparse::direction::to_host) std::memset(page, 0xBD, 16);
        done_.push_back(dhisparse::failure_of(copy.id));
        held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    void release_all() {
        while (n_held() > 0) release(0);
    }

private:
    struct posted {
        dhisparse::page_copy copy;
        dhisparse::tiers_ref tiers;
    };
    static void copy_bytes(const dhisparse::page_copy& copy, const dhisparse::tiers_ref& tiers) {
        dhisparse::copy_now(copy, tiers);
    }
    bool at_once_ = false;
    std::vector<posted> held_;
    std::vector<dhisparse::ticket> done_;
};
static_assert(dhisparse::page_copier<held_copier>);

} // namespace dhisparse_test
