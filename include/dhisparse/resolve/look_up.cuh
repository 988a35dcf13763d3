/// The path without misses: every entry's place on the GPU. Kept short, since a kernel this small is
/// bound by the latency of its instructions and loads, not by bandwidth.
#pragma once

#include <dhisparse/resolve/row_fetch.cuh>

namespace dhisparse {

/// OneQuery: every request has one query, request r's being row r of the selection. Items: entries in flight a thread.
template <class Index, bool OneQuery, int Items>
class look_up_agent {
public:
    __device__ look_up_agent(const resolve_params& p, resolve_shared& shared, const resolve_memory& memory, const resolve_request<Index>& request, row_fetch<Index>& fetch)
        : p_(p), shared_(shared), memory_(memory), r_(request), fetch_(fetch), begin_(request.rank * p.tuning.block_entries),
          end_(min(request.n_queries * p.selection.k, begin_ + p.tuning.block_entries)) {}

    /// Loads that need not know the slot, so that they are on their way while it is read.
    __device__ void start() { load(0); }

    /// Bits of the thread's iterations in which its entry is missing.
    __device__ std::uint32_t run() {
        std::uint32_t missing = 0;
        const auto* page_map = r_.page_map(p_);
#pragma unroll 1
        for (std::int32_t it = 0;;) {
            std::int32_t page[Items], gpu[Items];
            hot_code code[Items];
#pragma unroll
            for (int u = 0; u < Items; ++u) {
                row_[u] = visible_row(row_[u], OneQuery ? r_.record.frontier : position_[u]);
                page[u] = static_cast<std::int32_t>(p_.rows_per_page.quotient(static_cast<std::uint32_t>(row_[u])));
                gpu[u] = row_[u] >= 0 ? page_map[page[u]] : -1;
                code[u] = Items == 1 && row_[u] >= 0 ? r_.index.find(row_[u]) : no_code; // few requests: latency counts, not traffic
            }
#pragma unroll
            for (int u = 0; u < Items; ++u) {
                const auto e = entry(it + u);
                const auto at = place(e, row_[u], page[u], gpu[u], code[u], it + u, missing);
                if (e < end_) p_.out.at[query_of(e) * p_.out.stride + column_of(e)] = at;
                count(e, at, gpu[u] >= 0, gpu[u] >= 0 && page[u] >= r_.record.tail_page);
            }
            it += Items;
            if (Items == 1 || begin_ + it * resolve_threads >= end_) return missing;
            load(it);
        }
    }

private:
    __device__ std::int32_t entry(std::int32_t it) const { return begin_ + it * resolve_threads + static_cast<std::int32_t>(threadIdx.x); }
    __device__ std::int32_t query_of(std::int32_t e) const {
        return OneQuery ? r_.first_query : r_.first_query + static_cast<std::int32_t>(p_.k.quotient(static_cast<std::uint32_t>(e)));
    }
    __device__ std::int32_t column_of(std::int32_t e) const {
        return OneQuery ? e : static_cast<std::int32_t>(p_.k.remainder(static_cast<std::uint32_t>(e), p_.k.quotient(static_cast<std::uint32_t>(e))));
    }

    /// Rows and their queries' positions of the iterations [it, it + Items).
    __device__ void load(std::int32_t it) {
#pragma unroll
        for (int u = 0; u < Items; ++u) {
            const auto e = entry(it + u);
            const auto q = e < end_ ? query_of(e) : r_.first_query;
            row_[u] = e < end_ ? p_.selection.rows[q * p_.selection.stride + column_of(e)] : -1;
            if (!OneQuery) position_[u] = p_.query_positions[q];
        }
    }

    /// The row, -1 where it is none or its query may not see it: equation (5).
    __device__ std::int32_t visible_row(std::int32_t row, std::int32_t position) {
        const auto positions = min(position + 1, r_.record.positions);
        if (row >= 0 && std::int64_t{row} * p_.positions_per_row + p_.lead_positions <= positions) return row;
        if (row != -1) atomicAdd(&shared_.tail_bad, 1u << 16);
        return -1;
    }

    __device__ location place(std::int32_t e, std::int32_t row, std::int32_t page, std::int32_t gpu, hot_code code, std::int32_t it, std::uint32_t& missing) {
        if (gpu >= 0) return gpu * p_.locations_per_page + static_cast<std::int32_t>(p_.rows_per_page.remainder(static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(page)));
        if (row < 0) return no_location;
        if (Items > 1) code = r_.index.find(row);
        if (code < p_.entries) {
            r_.used[code] = r_.now;
            return memory_.hot_bases[p_.rows_per_page.quotient(code)] + code;
        }
        const auto host = r_.page_map(p_)[r_.record.n_pages + page];
        if (host < 0) atomicAdd(&shared_.unreachable, 1);
        else {
            missing |= 1u << it;
            if (r_.index.claim(row, static_cast<hot_code>(p_.entries + e)) != no_code) shared_.repeated = 1;
            else fetch_.start(row, host_page{host}); // the first to claim it copies it
        }
        return no_location;
    }

    __device__ void count(std::int32_t e, location at, bool mapped, bool tail) {
        const auto found = __ballot_sync(0xFFFFFFFF, at >= 0);
        const auto in_pages = __popc(__ballot_sync(0xFFFFFFFF, mapped)), in_tail = __popc(__ballot_sync(0xFFFFFFFF, tail));
        if (threadIdx.x % 32 == 0 && found) atomicAdd(&shared_.found_mapped, static_cast<std::uint32_t>(__popc(found) + (in_pages << 16)));
        if (threadIdx.x % 32 == 0 && in_tail) atomicAdd(&shared_.tail_bad, static_cast<std::uint32_t>(in_tail));
        if (!OneQuery) count_by_query(e, found, at >= 0);
    }
    /// A warp's entries follow one another: one addition a query where it has only one.
    __device__ void count_by_query(std::int32_t e, std::uint32_t found, bool is) {
        const auto q = e < end_ ? query_of(e) - r_.first_query : -1;
        int one = 0;
        __match_all_sync(0xFFFFFFFF, q, &one);
        if (!one) {
            if (is) atomicAdd(&memory_.by_query[q], 1);
        } else if (q >= 0 && threadIdx.x % 32 == 0 && found) atomicAdd(&memory_.by_query[q], __popc(found));
    }

    const resolve_params& p_;
    resolve_shared& shared_;
    const resolve_memory& memory_;
    const resolve_request<Index>& r_;
    row_fetch<Index>& fetch_;
    const std::int32_t begin_, end_;
    std::int32_t row_[Items], position_[Items];
};

} // namespace dhisparse
