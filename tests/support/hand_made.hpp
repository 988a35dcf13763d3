/// The step path on tables and tiers that a test fills itself: no ledger, no facade.
#pragma once

#include "tagged_rows.hpp"

#include <dhisparse/policy/hot_index/dense.hpp>
#include <dhisparse/policy/layout/page_major.hpp>
#include <dhisparse/policy/promotion/most_selected.hpp>
#include <dhisparse/policy/replacement/lru.hpp>
#include <dhisparse/resolve/resolve.hpp>
#include <dhisparse/round/append.hpp>
#include <dhisparse/round/commit.hpp>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>
#include <vector>

namespace dhisparse_test {

using dhisparse::location;

struct hand_made_sizes {
    std::int64_t n_pages = 16;
    std::int64_t hot_pages = 0;
    std::int32_t host_pages = 16;
    std::int32_t slots = 2;
    std::int32_t positions = 1024; // the longest request's
    std::int32_t max_requests = 8;
    int k_max = 1;
    bool staging = false; // unions larger than the hot cache are staged
    std::span<std::byte> slab_memory = {}; // lent, and left as it is; empty: made
};

/// What a resolve gave: [query][stride].
struct answer {
    std::vector<location> at;
    std::vector<std::int32_t> valid;
    std::int32_t stride = 0;

    /// The first n locations of a query.
    std::vector<location> of(int query, std::int32_t n) const {
        const auto first = at.begin() + std::ptrdiff_t{query} * stride;
        return {first, first + n};
    }
    std::vector<location> of(int query) const { return of(query, stride); }
};

using row_list = std::vector<std::int32_t>;
/// Rows [first, last).
inline row_list range(std::int32_t first, std::int32_t last) {
    row_list out(static_cast<std::size_t>(last - first));
    std::iota(out.begin(), out.end(), first);
    return out;
}

/// Its functions stay out of line: tests call them many times, and compile in a third of the time.
template <class Index = dhisparse::dense, class Replacement = dhisparse::lru,
          class Layout = dhisparse::page_major, class Promotion = dhisparse::most_selected>
class hand_made {
public:
    dhisparse::page_layout layout;
    dhisparse::slot_table_layout sizes;
    dhisparse::tally counts;
    std::vector<dhisparse::group_tables> groups;

    [[gnu::noinline]] explicit hand_made(const dhisparse::model_shape& shape,
                                         const hand_made_sizes& n = {})
        : layout(dhisparse::page_layout::make<Layout>(
              shape, {n.n_pages, n.hot_pages, n.k_max, n.staging ? n.slots : 0})),
          sizes(dhisparse::slot_table_layout::make<Index>(layout, n.slots, n.slots * run_bytes(n))),
          arrays_(n.max_requests, n.k_max, layout.n_groups(), layout.index().n_sources, n.slots),
          scratch_(most_entries(), std::int64_t{n.k_max} * shape.k, n.hot_pages,
                   layout.staged_rows_per_slot() > 0),
          staging_(layout.staging(), n.slots),
          positions_(n.positions), slab_({}, layout.slab_bytes(), 128, n.slab_memory, "slab"),
          host_({}, n.host_pages * layout.host_page_bytes(), 128, {}, "host"),
          table_memory_({}, sizes.bytes(), 128, {}, "tables") {
        for (int g = 0; g < layout.n_groups(); ++g)
            groups.push_back(sizes.group(g));
        std::memset(host_.data(), 0xEE, host().size());
        if (n.slab_memory.empty()) std::memset(slab_.data(), 0xEE, slab().size());
        std::memset(table_memory_.data(), 0, table_memory().size());
    }

