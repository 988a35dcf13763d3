/// The host backend: everything in ordinary memory, every call done when it returns. The oracle.
#pragma once

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
    using stream = host_stream;
    using device_memory = host_resource; // slab and tables
    using host_memory = host_resource;   // the host tier
    using executor = host_executor<Copier>;

    /// The step path's own arrays, allocated once.
    template <class Policies>
    class step_path {
    public:
        step_path(const page_layout& layout, const slot_table_layout& tables, std::int32_t max_requests)
            : arrays_(max_requests, layout.limits().k_max, layout.n_groups(), layout.index().n_sources, tables.n_slots()),
              scratch_(most_entries(layout), std::int64_t{layout.limits().k_max} * layout.shape().k, layout.limits().hot_pages) {}

        round_ref append(stream, const step_ref& step, const batch_ref& batch) { return dhisparse::append(step, arrays_, batch); }
        void resolve(stream, const step_ref& step, int g, const round_ref& round, const selection_ref& selection, const locations_ref& out) {
            dhisparse::resolve<typename Policies::hot_index, typename Policies::replacement>(step, g, round, selection, out, scratch_);
        }
        void commit(stream, const step_ref& step, const round_ref& round, const std::int32_t* accepted) { dhisparse::commit(step, round, accepted); }

    private:
        static std::int64_t most_entries(const page_layout& layout) {
            std::int64_t most = 0;
            for (int g = 0; g < layout.n_groups(); ++g) most = std::max(most, layout.hot_entries(g));
            return most;
        }
        round_arrays arrays_;
        resolve_scratch scratch_;
    };
};

using host_backend = basic_host_backend<>;

} // namespace dhisparse
