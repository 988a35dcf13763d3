/// The path without misses: every entry's place on the GPU. Kept short, since a kernel this small is
/// bound by the latency of its instructions and loads, not by bandwidth.
#pragma once

#include <dhisparse/resolve/row_fetch.cuh>

namespace dhisparse {

/// OneQuery: every request has one query, request r's being row r of the selection. Items: neighbouring
/// entries that a thread looks up at once, 1 or 4 (which wants resolve_params::by_four).
template <class Index, bool OneQuery, int Items>
class look_up_agent {
public:
    __device__ look_up_agent(const resolve_params& p, resolve_shared& shared, const resolve_memory& memory, const resolve_request<Index>& request)
        : p_(p), shared_(shared), memory_(memory), r_(request), begin_(request.rank * p.tuning.block_entries),
          end_(min(request.n_queries * p.selection.k, begin_ + p.tuning.block_entries)) {}

    /// What the thread's first entries select: loads that need not know the slot, so that they are on their
    /// way while it is read.
    __device__ void start() { load(begin_ + static_cast<std::int32_t>(threadIdx.x) * Items); }
    /// Loads of the first entries' pages, on their way while the block readies its shared memory.
    __device__ void find_pages() { find(); }

    /// Behind the block's preparation. Bits of the thread's entries that are missing or can't be had.
    __device__ void run() {
        std::uint32_t hot_history = 0, tail = 0; // entries found: hot (low half), history (high half)
#pragma unroll 1
        for (std::int32_t at = 0;; at += Items) {
            location to[Items];
#pragma unroll
            for (int u = 0; u < Items; ++u) {
                to[u] = no_location;
                if (gpu_[u] >= 0) {
                    to[u] = gpu_[u] * p_.locations_per_page + static_cast<std::int32_t>(p_.rows_per_page.remainder(static_cast<std::uint32_t>(row_[u]), static_cast<std::uint32_t>(page_[u])));
                    page_[u] >= r_.record.tail_page ? ++tail : hot_history += 1 << 16;
                } else if (row_[u] >= 0) {
                    const auto code = Items == 1 ? code_[u] : r_.index.find(row_[u]);
                    if (code < p_.entries) {
                        r_.used[code] = r_.now;
                        to[u] = memory_.hot_bases[p_.rows_per_page.quotient(code)] + code;
                        ++hot_history;
                    } else miss(entry_ + u, row_[u], gpu_[u], page_[u], at + u);
                }
            }
            store(to);
            const auto next = entry_ + block_threads() * Items;
            if (Items == 1 ? begin_ + (at + 1) * block_threads() >= end_ : begin_ + (at + Items) * block_threads() >= end_) break;
            load(next);
            find();
        }
        count(hot_history, tail);
    }

    std::uint32_t missing = 0, lost = 0; // bits of the thread's entries, in order of look-up

private:
    __device__ std::int32_t query_of(std::int32_t e) const { return OneQuery ? 0 : static_cast<std::int32_t>(p_.k.quotient(static_cast<std::uint32_t>(e))); }
    __device__ std::int32_t column_of(std::int32_t e, std::int32_t q) const { return OneQuery ? e : e - q * p_.selection.k; }

    /// The rows of the entries from e on. Four entries are of one query: k is a multiple of four then.
    __device__ void load(std::int32_t e) {
        entry_ = e;
        query_ = query_of(e);
        const auto* from = p_.selection.rows + (r_.first_query + query_) * p_.selection.stride + column_of(e, query_);
        if constexpr (Items == 4) {
            const auto rows = e < end_ ? *reinterpret_cast<const int4*>(from) : int4{-1, -1, -1, -1};
            row_[0] = rows.x, row_[1] = rows.y, row_[2] = rows.z, row_[3] = rows.w;
        } else
            row_[0] = e < end_ ? *from : -1;
        if (!OneQuery && e < end_) position_ = p_.query_positions[r_.first_query + query_];
    }
    __device__ void store(const location (&to)[Items]) const {
        if (entry_ >= end_) return;
        auto* at = p_.out.at + (r_.first_query + query_) * p_.out.stride + column_of(entry_, query_);
        if constexpr (Items == 4) *reinterpret_cast<int4*>(at) = {to[0], to[1], to[2], to[3]};
        else *at = to[0];
    }