    dhisparse::slot_tables_ref tables() const { return sizes.at(table_memory_.data()); }
    dhisparse::tiers_ref tiers() const {
        return {slab_.data(),           host_.data(),          layout.host_page_bytes(),
                layout.groups().data(), layout.lanes().data(), layout.n_groups(), {}};
    }
    dhisparse::step_ref step() {
        return {tiers(),
                tables(),
                groups.data(),
                &counts,
                layout.index().n_sources,
                layout.limits().k_max,
                dhisparse::fast_divisor(static_cast<std::uint32_t>(layout.shape().page_positions)),
                staging_.ref()};
    }
    std::span<std::byte> slab() const {
        return {slab_.data(), static_cast<std::size_t>(slab_.bytes())};
    }
    std::span<std::byte> host() const {
        return {host_.data(), static_cast<std::size_t>(host_.bytes())};
    }
    std::span<std::byte> table_memory() const {
        return {table_memory_.data(), static_cast<std::size_t>(table_memory_.bytes())};
    }

    // ---- tables: what the ledger's edits would write
    /// A request of that reserved length with `frontier` committed positions, none of them in any
    /// tier.
    [[gnu::noinline]] void open(std::int32_t slot, std::int32_t positions, std::int32_t frontier) {
        const auto pages = sizes.pages_for(positions_);
        auto& record = tables().records[slot];
        record = {};
        record.live = 1;
        record.n_pages = pages;
        record.positions = positions;
        record.frontier = frontier;
        record.tail_page = frontier / layout.shape().page_positions;
        record.run_bytes = slot * sizes.run_bytes(pages);
        sizes.clear(tables(), slot);
    }
    /// The next round's first query sees so many positions, its own among them.
    void let_see(std::int32_t slot, std::int32_t positions) {
        tables().records[slot].frontier = positions - 1;
    }
    void close(std::int32_t slot) { tables().records[slot].live = 0; }
    void map(std::int32_t slot, std::int32_t page, std::int32_t gpu) {
        tables().page_map(slot)[page] = gpu;
    }
    void map_host(std::int32_t slot, std::int32_t page, std::int32_t host) {
        tables().host_map(slot)[page] = host;
    }
    void give_hot_pages(std::int32_t slot, std::int32_t first_gpu) {
        for (std::int32_t i = 0; i < tables().hot_pages_per_slot; ++i)
            tables().hot_pages[slot * tables().hot_pages_per_slot + i] = first_gpu + i;
    }
    /// A request whose committed positions are all on the host alone, from first_host on; row r's
    /// tag is first_tag + r.
    [[gnu::noinline]] void open_on_host(std::int32_t slot, std::int32_t positions,
                                        std::int32_t first_host, std::int32_t first_tag = 0) {
        open(slot, positions, positions);
        for (int g = 0; g < layout.n_groups(); ++g) {
            const auto per_page = static_cast<std::int32_t>(layout.group(g).rows_per_page.divisor);
            const auto n_rows = positions / layout.group(g).positions_per_row;
            for (std::int32_t r = 0; r < n_rows; ++r)
                write_host(g, first_host + r / per_page, r % per_page, first_tag + r);
        }
        for (std::int32_t page = 0; page * layout.shape().page_positions < positions; ++page)
            map_host(slot, page, first_host + page);
    }

    // ---- bytes
    [[gnu::noinline]] void write(int g, location at, std::int32_t tag) {
        visit_row(tiers(), g, at, writer(tag));
    }
    [[gnu::noinline]] bool holds(int g, location at, std::int32_t tag) const {
        bool same = at >= 0;
        if (same) visit_row(tiers(), g, at, comparer(tag, same));
        return same;
    }
    [[gnu::noinline]] void write_host(int g, std::int32_t page, std::int32_t row,
                                      std::int32_t tag) {
        visit_host_row(tiers(), g, page, row, writer(tag));
    }
    [[gnu::noinline]] bool host_holds(int g, std::int32_t page, std::int32_t row,
                                      std::int32_t tag) const {
        bool same = true;
        visit_host_row(tiers(), g, page, row, comparer(tag, same));
        return same;
    }

