/// What a request needs of each resource at admission: the arithmetic alone, before any ledger exists.
#pragma once

#include <dhisparse/core/arithmetic.hpp>
#include <dhisparse/layout/page_layout.hpp>
#include <dhisparse/ledger/demand.hpp>
#include <dhisparse/policy/growth/stepwise.hpp>
#include <dhisparse/policy/park_order/youngest.hpp>
#include <dhisparse/policy/reclaim_order/longest_free.hpp>
#include <dhisparse/policy/refill_order/in_turn.hpp>
#include <dhisparse/residency/slot_tables.hpp>
#include <dhisparse/tail/tail_pages.hpp>

#include <algorithm>
#include <cstdint>

namespace dhisparse {

struct ledger_config {
    std::int32_t host_pages = 0;   // 0: no host tier, every page of a request is required
    std::int32_t steps_ahead = 1;  // steps that the host launches beyond the last completed one
    std::int32_t tail_pages = 0;   // required a slot; 0: what steps_ahead and K_max ask for
    std::int32_t reserve_pages = 0; // never granted to optional history
    std::int32_t refill_pages_per_step = 8; // history pages that start to come back to the GPU in one plan; 0: none
    std::int32_t backup_pages_per_step = 0; // imported pages that are backed up in one plan before anyone asks; 0: at reclaim alone
    std::int32_t departing_plans = 0; // for so many plans a reclaimed page that is read stays readable: rows selected meanwhile go to the hot cache from there
};

/// The ledger's policies as functions, so that the ledger is one type whatever they are.
struct ledger_policies {
    using key = std::uint64_t (*)(const residency&);
    std::int64_t (*growth)(std::int64_t, std::int64_t) = stepwise::positions;
    key reclaim_order = longest_free::key, refill_order = in_turn::key, park_order = youngest::key;

    /// Of a bundle such as default_policies.
    template <class Policies>
    static constexpr ledger_policies of() {
        static_assert(growth_policy<typename Policies::growth> && reclaim_order_policy<typename Policies::reclaim_order> &&
                      refill_order_policy<typename Policies::refill_order> && park_order_policy<typename Policies::park_order>);
        return {Policies::growth::positions, Policies::reclaim_order::key, Policies::refill_order::key, Policies::park_order::key};
    }
};

/// GPU pages, host pages and bytes of metadata.
struct request_need {
    std::int64_t pages = 0, host_pages = 0, run_bytes = 0;
};

class request_size {
public:
    /// Throws invalid_argument where tail_pages or steps_ahead is out of range.
    request_size(const page_layout& layout, const slot_table_layout& tables, const ledger_config& config, const ledger_policies& policies)
        : layout_(layout), tables_(tables), policies_(policies), host_(config.host_pages > 0) {
        require_in(config.steps_ahead, 0, 64, "steps_ahead");
        const auto k_max = layout.limits().k_max;
        const auto wanted = required_tail_pages(p(), k_max, config.steps_ahead);
        ahead_ = positions_ahead(k_max, config.steps_ahead);
        const auto least = ceil_div<std::int64_t>(ahead_, p());
        require(config.tail_pages == 0 || config.tail_pages >= least, "tail_pages is ", config.tail_pages, ", permitted: at least ", least,
                " for k_max ", k_max, " and steps_ahead ", config.steps_ahead, " (0: ", wanted, ")");
        tail_pages_ = config.tail_pages ? config.tail_pages : static_cast<std::int32_t>(wanted);
    }

    const page_layout& layout() const { return layout_; }
    const slot_table_layout& tables() const { return tables_; }
    std::int32_t p() const { return layout_.shape().page_positions; }
    std::int64_t pages_of(std::int64_t positions) const { return ceil_div<std::int64_t>(positions, p()); }
    std::int32_t tail_pages() const { return tail_pages_; }
    /// Positions that must have their pages while `known` are committed.
    std::int64_t next_positions(std::int64_t known, std::int64_t reserved) const { return std::min(known + ahead_, reserved); }
    /// Pages of positions that a request gets at admission.
    std::int64_t first_pages(const demand& wanted) const {
        const auto reserved = wanted.positions + wanted.growth;
        return pages_of(policies_.growth(next_positions(wanted.positions, reserved), reserved));
    }
    /// With a host tier a fixed number of tail pages; without one every page is required. `shared` pages are others'.
    std::int32_t tail_quota(const demand& wanted, std::int64_t shared) const {
        return host_ ? tail_pages_ : static_cast<std::int32_t>(first_pages(wanted) - shared);
    }
    std::int64_t index_pages(std::int64_t position_pages) const { return layout_.index_pages(position_pages); }
    /// Host pages that hold the contents of one index page.
    std::int64_t index_parts() const {
        const auto& index = layout_.index();
        return ceil_div<std::int64_t>(index.pitch_bytes * index.blocks_per_page, layout_.host_page_bytes());
    }
    /// shared: whole pages that a kept prefix gives.
    request_need of(const demand& wanted, std::int64_t shared) const {
        const auto pages = first_pages(wanted);
        return {layout_.limits().hot_pages + tail_quota(wanted, shared) + index_pages(pages), host_ ? pages - shared : 0,
                tables_.run_bytes(tables_.pages_for(wanted.positions + wanted.growth))};
    }

private:
    page_layout layout_;
    slot_table_layout tables_;
    ledger_policies policies_;
    std::int64_t ahead_ = 0;
    std::int32_t tail_pages_ = 0;
    bool host_ = false;
};

} // namespace dhisparse