    /// Pages and codes of the rows at hand; -1 for those that their query may not see.
    __device__ void find() {
        const auto limit = r_.visible_rows(p_, OneQuery ? r_.record.frontier : position_);
        const auto* page_map = r_.page_map(p_);
#pragma unroll
        for (int u = 0; u < Items; ++u) {
            gpu_[u] = -1;
            if (static_cast<std::uint32_t>(row_[u]) < limit) {
                page_[u] = static_cast<std::int32_t>(p_.rows_per_page.quotient(static_cast<std::uint32_t>(row_[u])));
                gpu_[u] = page_map[page_[u]];
                if constexpr (Items == 1) code_[u] = r_.index.find(row_[u]); // few requests: latency counts, not traffic
            } else {
                if (row_[u] != -1) count_violation(p_, violation::row_out_of_range);
                row_[u] = -1;
            }
        }
    }

    __device__ void miss(std::int32_t e, std::int32_t row, std::int32_t gpu, std::int32_t page, std::int32_t at) {
        const auto from = is_departing(gpu) ? gpu : r_.page_map(p_)[r_.record.n_pages + page];
        const bool had = note_missing<Index>(p_, shared_, memory_.slots, r_.index, from, row, e);
        (had ? missing : lost) |= 1u << at;
    }

    __device__ void count(std::uint32_t hot_history, std::uint32_t tail) const {
        const auto found = __reduce_add_sync(0xFFFFFFFF, hot_history);
        tail = __reduce_add_sync(0xFFFFFFFF, tail);
        if (threadIdx.x % 32 != 0) return;
        auto& counts = counts_of_block(p_);
        add(counts.hot, found & 0xFFFF);
        add(counts.history, found >> 16);
        add(counts.tail, tail);
    }

    const resolve_params& p_;
    resolve_shared& shared_;
    const resolve_memory& memory_;
    const resolve_request<Index>& r_;
    const std::int32_t begin_, end_;
    std::int32_t entry_ = 0, query_ = 0, position_ = 0;
    std::int32_t row_[Items], page_[Items], gpu_[Items];
    hot_code code_[Items];
};

/// How many locations a query will have: the entries that it may see. By all threads of a block.
template <class Index>
class visible_count {
public:
    __device__ visible_count(const resolve_params& p, const resolve_request<Index>& request) : p_(p), r_(request) {}

    /// The query's first rows: loads on their way while the slot is read.
    __device__ void start(std::int32_t query) {
        query_ = query;
        if (p_.by_four) load(static_cast<std::int32_t>(threadIdx.x));
    }
    /// Behind start(), for a query that sees up to a position.
    __device__ void finish(std::int32_t position, std::int32_t& out) {
        const auto limit = r_.visible_rows(p_, position);
        const auto is = [&](std::int32_t row) { return static_cast<std::uint32_t>(static_cast<std::uint32_t>(row) < limit); };
        std::uint32_t n = 0;
        if (p_.by_four) {
#pragma unroll 1
            for (auto i = static_cast<std::int32_t>(threadIdx.x);;) {
                for (const auto& at : rows_) n += is(at.x) + is(at.y) + is(at.z) + is(at.w);
                if ((i += 2 * block_threads()) >= p_.selection.k / 4) break;
                load(i);
            }
        } else
#pragma unroll 1
            for (auto i = static_cast<std::int32_t>(threadIdx.x); i < p_.selection.k; i += block_threads()) n += is(from()[i]);
        n = __reduce_add_sync(0xFFFFFFFF, n);
        if (threadIdx.x % 32 == 0 && n) atomicAdd(&out, static_cast<std::int32_t>(n));
    }

private:
    __device__ const std::int32_t* from() const { return p_.selection.rows + (r_.first_query + query_) * p_.selection.stride; }
    __device__ void load(std::int32_t i) {
#pragma unroll
        for (int u = 0; u < 2; ++u, i += block_threads()) rows_[u] = i < p_.selection.k / 4 ? reinterpret_cast<const int4*>(from())[i] : int4{-1, -1, -1, -1};
    }
    const resolve_params& p_;
    const resolve_request<Index>& r_;
    std::int32_t query_ = 0;
    int4 rows_[2];
};

} // namespace dhisparse
