/// The CUDA backend: the same calls as the host backend, in the engine's stream and graph. Its kernels are in
/// dhisparse::cuda, so that a C++ compiler with the CUDA headers compiles this too.
#pragma once

#include <dhisparse/executor/cuda_executor.cuh>
#include <dhisparse/memory/device_pointer.cuh>
#include <dhisparse/memory/pinned_range.cuh>
#include <dhisparse/resolve/resolver.cuh>
#include <dhisparse/round/launch.cuh>
#include <dhisparse/round/promoter.cuh>

namespace dhisparse {

struct cuda_backend {
    static constexpr const char* name = "cuda";
    static constexpr bool stages = true; // unions larger than the hot cache
    static constexpr bool has_passes = true; // a draft pass, and unsettled positions
    using stream = cudaStream_t;
    using device_memory = dhisparse::device_memory;
    using host_memory = pinned_range;

    /// Everything on the device that rounds and edits need beside the tables and the tiers.
    template <class Policies>
    class step_path {
    public:
        using index = typename Policies::hot_index;
        using replacement = typename Policies::replacement;
        using resolver = dhisparse::resolver<index, replacement>;
        using promoter = dhisparse::promoter<index, typename Policies::promotion>;

        step_path(const page_layout& layout, const slot_table_layout& tables, std::int32_t max_requests, std::byte* slab, std::byte* host, std::byte* table_memory)
            : groups_(layout.groups()), lanes_(layout.lanes()), group_tables_(tables.groups()), max_requests_(max_requests),
              arrays_{max_requests, max_requests * layout.limits().k_max, layout.n_groups(), layout.index().n_sources}, numbers_(arrays_.size()), seen_(tables.n_slots()), records_(max_requests), news_(std::int64_t{max_requests} * max_cluster), leaders_(std::int64_t{max_requests} * max_cluster),
              counts_(tally_shards), snapshot_(1), done_(1), next_(max_requests) {
            cuda_check(cudaGetDevice(&device_), "cudaGetDevice");
            cuda_check(cudaDeviceGetAttribute(&processors_, cudaDevAttrMultiProcessorCount, device_), "processors");
            require_memory_of(device_, slab, "pool memory"); // each may be lent
            require_memory_of(device_, host, "host memory");
            require_memory_of(device_, table_memory, "table memory");
            if (resolver::compiled_arch() < 90) processors_ = 0; // no clusters in that code: as few blocks a request as will do
            describe(layout, tables, slab, host, table_memory);
            describe_index(layout);
            make_staging(layout, tables.n_slots());
            clear(tables);
            allow_shared_memory(layout);
        }

        round_ref append(stream s, const batch_ref& batch) {
            const device_guard guard(device_);
            require_in(batch.n_requests, 0, max_requests_, "requests of a batch");
            require_memory_of(device_, batch.slots, "slots of a batch");
            require_memory_of(device_, batch.widths, "widths of a batch");
            const auto round = round_of(batch);
            if (batch.n_requests > 0) launch_append({step_, round, batch, seen_.data()}, s);
            return round;
        }
        void resolve(stream s, int g, const round_ref& round, const selection_ref& selection, const locations_ref& out) {
            const device_guard guard(device_);
            require_memory_of(device_, selection.rows, "a selection");
            require_memory_of(device_, out.at, "memory for locations");
            release(s, round);
            const auto params = params_of(g, round, selection, out);
            resolver::launch(params, round.n_requests, round.one_query, s);
            if (params.staging.rows_per_slot > 0) promoter::plan({step_, round, selection, staged_rows_.data(), uses_.data(), uses_stride_, g}, s);
        }
        void release(stream s, const round_ref& round) {
            if (!step_.staging.any()) return;
            const device_guard guard(device_);
            promoter::release(step_, round, s);
        }
        void commit(stream s, const round_ref& round, const std::int32_t* accepted, std::int32_t unsettled, pass of) {
            const device_guard guard(device_);
            require_memory_of(device_, accepted, "accepted counts");
            release(s, round);
            launch_commit({step_, round, accepted, tally_shards, snapshot_.data(), done_.data(), next_.data(), unsettled, of}, s);
        }
        void gather(stream s, const gather_args& args) {
            const device_guard guard(device_);
            launch_gather(step_.tiers, step_.tables, args, s);
        }
        void apply(cuda_executor& executor, stream s, const step_plan& plan) {
            const device_guard guard(device_);
            executor.apply(s, plan, edits_, step_.tiers);
        }

