#include "setup.hpp"
#include "trace.hpp"

#include <dhisparse/core/error.hpp>
#include <dhisparse/draft/ring_equations.hpp>
#include <dhisparse/policy/growth/reserved.hpp>
#include <dhisparse/policy/hot_index/dense.hpp>
#include <dhisparse/policy/layout/page_major.hpp>

#include <algorithm>
#include <cmath>


namespace replay {

namespace dh = dhisparse;

std::int64_t setup::block_positions() const {
    return std::max<std::int64_t>(1, std::llround(static_cast<double>(block_tokens) * context_scale));
}

std::int64_t setup::speculation_bytes() const {
    if (k == 1) return 0;
    const auto ring = shape.drafter ? dh::ring_rows(shape.page_positions, shape.drafter->window, k) * shape.drafter->row_bytes : 0;
    const auto hot_pages = hot_rows / shape.page_positions;
    const auto staging = resident() ? 0 : dh::page_layout::make<dh::page_major>(shape, {1, hot_pages, k, slots}).staging_bytes();
    return slots * ring + staging;
}

dh::page_layout setup::layout() const {
    const auto hot_pages = resident() ? 0 : hot_rows / shape.page_positions;
    const auto one = dh::page_layout::make<dh::page_major>(shape, {1, hot_pages, k});
    const auto pages = (pool_bytes - speculation_bytes()) / one.page_bytes();
    dh::require(pages > 0, "the pool has ", pool_bytes - speculation_bytes(), " bytes beside what speculation takes, less than one page of ", one.page_bytes());
    return dh::page_layout::make<dh::page_major>(shape, {pages, hot_pages, k});
}

/// Unless said, 1.6 % of the pool for maps and hot indexes, as a hierarchy takes; more where that holds fewer than one long request.
dh::slot_table_layout setup::tables(const dh::page_layout& layout) const {
    if (metadata_bytes > 0) return dh::slot_table_layout::make<dh::dense>(layout, slots, metadata_bytes);
    const auto of = dh::slot_table_layout::make<dh::dense>(layout, slots, 0);
    const auto pages = std::max<std::int64_t>(layout.limits().n_pages, host_pages(layout));
    const auto longest = of.run_bytes(of.pages_for(std::min<std::int64_t>(pages * shape.page_positions, 1 << 20)));
    return dh::slot_table_layout::make<dh::dense>(layout, slots, std::max(pool_bytes / 1000 * 16, longest));
}

std::int32_t setup::host_pages(const dh::page_layout& layout) const {
    if (resident()) return 0;
    const auto pages = host_bytes / layout.host_page_bytes();
    dh::require(pages > 0 && pages <= INT32_MAX, "--host-gib gives ", pages, " host pages, permitted: 1 to ", INT32_MAX, " (of ", layout.host_page_bytes(), " bytes)");
    return static_cast<std::int32_t>(pages);
}

dh::ledger_config setup::config(const dh::page_layout& layout) const {
    dh::ledger_config out{.host_pages = host_pages(layout), .tail_pages = resident() ? 0 : tail_pages};
    out.refill_pages_per_step = as == mode::adaptive ? refill_pages : 0;
    out.backup_pages_per_step = as == mode::adaptive ? backup_pages : 0;
    return out;
}

dh::ledger_policies setup::policies() const {
    dh::ledger_policies out;
    if (resident()) out.growth = dh::reserved::positions; // nothing can be parked
    return out;
}

} // namespace replay