    // ---- the step path
    [[gnu::noinline]] dhisparse::round_ref append(const std::vector<std::int32_t>& slots,
                                                  const std::vector<std::int32_t>& widths = {}) {
        return dhisparse::append(step(), arrays_,
                                 {slots.data(), widths.empty() ? nullptr : widths.data(),
                                  static_cast<std::int32_t>(slots.size())});
    }
    /// One selection a query, filled with -1 to the longest of them.
    [[gnu::noinline]] answer resolve(const dhisparse::round_ref& round,
                                     std::vector<row_list> selections, int g = 0) {
        std::size_t k = 1;
        for (const auto& s : selections)
            k = std::max(k, s.size());
        std::vector<std::int32_t> selected;
        for (auto& s : selections) {
            s.resize(k, -1);
            selected.insert(selected.end(), s.begin(), s.end());
        }
        return resolve(
            round, {selected.data(), static_cast<std::int64_t>(k), static_cast<std::int32_t>(k)},
            g);
    }
    [[gnu::noinline]] answer resolve(const dhisparse::round_ref& round,
                                     const dhisparse::selection_ref& selection, int g = 0) {
        answer out;
        out.stride = static_cast<std::int32_t>(dhisparse::round_up(selection.k, 64));
        out.at.assign(static_cast<std::size_t>(round.n_queries * out.stride), 123456);
        out.valid.assign(static_cast<std::size_t>(round.n_queries), 123456);
        resolve(round, selection, {out.at.data(), out.stride, 0, out.valid.data()}, g);
        return out;
    }
    [[gnu::noinline]] void resolve(const dhisparse::round_ref& round,
                                   const dhisparse::selection_ref& selection,
                                   const dhisparse::locations_ref& out, int g = 0) {
        dhisparse::resolve<Index, Replacement, Promotion>(step(), g, round, selection, out,
                                                          scratch_);
    }
    [[gnu::noinline]] void release(const dhisparse::round_ref& round) {
        dhisparse::release<Index, Replacement>(step(), round);
    }
    /// One plain step of one request that only resolves.
    [[gnu::noinline]] answer resolve_one(std::int32_t slot, const row_list& selection, int g = 0) {
        return resolve(append({slot}), std::vector<row_list>{selection}, g);
    }
    [[gnu::noinline]] void commit(const dhisparse::round_ref& round,
                                  const std::vector<std::int32_t>& accepted) {
        release(round);
        dhisparse::commit(step(), round, accepted.data());
    }
    [[gnu::noinline]] void commit(const dhisparse::round_ref& round) {
        release(round);
        dhisparse::commit(step(), round, nullptr);
    }

    /// Rows of a group's hot entries, -1: empty.
    [[gnu::noinline]] row_list hot_rows(std::int32_t slot, int g = 0) {
        const auto* first = tables().rows(slot, groups[static_cast<std::size_t>(g)]);
        return {first, first + groups[static_cast<std::size_t>(g)].entries};
    }
    typename Index::ref hot_index(std::int32_t slot, int g = 0) {
        const auto& group = groups[static_cast<std::size_t>(g)];
        return Index::at(tables().hot_index(slot, group), group.codes);
    }
    std::uint64_t count_of(dhisparse::violation what) const { return counts.count_of(what); }

private:
    std::int64_t run_bytes(const hand_made_sizes& n) const {
        const auto of_one = dhisparse::slot_table_layout::make<Index>(layout, 1, 0);
        return of_one.run_bytes(of_one.pages_for(n.positions));
    }
    std::int64_t most_entries() const {
        std::int64_t most = 0;
        for (int g = 0; g < layout.n_groups(); ++g)
            most = std::max(most, layout.hot_entries(g));
        return most;
    }

    dhisparse::round_arrays arrays_;
    dhisparse::resolve_scratch scratch_;
    dhisparse::staging staging_;
    std::int32_t positions_;
    dhisparse::buffer<dhisparse::host_resource> slab_, host_, table_memory_;
};

} // namespace dhisparse_test