        const step_ref& step() const { return step_; }
        /// The counters as of the last commit that is done; never waits.
        tally counts() const { return *snapshot_.data(); }
        /// Zeroes the counters behind what the device has been given; waits for it.
        void reset_counts() {
            const device_guard guard(device_);
            cuda_check(cudaMemset(counts_.data(), 0, tally_shards * sizeof(tally)), "counters");
            cuda_check(cudaDeviceSynchronize(), "counters");
            *snapshot_.data() = {};
        }
        /// A value from the tables; waits for the device. For tests and tools.
        template <class T>
        static T read(const T* at) {
            T out{};
            cuda_check(cudaMemcpy(&out, at, sizeof(T), cudaMemcpyDefault), "read from the device");
            return out;
        }

    private:
        void describe(const page_layout& layout, const slot_table_layout& tables, std::byte* slab, std::byte* host, std::byte* table_memory) {
            step_.tiers = {slab, host, layout.host_page_bytes(), groups_.data(), lanes_.data(), layout.n_groups(), {}};
            step_.tables = tables.at(table_memory);
            step_.groups = group_tables_.data();
            step_.counts = counts_.data();
            step_.n_index_sources = layout.index().n_sources;
            step_.k_max = layout.limits().k_max;
            step_.page_positions = fast_divisor(static_cast<std::uint32_t>(layout.shape().page_positions));
            host_groups_ = layout.groups();
            host_tables_ = tables.groups();
            for (const auto& group : host_groups_) row_bytes_.push_back(layout.lanes()[static_cast<std::size_t>(group.first_lane)].row_bytes);
        }
        void describe_index(const page_layout& layout) {
            std::vector<std::int32_t> first, step;
            for (std::int32_t i = 0; i < layout.index().blocks_per_page; ++i) {
                first.push_back(layout.index_block(gpu_page{0}, i));
                step.push_back(layout.index_block(gpu_page{1}, i) - first.back());
            }
            block_first_ = array_of<std::int32_t>(first);
            block_step_ = array_of<std::int32_t>(step);
            edits_ = {step_.tables, {}, layout.index(), block_first_.data(), block_step_.data()};
            step_.tiers.index = {layout.index().pitch_bytes, layout.index().blocks_per_page, block_first_.data(), block_step_.data()};
        }
        /// Allocates nothing where no group stages rows.
        void make_staging(const page_layout& layout, std::int32_t n_slots) {
            host_staging_ = layout.staging();
            const std::int32_t rows = layout.staged_rows_per_slot();
            if (rows == 0) return;
            for (const auto& group : host_tables_) uses_stride_ = std::max<std::int64_t>(uses_stride_, group.entries);
            uses_stride_ += rows;
            uses_ = array_of<std::uint32_t>(2 * uses_stride_ * max_requests_);
            staging_ = array_of<staging_placement>(host_staging_);
            staged_ = array_of<staged_slot>(std::vector<staged_slot>(static_cast<std::size_t>(n_slots)));
            promotions_ = array_of<promotion>(std::int64_t{n_slots} * rows);
            staged_rows_ = array_of<std::int32_t>(std::int64_t{n_slots} * rows);
            step_.staging = {staging_.data(), staged_.data(), promotions_.data(), rows};
        }
        void clear(const slot_table_layout& tables) {
            edits_.run = tables.shape(group_tables_.data());
            cuda_check(cudaMemset(step_.tables.records, 0, sizeof(slot_record) * static_cast<std::size_t>(tables.n_slots())), "slot records");
            cuda_check(cudaMemset(counts_.data(), 0, tally_shards * sizeof(tally)), "counters");
            cuda_check(cudaMemset(done_.data(), 0, 4), "counters");
            cuda_check(cudaDeviceSynchronize(), "tables");
            *snapshot_.data() = {};
        }
        void allow_shared_memory(const page_layout& layout) {
            std::int64_t most = 0;
            for (std::int32_t g = 0; g < layout.n_groups(); ++g)
                for (std::int32_t requests = 1; requests <= 2 * max_requests_; requests *= 2) {
                    const auto tuning = tuning_of(g, std::min(requests, max_requests_), step_.k_max, layout.shape().k);
                    require(processors_ > 0 || tuning.cluster == 1, "k_max x k = ", layout.limits().k_max, " x ", layout.shape().k,
                            " needs several blocks a request, which code compiled for less than sm_90 has not; permitted: up to 8192");
                    most = std::max(most, shared_bytes(g, tuning));
                }
            int limit = 0;
            cuda_check(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device_), "shared memory");
            require(most <= limit, "k_max x k = ", layout.limits().k_max, " x ", layout.shape().k, " needs ", most,
                    " bytes of shared memory a block on this device, permitted: ", limit);
            resolver::prepare(most);
        }
        std::int64_t shared_bytes(std::int32_t g, const resolve_tuning& tuning) const {
            return resolver::shared_bytes(tuning, host_groups_[static_cast<std::size_t>(g)].n_lanes, step_.tables.hot_pages_per_slot, step_.k_max,
                                          host_tables_[static_cast<std::size_t>(g)].entries);
        }
        resolve_tuning tuning_of(std::int32_t g, std::int32_t requests, std::int32_t queries, std::int32_t k) const {
            return tune_resolve(requests, std::int64_t{queries} * k, host_groups_[static_cast<std::size_t>(g)].host_row_bytes, processors_);
        }
        round_ref round_of(const batch_ref& batch) const {
            auto out = arrays_.at(records_.data(), numbers_.data());
            out.n_requests = batch.n_requests;
            out.n_queries = batch.widths ? batch.n_requests * step_.k_max : batch.n_requests; // an upper bound: widths are on the device
            out.one_query = batch.widths == nullptr;
            out.of = batch.of;
            return out;
        }
        resolve_params params_of(int g, const round_ref& round, const selection_ref& selection, const locations_ref& out) const {
            const auto& group = host_groups_[static_cast<std::size_t>(g)];
            const auto& parts = host_tables_[static_cast<std::size_t>(g)];
            const auto& tables = step_.tables;
            const auto one_part = std::int64_t{tables.n_slots} * tables.entries_per_slot;
            resolve_params params;
            params.first_query = round.first_query;
            params.query_positions = round.query_positions;
            params.selection = selection;
            params.out = out;
            params.out.k_padded = padded_width(selection, out);
            params.records = round.records;
            params.region = tables.region;
            params.hot_pages = tables.hot_pages;
            params.used = tables.entry_state + parts.first_entry;
            params.clocks = tables.clocks + g;
            params.counts = step_.counts;
            params.index_page_offset = parts.index_page_offset;
            params.index_fixed_offset = parts.index_fixed_offset;
            params.rows_per_page = group.rows_per_page;
            params.hot_pages_per_slot = tables.hot_pages_per_slot;
            params.entries_per_slot = tables.entries_per_slot;
            params.n_groups = tables.n_groups;
            params.entries = parts.entries;
            params.codes = parts.codes;
            params.locations_per_page = group.locations_per_page;
            params.positions_per_row = fast_divisor(static_cast<std::uint32_t>(group.positions_per_row));
            params.unfinished = group.partial_readable ? group.positions_per_row - 1 : 0;
            params.by_four = fits_four(selection, params.out);
            params.tuning = tuning_of(g, round.n_requests, round.one_query ? 1 : step_.k_max, selection.k);
            if (!params.by_four) params.tuning.items = 1;
            params.news = news_.data();
            params.leaders = leaders_.data();
            params.entered = params.used + one_part;
            params.rows = reinterpret_cast<std::int32_t*>(params.entered + one_part);
            params.k = fast_divisor(static_cast<std::uint32_t>(selection.k));
            params.group = group;
            params.tiers = step_.tiers;
            params.row_bytes = row_bytes_[static_cast<std::size_t>(g)];
            params.k_max = step_.k_max;
            if (!step_.staging.any()) return params;
            params.staging = host_staging_[static_cast<std::size_t>(g)];
            params.staged = staged_.data();
            params.staged_rows = staged_rows_.data();
            params.staged_stride = step_.staging.rows_per_slot;
            params.group_number = g;
            return params;
        }
        static bool fits_four(const selection_ref& selection, const locations_ref& out) {
            const auto numbers = static_cast<std::uint64_t>(selection.k | selection.stride | out.stride);
            return numbers % 4 == 0 && (reinterpret_cast<std::uintptr_t>(selection.rows) | reinterpret_cast<std::uintptr_t>(out.at)) % 16 == 0;
        }

