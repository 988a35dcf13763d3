/// A hierarchy on the host backend behind one type, whatever its policies, so that a test is compiled once.
#pragma once

#include "held_copier.hpp"

#include <dhisparse/hierarchy.hpp>

#include <memory>
#include <string>

namespace dhisparse_test {

namespace dh = dhisparse;

/// The calls of a hierarchy, and what a test looks at beside them.
class subject {
public:
    virtual ~subject() = default;
    virtual dh::fit fits(const dh::demand& wanted) const = 0;
    virtual std::optional<dh::slot_id> try_admit(const dh::demand& wanted) = 0;
    virtual bool try_extend(dh::slot_id slot, std::int64_t positions) = 0;
    virtual std::span<const dh::gpu_page> import_pages(dh::slot_id slot, std::int32_t first, std::int32_t n) = 0;
    virtual void landed(dh::slot_id slot, std::int32_t first, std::int32_t n) = 0;
    virtual void finish_import(dh::slot_id slot) = 0;
    virtual void finish(dh::slot_id slot) = 0;
    virtual std::int32_t reclaim(std::int64_t pages) = 0;
    virtual bool park(dh::slot_id slot) = 0;
    virtual bool try_resume(dh::slot_id slot) = 0;
    virtual std::optional<dh::prefix_id> keep(dh::slot_id slot, std::int64_t positions) = 0;
    virtual void drop(dh::prefix_id prefix) = 0;
    virtual void reset() = 0;
    virtual void gather(int layer, dh::slot_id slot, std::int64_t first, std::int64_t last, std::span<std::byte> out) = 0;
    virtual std::string prometheus() const = 0;
    virtual std::span<const dh::ticket> completed() = 0;
    virtual const dh::step_plan& advance(std::span<const dh::ticket> completed, std::span<const dh::frontier_report> frontiers) = 0;
    virtual dh::round_ref append(const dh::batch_ref& batch) = 0;
    virtual void resolve(const dh::round_ref& round, const dh::announcement_shape& said, const dh::selection_ref& selection, const dh::locations_ref& out) = 0;
    virtual void release(const dh::round_ref& round) = 0;
    virtual void commit(const dh::round_ref& round, const std::int32_t* accepted, std::int32_t unsettled = 0, dh::pass of = dh::pass::target) = 0;
    virtual std::int32_t settled_positions(dh::slot_id slot) const = 0;
    virtual dh::source_view view(int layer) const = 0;
    virtual std::byte* row(int layer, dh::location at, int run) const = 0;
    virtual dh::location location_of(int layer, dh::gpu_page page, std::int32_t position_in_page) const = 0;
    virtual std::byte* index_base() const = 0;
    virtual const dh::page_layout& layout() const = 0;
    virtual const dh::ledger& ledger() const = 0;
    virtual const dh::tally& counts() const = 0;
    virtual dh::slot_tables_ref tables() const = 0;
    virtual dh::tiers_ref tiers() const = 0;
    virtual held_copier& copier() = 0;
    /// Code of a row in a slot's hot index.
    virtual dh::hot_code find(std::int32_t slot, int g, std::int32_t row) const = 0;
    virtual dh::group_tables group_tables(int g) const = 0;
    virtual std::int64_t run_bytes(std::int32_t n_pages) const = 0;
    virtual std::int64_t region_bytes() const = 0;
    virtual bool is_fifo() const = 0;
    virtual std::string promotion() const = 0;
};

/// One of the eight combinations of the library's policies, by number. Compiled once, in subject.cpp.
std::unique_ptr<subject> make_subject(int combination, const dh::hierarchy_config& config);

} // namespace dhisparse_test
