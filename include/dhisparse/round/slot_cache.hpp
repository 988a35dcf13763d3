/// One slot's and group's hot cache in the tables.
#pragma once

#include <dhisparse/cache/hot_cache.hpp>
#include <dhisparse/round/round.hpp>

namespace dhisparse {

template <hot_index_policy Index, replacement_policy Replacement>
DHISPARSE_HD hot_cache_ref<Index, Replacement> hot_cache_of(const step_ref& step, int g, std::int32_t slot) {
    const auto& tables = step.tables;
    const auto& group = step.groups[g];
    return {Index::at(tables.hot_index(slot, group), group.codes), tables.used(slot, group), tables.entered(slot, group),
            tables.rows(slot, group), tables.clocks + std::int64_t{slot} * tables.n_groups + g, group.entries};
}

} // namespace dhisparse
