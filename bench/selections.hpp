// What the queries of a benchmark select.
#pragma once

#include <dhisparse/core/config.hpp>

#include <trace/selection_trace.hpp>

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace dhisparse_bench {

namespace dh = dhisparse;

inline constexpr int k = 2048, page = 64;

/// One benchmark's conditions.
struct conditions {
    int requests = 1;
    int queries = 1;      // K of every request
    int k_max = 0;        // K_max; 0: K
    bool widths = false;  // K comes from device memory, also where it is 1
    bool disjoint = false; // no query selects what another one does: each has its part of the pool
    double pages = 0;     // share of the selected rows that lie in mapped pages
    double missed = 0;    // share that is nowhere on the GPU; the rest is hot
    int pool = 3000;      // rows that hot selections are drawn from
    int entries = 4096;   // B
    int groups = 1;       // of four lanes of 576 bytes, used in turn
    std::int32_t positions = 32768;
    std::int32_t growth = 1;
    bool cold = false;    // caches overwritten before every resolve
    bool trace = false;   // K = 1: what a real model's indexers have selected, each position as eight; `pages`, `missed` and `pool` don't count
    int per_graph = 24;
    int leased = 0;       // pages of the pool that are nobody's, for copies beside the resolves
};

/// One request's rows, and selections of them.
class selectable_rows {
public:
    std::vector<std::int32_t> mapped, hot, others; // rows of mapped pages; `pool` others; the rest
    std::mt19937 random;

    selectable_rows(const conditions& c, int request) : random(static_cast<unsigned>(7 + request)), c_(c), request_(static_cast<std::size_t>(request)) {}

    /// [K][k] rows. For K > 1 all queries draw from one pool that holds the missed rows too.
    void select(double missed, std::int32_t* out) {
        if (c_.trace) return replay(out);
        if (hot.empty()) {
            for (int q = 0; q < c_.queries; ++q) draw(mapped, k, out + q * k);
            return;
        }
        const auto n_pages = static_cast<int>(c_.pages * k);
        const auto from = c_.disjoint ? c_.queries * k : c_.queries == 1 ? k : c_.pool;
        const auto n_missed = static_cast<int>(missed * from + static_cast<double>(random() % 1000) / 1000.0);
        std::vector<std::int32_t> fresh;
        for (int i = 0; i < n_missed; ++i) fresh.push_back(others[std::exchange(next_, (next_ + 1) % others.size())]);
        if (c_.queries == 1) {
            draw(hot, k - n_pages - n_missed, out);
            std::copy(fresh.begin(), fresh.end(), out + k - n_pages - n_missed);
            if (n_pages) draw(mapped, n_pages, out + k - n_pages);
            return std::shuffle(out, out + k, random);
        }
        auto pool = hot;
        std::copy(fresh.begin(), fresh.end(), pool.begin());
        for (int q = 0; q < c_.queries; ++q) c_.disjoint ? draw_part(pool, q, fresh.size(), out + q * k) : draw(pool, k, out + q * k);
    }

private:
    /// n distinct rows of a set, in random order.
    void draw(std::vector<std::int32_t>& from, int n, std::int32_t* out) {
        for (int i = 0; i < n; ++i) {
            std::swap(from[static_cast<std::size_t>(i)], from[static_cast<std::size_t>(i) + random() % (from.size() - static_cast<std::size_t>(i))]);
            out[i] = from[static_cast<std::size_t>(i)];
        }
    }
    /// Of the rows that are query q's alone; the pool's first n_missed rows are missing, and every query has as many of them.
    void draw_part(const std::vector<std::int32_t>& pool, int q, std::size_t n_missed, std::int32_t* out) {
        const auto queries = static_cast<std::size_t>(c_.queries);
        std::vector<std::int32_t> part;
        for (auto i = static_cast<std::size_t>(q); i < pool.size(); i += queries) part.push_back(pool[i]);
        const auto n = n_missed / queries;
        std::vector<std::int32_t> rest(part.begin() + static_cast<std::ptrdiff_t>(n), part.end());
        draw(rest, k - static_cast<int>(n), out);
        std::copy_n(part.begin(), n, out + k - static_cast<std::ptrdiff_t>(n));
        std::shuffle(out, out + k, random);
    }
    /// The next step of the trace, forth and back. Requests begin at different steps, of different producers.
    void replay(std::int32_t* out) {
        static const auto trace = dhisparse_test::selection_trace::load();
        const auto of = request_ % trace.n_requests(), producer = request_ / trace.n_requests() % dhisparse_test::n_producers;
        const auto last = trace.n_steps(of) - 1, at = (next_++ + 17 * request_) % (2 * last);
        const auto step = trace.step(of, at < last ? at : 2 * last - at, producer);
        constexpr std::int32_t scale = 8;
        for (const auto row : step.rows)
            for (std::int32_t i = 0; i < scale; ++i) *out++ = row * scale + i;
    }

    conditions c_;
    std::size_t request_, next_ = 0; // of `others`: each is missed once in a long while; or of the trace's steps
};

} // namespace dhisparse_bench
