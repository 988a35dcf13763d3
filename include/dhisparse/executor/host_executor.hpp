/// The half that applies, on the host backend: edits at once, copies through a copier.
#pragma once

#include <dhisparse/executor/edits.hpp>

#include <concepts>
#include <span>
#include <vector>

namespace dhisparse {

/// Moves pages between the tiers. post starts a copy; done appends the tickets of those that have
/// completed since it was last asked, and failure_of() of those that have failed.
template <class Copier>
concept page_copier = requires(Copier copier, const page_copy& copy, const tiers_ref& tiers, std::vector<ticket>& done) {
    copier.post(copy, tiers);
    copier.done(done);
};

/// What a copier moves for one order.
inline void copy_now(const page_copy& copy, const tiers_ref& tiers) {
    copy.index_part < 0 ? copy_page(tiers, copy.gpu, copy.host, copy.way) : copy_index_part(tiers, copy.gpu, copy.host, copy.index_part, copy.way);
}

/// Copies while it posts.
class immediate_copier {
public:
    void post(const page_copy& copy, const tiers_ref& tiers) {
        copy_now(copy, tiers);
        done_.push_back(copy.id);
    }
    void done(std::vector<ticket>& out) {
        out.insert(out.end(), done_.begin(), done_.end());
        done_.clear();
    }

private:
    std::vector<ticket> done_;
};
static_assert(page_copier<immediate_copier>);

template <page_copier Copier>
class host_executor {
public:
    explicit host_executor(Copier copier = {}) : copier_(std::move(copier)) {}

    void apply(const step_plan& plan, const slot_tables_ref& tables, const slot_table_layout& sizes, const page_layout& layout, const tiers_ref& tiers) {
        for (const auto& e : plan.edits) apply_edit(tables, sizes, layout, e);
        for (const auto& copy : plan.copies) copier_.post(copy, tiers);
        if (plan.fence != 0) fences_.push_back(plan.fence); // calls return when their work is done
    }

    /// Tickets completed since the last call; valid until the next.
    std::span<const ticket> completed() {
        done_.clear();
        std::swap(done_, fences_);
        copier_.done(done_);
        return done_;
    }
    Copier& copier() { return copier_; }

private:
    Copier copier_;
    std::vector<ticket> fences_, done_;
};

} // namespace dhisparse
