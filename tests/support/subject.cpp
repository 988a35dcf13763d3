// The hierarchies behind subject.hpp: eight combinations of policies; each promotion policy meets both replacements.
#include "subject.hpp"

#include <dhisparse/metrics_of.hpp>
#include <dhisparse/policy/hot_index/hashed.hpp>
#include <dhisparse/policy/layout/source_planes.hpp>
#include <dhisparse/policy/promotion/anchor_first.hpp>
#include <dhisparse/policy/promotion/keep_staged_none.hpp>
#include <dhisparse/policy/replacement/fifo.hpp>

namespace dhisparse_test {
namespace {

template <class Layout, class Index, class Replacement, class Promotion = dh::default_policies::promotion>
struct policies : dh::default_policies {
    using layout = Layout;
    using hot_index = Index;
    using replacement = Replacement;
    using promotion = Promotion;
};

template <class Policies>
class subject_of final : public subject {
    using hierarchy = dh::hierarchy<dh::basic_host_backend<held_copier>, Policies>;
    using index = typename Policies::hot_index;

public:
    explicit subject_of(const dh::hierarchy_config& config)
        : it_(config), sizes_(dh::slot_table_layout::make<index>(it_.layout(), config.slots, 0)),
          region_bytes_(hierarchy::bytes_needed(config).tables - sizes_.bytes()) {
        // Memory may come with the bytes of an earlier hierarchy's rows.
        if (it_.tiers().host) std::memset(it_.tiers().host, 0xEE, static_cast<std::size_t>(config.host_pages * it_.layout().host_page_bytes()));
    }

    dh::fit fits(const dh::demand& wanted) const override { return it_.fits(wanted); }
    std::optional<dh::slot_id> try_admit(const dh::demand& wanted) override { return it_.try_admit(wanted); }
    bool try_extend(dh::slot_id slot, std::int64_t positions) override { return it_.try_extend(slot, positions); }
    std::span<const dh::gpu_page> import_pages(dh::slot_id slot, std::int32_t first, std::int32_t n) override { return it_.import_pages(slot, first, n); }
    void landed(dh::slot_id slot, std::int32_t first, std::int32_t n) override { it_.landed(slot, first, n); }
    void finish_import(dh::slot_id slot) override { it_.finish_import(slot); }
    void finish(dh::slot_id slot) override { it_.finish(slot); }
    std::int32_t reclaim(std::int64_t pages) override { return it_.reclaim(pages); }
    bool park(dh::slot_id slot) override { return it_.park(slot); }
    bool try_resume(dh::slot_id slot) override { return it_.try_resume(slot); }
    std::optional<dh::prefix_id> keep(dh::slot_id slot, std::int64_t positions) override { return it_.keep(slot, positions); }
    void drop(dh::prefix_id prefix) override { it_.drop(prefix); }
    void reset() override { it_.reset(); }
    void gather(int layer, dh::slot_id slot, std::int64_t first, std::int64_t last, std::span<std::byte> out) override { it_.gather({}, layer, slot, first, last, out); }
    std::string prometheus() const override { return dh::metrics_of(it_).prometheus(); }
    std::span<const dh::ticket> completed() override { return it_.completed(); }
    const dh::step_plan& advance(std::span<const dh::ticket> completed, std::span<const dh::frontier_report> frontiers) override {
        return it_.advance({}, completed, frontiers);
    }
    dh::round_ref append(const dh::batch_ref& batch) override { return it_.append({}, batch); }
    void resolve(const dh::round_ref& round, const dh::announcement_shape& said, const dh::selection_ref& selection, const dh::locations_ref& out) override {
        it_.resolve({}, round, said, selection, out);
    }
    void release(const dh::round_ref& round) override { it_.release({}, round); }
    void commit(const dh::round_ref& round, const std::int32_t* accepted, std::int32_t unsettled, dh::pass of) override { it_.commit({}, round, accepted, unsettled, of); }
    std::int32_t settled_positions(dh::slot_id slot) const override { return it_.settled_positions(slot); }
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
    std::string promotion() const override { return Policies::promotion::name; }
    bool is_fifo() const override { return std::is_same_v<typename Policies::replacement, dh::fifo>; }

private:
    hierarchy it_;
    dh::slot_table_layout sizes_;
    std::int64_t region_bytes_;
};

} // namespace

std::unique_ptr<subject> make_subject(int combination, const dh::hierarchy_config& config) {
    using dh::dense, dh::hashed, dh::fifo, dh::lru, dh::page_major, dh::source_planes, dh::anchor_first, dh::keep_staged_none;
    switch (combination & 7) {
    case 0: return std::make_unique<subject_of<policies<page_major, dense, lru>>>(config);
    case 1: return std::make_unique<subject_of<policies<source_planes, dense, lru, anchor_first>>>(config);
    case 2: return std::make_unique<subject_of<policies<page_major, hashed, lru, keep_staged_none>>>(config);
    case 3: return std::make_unique<subject_of<policies<source_planes, hashed, lru>>>(config);
    case 4: return std::make_unique<subject_of<policies<page_major, dense, fifo, anchor_first>>>(config);
    case 5: return std::make_unique<subject_of<policies<source_planes, dense, fifo, keep_staged_none>>>(config);
    case 6: return std::make_unique<subject_of<policies<page_major, hashed, fifo>>>(config);
    default: return std::make_unique<subject_of<policies<source_planes, hashed, fifo>>>(config);
    }
}

} // namespace dhisparse_test
