/// The host backend: everything in ordinary memory, every call done when it returns. The oracle.
#pragma once

#include <dhisparse/executor/gather.hpp>
#include <dhisparse/executor/host_executor.hpp>
#include <dhisparse/memory/resource.hpp>
#include <dhisparse/resolve/resolve.hpp>
#include <dhisparse/round/append.hpp>
#include <dhisparse/round/commit.hpp>

#include <algorithm>

namespace dhisparse {

/// The host backend's stream: calls run in the order in which they are made.
struct host_stream {};

template <page_copier Copier = immediate_copier>
struct basic_host_backend {
    static constexpr const char* name = "host";
    static constexpr bool stages = true; // unions larger than the hot cache
    static constexpr bool has_passes = true; // a draft pass, and unsettled positions
    using stream = host_stream;
    using device_memory = host_resource; // slab and tables
    using host_memory = host_resource;   // the host tier
    using executor = host_executor<Copier>;

    /// The step path's own arrays, allocated once.
    template <class Policies>
    class step_path {
    public:
        /// slab, host (null: no host tier), table_memory: the three blocks of memory; they outlive the path.
        step_path(const page_layout& layout, const slot_table_layout& tables, std::int32_t max_requests, std::byte* slab, std::byte* host, std::byte* table_memory)
            : layout_(layout), sizes_(tables), arrays_(max_requests, layout.limits().k_max, layout.n_groups(), layout.index().n_sources, tables.n_slots()),
              scratch_(most_entries(layout), std::int64_t{layout.limits().k_max} * layout.shape().k, layout.limits().hot_pages, layout.staged_rows_per_slot() > 0),
              staging_(layout.staging(), tables.n_slots()) {
            step_.tiers = {slab, host, layout_.host_page_bytes(), layout_.groups().data(), layout_.lanes().data(), layout_.n_groups(), {}};
            for (std::int32_t i = 0; i < layout_.index().blocks_per_page; ++i) {
                block_first_.push_back(layout_.index_block(gpu_page{0}, i));
                block_step_.push_back(layout_.index_block(gpu_page{1}, i) - block_first_.back());
            }
            step_.tiers.index = {layout_.index().pitch_bytes, layout_.index().blocks_per_page, block_first_.data(), block_step_.data()};
            step_.tables = sizes_.at(table_memory);
            step_.groups = sizes_.groups().data();
            step_.counts = &counts_;
            step_.n_index_sources = layout.index().n_sources;
            step_.k_max = layout.limits().k_max;
            step_.page_positions = fast_divisor(static_cast<std::uint32_t>(layout.shape().page_positions));
            step_.staging = staging_.ref();
            std::fill_n(step_.tables.records, sizes_.n_slots(), slot_record{});
        }
        step_path(const step_path&) = delete; // the step refers into it
        step_path& operator=(const step_path&) = delete;

        round_ref append(stream, const batch_ref& batch) { return dhisparse::append(step_, arrays_, batch); }
        void resolve(stream, int g, const round_ref& round, const selection_ref& selection, const locations_ref& out) {
            dhisparse::resolve<typename Policies::hot_index, typename Policies::replacement, typename Policies::promotion>(step_, g, round, selection, out, scratch_);
        }
        void release(stream, const round_ref& round) { dhisparse::release<typename Policies::hot_index, typename Policies::replacement>(step_, round); }
        void commit(stream s, const round_ref& round, const std::int32_t* accepted, std::int32_t unsettled, pass of) {
            release(s, round);
            dhisparse::commit(step_, round, accepted, unsettled, of);
        }
        void gather(stream, const gather_args& args) { dhisparse::gather(step_.tiers, step_.tables, args); }
        void apply(executor& executor, stream, const step_plan& plan) { executor.apply(plan, step_.tables, sizes_, layout_, step_.tiers); }

        const step_ref& step() const { return step_; }
        const tally& counts() const { return counts_; }
        void reset_counts() { counts_ = {}; }
        template <class T>
        static T read(const T* at) { return *at; }

    private:
        static std::int64_t most_entries(const page_layout& layout) {
            std::int64_t most = 0;
            for (int g = 0; g < layout.n_groups(); ++g) most = std::max(most, layout.hot_entries(g));
            return most;
        }
        page_layout layout_;
        slot_table_layout sizes_;
        round_arrays arrays_;
        resolve_scratch scratch_;
        staging staging_;
        std::vector<std::int32_t> block_first_, block_step_; // [blocks_per_page] of an index page
        tally counts_;
        step_ref step_;
    };
};

using host_backend = basic_host_backend<>;

} // namespace dhisparse
