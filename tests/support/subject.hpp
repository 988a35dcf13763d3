/// A hierarchy on the host backend behind one type, whatever its policies, so that a test is compiled once.
#pragma once

#include "held_copier.hpp"

#include <dhisparse/hierarchy.hpp>
#include <dhisparse/policy/hot_index/hashed.hpp>
#include <dhisparse/policy/layout/source_planes.hpp>
#include <dhisparse/policy/replacement/fifo.hpp>

#include <memory>

namespace dhisparse_test {

namespace dh = dhisparse;

template <class Layout, class Index, class Replacement>
struct policies : dh::default_policies {
    using layout = Layout;
    using hot_index = Index;
    using replacement = Replacement;
};

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
    virtual std::span<const dh::ticket> completed() = 0;
    virtual const dh::step_plan& advance(std::span<const dh::ticket> completed, std::span<const dh::frontier_report> frontiers) = 0;
    virtual dh::round_ref append(const dh::batch_ref& batch) = 0;
    virtual void resolve(const dh::round_ref& round, const dh::announcement_shape& said, const dh::selection_ref& selection, const dh::locations_ref& out) = 0;
    virtual void commit(const dh::round_ref& round, const std::int32_t* accepted) = 0;
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
};

template <class Policies>
class subject_of final : public subject {
    using hierarchy = dh::hierarchy<dh::basic_host_backend<held_copier>, Policies>;
    using index = typename Policies::hot_index;

public:
    explicit subject_of(const dh::hierarchy_config& config)
        : it_(config), sizes_(dh::slot_table_layout::make<index>(it_.layout(), config.slots, 0)),
          region_bytes_(hierarchy::bytes_needed(config).tables - sizes_.bytes()) {}

    dh::fit fits(const dh::demand& wanted) const override { return it_.fits(wanted); }
    std::optional<dh::slot_id> try_admit(const dh::demand& wanted) override { return it_.try_admit(wanted); }
    bool try_extend(dh::slot_id slot, std::int64_t positions) override { return it_.try_extend(slot, positions); }
    std::span<const dh::gpu_page> import_pages(dh::slot_id slot, std::int32_t first, std::int32_t n) override { return it_.import_pages(slot, first, n); }
    void landed(dh::slot_id slot, std::int32_t first, std::int32_t n) override { it_.landed(slot, first, n); }
    void finish_import(dh::slot_id slot) override { it_.finish_import(slot); }
    void finish(dh::slot_id slot) override { it_.finish(slot); }
    std::span<const dh::ticket> completed() override { return it_.completed(); }
    const dh::step_plan& advance(std::span<const dh::ticket> completed, std::span<const dh::frontier_report> frontiers) override {
        return it_.advance({}, completed, frontiers);
    }
    dh::round_ref append(const dh::batch_ref& batch) override { return it_.append({}, batch); }
    void resolve(const dh::round_ref& round, const dh::announcement_shape& said, const dh::selection_ref& selection, const dh::locations_ref& out) override {
        it_.resolve({}, round, said, selection, out);
    }
    void commit(const dh::round_ref& round, const std::int32_t* accepted) override { it_.commit({}, round, accepted); }
    dh::source_view view(int layer) const override { return it_.view(layer); }
    std::byte* row(int layer, dh::location at, int run) const override { return it_.row(layer, at, run); }
    dh::location location_of(int layer, dh::gpu_page page, std::int32_t position_in_page) const override { return it_.location_of(layer, page, position_in_page); }
    std::byte* index_base() const override { return it_.index_base(); }
    const dh::page_layout& layout() const override { return it_.layout(); }
    const dh::ledger& ledger() const override { return it_.ledger(); }
    const dh::tally& counts() const override { return it_.counts(); }
    dh::slot_tables_ref tables() const override { return it_.tables(); }
    dh::tiers_ref tiers() const override { return it_.tiers(); }
    held_copier& copier() override { return it_.executor().copier(); }
    dh::hot_code find(std::int32_t slot, int g, std::int32_t row) const override {
        const auto tables = it_.tables();
        return index::at(tables.hot_index(slot, sizes_.group(g)), sizes_.group(g).codes).find(row);
    }
    dh::group_tables group_tables(int g) const override { return sizes_.group(g); }
    std::int64_t run_bytes(std::int32_t n_pages) const override { return sizes_.run_bytes(n_pages); }
    std::int64_t region_bytes() const override { return region_bytes_; }
    bool is_fifo() const override { return std::is_same_v<typename Policies::replacement, dh::fifo>; }

private:
    hierarchy it_;
    dh::slot_table_layout sizes_;
    std::int64_t region_bytes_;
};

/// One of the eight combinations of the library's policies, by number.
inline std::unique_ptr<subject> make_subject(int combination, const dh::hierarchy_config& config) {
    using dh::dense, dh::hashed, dh::fifo, dh::lru, dh::page_major, dh::source_planes;
    switch (combination & 7) {
    case 0: return std::make_unique<subject_of<policies<page_major, dense, lru>>>(config);
    case 1: return std::make_unique<subject_of<policies<source_planes, dense, lru>>>(config);
    case 2: return std::make_unique<subject_of<policies<page_major, hashed, lru>>>(config);
    case 3: return std::make_unique<subject_of<policies<source_planes, hashed, lru>>>(config);
    case 4: return std::make_unique<subject_of<policies<page_major, dense, fifo>>>(config);
    case 5: return std::make_unique<subject_of<policies<source_planes, dense, fifo>>>(config);
    case 6: return std::make_unique<subject_of<policies<page_major, hashed, fifo>>>(config);
    default: return std::make_unique<subject_of<policies<source_planes, hashed, fifo>>>(config);
    }
}

} // namespace dhisparse_test