        array_of<group_placement> groups_;
        array_of<source_placement> lanes_;
        array_of<group_tables> group_tables_;
        std::int32_t max_requests_;
        round_layout arrays_;
        array_of<std::int32_t> numbers_, seen_, block_first_, block_step_;
        array_of<slot_record> records_; // [max_requests] the round's
        array_of<block_news> news_;     // [max_requests][max_cluster]
        array_of<std::int32_t> leaders_; // as news_
        array_of<tally> counts_;
        array_of<tally, mapped_memory> snapshot_;
        array_of<std::uint32_t> done_;
        array_of<committed> next_; // [max_requests]
        std::vector<staging_placement> host_staging_;
        array_of<staging_placement> staging_;
        array_of<staged_slot> staged_;       // [n_slots]
        array_of<promotion> promotions_;     // [n_slots][rows_per_slot]
        array_of<std::int32_t> staged_rows_; // as promotions_
        array_of<std::uint32_t> uses_;       // [max_requests][2][uses_stride_]
        std::int64_t uses_stride_ = 0;
        std::vector<group_placement> host_groups_;
        std::vector<group_tables> host_tables_;
        std::vector<std::int64_t> row_bytes_;
        step_ref step_;
        edit_tables edits_;
        int device_ = 0, processors_ = 1; // 0: requests get as few blocks as will do
    };
    using executor = cuda_executor;
};

} // namespace dhisparse
