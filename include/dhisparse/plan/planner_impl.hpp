/// Definitions for planner.hpp.
#pragma once

#include <dhisparse/plan/planner.hpp>
#include <dhisparse/policy/hot_index/dense.hpp>
#include <dhisparse/policy/layout/page_major.hpp>
#include <dhisparse/policy/layout/source_planes.hpp>
#include <dhisparse/residency/slot_tables.hpp>
#include <dhisparse/tail/tail_pages.hpp>

#include <algorithm>

namespace dhisparse::plan {
namespace detail {

inline void validate(const request& asked) {
    dhisparse::validate(asked.shape);
    const auto p = std::int64_t{asked.shape.page_positions};
    const auto longest = asked.shape.max_positions > 0 ? asked.shape.max_positions : std::int64_t{1} << 30;
    require_in<std::int64_t>(asked.context, 1, longest, "context");
    require(asked.hot_rows > 0 && asked.hot_rows % p == 0, "hot_rows is ", asked.hot_rows, ", permitted: multiples of the page's ", p,
            " positions");
    for (const auto& source : asked.shape.sources)
        require(asked.hot_rows / source.positions_per_row >= asked.shape.k, "hot_rows is ", asked.hot_rows, ", which is ",
                asked.hot_rows / source.positions_per_row, " rows of layer ", source.layer, ", permitted: at least k = ", asked.shape.k);
    if (asked.drafter) dhisparse::detail::validate_drafter(*asked.drafter);
    if (asked.slots) require_in(*asked.slots, 1, 1 << 20, "slots");
    require_in(asked.steps_ahead, 0, 64, "steps_ahead");
    require_in<std::int64_t>(asked.hbm_bytes, 0, INT64_MAX, "hbm_bytes");
    require_in<std::int64_t>(asked.host_bytes, 0, INT64_MAX, "host_bytes");
    require(asked.miss_rate >= 0 && asked.miss_rate <= 1, "miss_rate is ", asked.miss_rate, ", permitted: 0 to 1");
}

/// Rows that one announcement's selection may fetch, in bytes: k rows in each lane of the group.
inline std::int64_t selection_bytes(const model_shape& shape, int group) {
    const auto& lanes = shape.groups[static_cast<std::size_t>(group)];
    const auto& source = shape.sources[static_cast<std::size_t>(source_of(shape, lanes.front()))];
    return checked_mul(checked_mul(shape.k, static_cast<std::int64_t>(lanes.size()), "selection rows"), source.row_bytes, "selection bytes");
}

/// Bytes of `positions`, whole pages, in every source: of(source) are those of one entry of `each` positions.
template <class Each, class Of>
std::int64_t sum_over(const model_shape& shape, std::int64_t positions, Each each, Of of) {
    std::int64_t sum = 0;
    for (const auto& source : shape.sources)
        sum = checked_add(sum, checked_mul(positions / each(source), of(source), "bytes of a session"), "bytes of a session");
    return sum;
}
inline std::int64_t row_bytes_of(const model_shape& shape, std::int64_t positions) {
    return sum_over(shape, positions, [](const source_shape& s) { return s.positions_per_row; }, [](const source_shape& s) { return s.row_bytes; });
}

/// Slots' tables, split evenly; the metadata region has a run for each.
inline std::int64_t metadata_bytes(const page_layout& layout, std::int32_t slots, std::int64_t positions) {
    const auto sizes = slot_table_layout::make<dense>(layout, slots, 0);
    const auto run = sizes.run_bytes(sizes.pages_for(positions));
    return ceil_div<std::int64_t>(slot_table_layout::make<dense>(layout, slots, checked_mul(run, slots, "metadata bytes")).bytes(), slots);
}

template <class Layout>
allocated_bytes allocate(const request& asked, const session_bytes& session, std::int32_t slots) {
    const auto p = asked.shape.page_positions;
    const layout_limits limits{1, asked.hot_rows / p, asked.k_max()};
    auto layout = page_layout::make<Layout>(asked.shape, limits);
    const auto ahead = positions_ahead(asked.k_max(), asked.steps_ahead);
    allocated_bytes out;
    out.layout = Layout::name;
    out.page = layout.page_bytes();
    out.hot_pages = limits.hot_pages;
    out.tail_pages = required_tail_pages(p, asked.k_max(), asked.steps_ahead);
    out.index_pages = layout.index_pages(ceil_div<std::int64_t>(asked.context + ahead, p));
    out.leased_pages = ceil_div(session.unselected, out.page);
    const auto pages = out.hot_pages + out.tail_pages + out.index_pages + out.leased_pages;
    const auto pool_pages = asked.hbm_bytes > 0 ? asked.hbm_bytes / out.page : checked_mul(pages, slots, "pool pages");
    layout = page_layout::make<Layout>(asked.shape, {std::max(pool_pages, pages), limits.hot_pages, limits.k_max, slots}); // may refuse
    out.staging = ceil_div<std::int64_t>(layout.staging_bytes(), slots);
    out.tail = out.tail_pages * layout.payload_bytes();
    out.metadata = metadata_bytes(layout, slots, asked.context + ahead);
    out.page_padding = (out.hot_pages + out.tail_pages) * (out.page - layout.payload_bytes()) + out.leased_pages * out.page - session.unselected;
    out.index_padding = checked_mul(out.index_pages, out.page, "index bytes") - session.index;
    out.total = checked_mul(pages, out.page, "bytes of a session") + out.metadata + session.ring + out.staging;
    return out;
}

inline allocated_bytes allocate(const request& asked, const session_bytes& session, std::int32_t slots) {
    try {
        return allocate<page_major>(asked, session, slots);
    } catch (const error&) { // row widths that share no small multiple, or too many locations
    }
    try {
        return allocate<source_planes>(asked, session, slots);
    } catch (const error& why) {
        throw invalid_argument(text("no layout has such pages: ", why.what()));
    }
}

inline void count_sessions(deployment& out) {
    if (out.asked.hbm_bytes > 0) {
        const auto hbm = out.asked.hbm_bytes;
        out.sessions_hbm = hbm / out.session.required();
        out.sessions_hbm_allocated = hbm / out.allocated.total;
        out.sessions_resident = hbm / out.session.resident();
    }
    if (out.asked.host_bytes > 0 && out.host_session > 0) out.sessions_host = out.asked.host_bytes / out.host_session;
    if (!out.sessions_hbm) return;
    if (std::min(*out.sessions_hbm, out.sessions_host.value_or(INT64_MAX)) > *out.sessions_resident) out.break_even = *out.sessions_resident + 1;
    auto running = std::min<std::int64_t>(*out.sessions_hbm, out.asked.slots.value_or(INT32_MAX));
    if (out.sessions_host) running = std::min(running, *out.sessions_host);
    out.optional_bytes = out.asked.hbm_bytes - running * out.session.required();
}

/// Sessions at one width, by both tiers where HBM is known, else as published; speculating ones at most `slots`.
inline std::int64_t sessions_at(const deployment& of, int k) {
    auto one = of.asked;
    if (k == 1) one.drafter.reset();
    else one.drafter->k_max = k;
    const auto fit = one.hbm_bytes > 0 ? std::min(one.hbm_bytes / bytes_of(one).required(), of.sessions_host.value_or(INT64_MAX))
                     : k == 1          ? published::sessions_plain
                                       : published::sessions_spec;
    return k == 1 ? fit : std::min<std::int64_t>(fit, one.slots.value_or(INT32_MAX));
}

/// Without HBM, sessions and ratios are the published ones, of one model; ratios of widths beyond K_max say nothing.
inline void speculate(deployment& out) {
    const auto k_max = out.asked.k_max();
    out.widths = {{1, sessions_at(out, 1)}};
    out.sessions_plain = out.sessions_spec = out.widths.front().sessions;
    if (k_max == 1) return;
    auto& tpot = out.asked.tpot;
    const bool own = !tpot.empty();
    if (!own) tpot = published_tpot();
    std::erase_if(tpot, [&](const tpot_ratio& m) { return m.k > k_max; });
    require(!own || !tpot.empty(), "there is no TPOT ratio for a width from 2 to K_max = ", k_max);
    for (const auto& m : tpot)
        if (std::none_of(out.widths.begin(), out.widths.end(), [&](const width_sessions& w) { return w.k == m.k; }))
            out.widths.push_back({m.k, sessions_at(out, m.k)});
    out.sessions_spec = sessions_at(out, k_max);
    const auto [width, ratio] = least_tpot(tpot, static_cast<double>(out.sessions_spec));
    out.speculation_known = width > 0 && (out.asked.hbm_bytes > 0 || out.asked.shape.name == published::model);
    if (!out.speculation_known) return;
    out.tpot = ratio;
    out.speculation_pays = out.sessions_plain > 0 && plan::speculation_pays(static_cast<double>(out.sessions_spec), static_cast<double>(out.sessions_plain), ratio);
}

} // namespace detail

inline session_bytes bytes_of(const request& asked) {
    detail::validate(asked);
    const auto& shape = asked.shape;
    const auto p = std::int64_t{shape.page_positions};
    const auto positions = round_up(asked.context, p);
    session_bytes out;
    out.history = detail::row_bytes_of(shape, positions);
    out.index = detail::sum_over(shape, positions, [](const source_shape& s) { return s.key_positions(); }, [](const source_shape& s) { return s.index_key_bytes; });
    for (const auto& source : shape.unselected) out.unselected = checked_add(out.unselected, source.bytes(positions), "bytes of a session");
    out.hot = detail::row_bytes_of(shape, asked.hot_rows);
    out.tail = detail::row_bytes_of(shape, p);
    if (!asked.drafter) return out;
    out.ring = checked_mul(ring_rows(p, asked.drafter->window, asked.k_max()), asked.drafter->row_bytes, "ring bytes");
    std::int64_t widest = 0;
    for (int g = 0; g < static_cast<int>(shape.groups.size()); ++g) widest = std::max(widest, detail::selection_bytes(shape, g));
    out.staging = asked.k_max() > 1 ? staging_bytes(1, asked.k_max(), widest) : 0;
    return out;
}

inline deployment make(const request& asked) {
    deployment out;
    out.asked = asked;
    out.session = bytes_of(asked);
    out.positions = round_up(asked.context, asked.shape.page_positions);
    out.allocated = detail::allocate(asked, out.session, out.slots());
    if (asked.drafter) out.ring_rows = ring_rows(asked.shape.page_positions, asked.drafter->window, asked.k_max());
    out.staging_shared = checked_mul(out.slots(), out.session.staging, "staging bytes");
    for (int g = 0; g < static_cast<int>(asked.shape.groups.size()) && out.session.staging > 0; ++g)
        out.staging_dedicated += staging_bytes(out.slots(), asked.k_max(), detail::selection_bytes(asked.shape, g));
    for (const auto& said : asked.shape.announcements)
        out.host_bytes_per_token += asked.miss_rate * static_cast<double>(detail::selection_bytes(asked.shape, said.group));
    const auto layout = page_layout::make<source_planes>(asked.shape, {1, 0, 1});
    for (const auto& group : layout.groups())
        out.host_session += checked_mul(asked.context / group.positions_per_row, group.host_row_bytes, "host bytes of a session");
    detail::count_sessions(out);
    detail::speculate(out);
    return out;
}

inline std::int64_t default_hot_rows(const model_shape& shape) {
    auto rows = published::hot_rows;
    for (const auto& source : shape.sources) rows = std::max(rows, std::int64_t{shape.k} * source.positions_per_row);
    return round_up(rows, shape.page_positions);
}

inline model_shape with_row_bytes(model_shape shape, std::int64_t row_bytes) {
    require_in<std::int64_t>(row_bytes, 1, std::numeric_limits<std::int32_t>::max(), "row_bytes");
    for (auto& source : shape.sources) {
        source.row_bytes = row_bytes;
        source.runs.clear();
        source.alignment_bytes = 0;
    }
    return shape;
}

inline model_shape with_page_positions(model_shape shape, int page_positions) {
    require_in(page_positions, 1, 1 << 24, "page_positions");
    for (auto& source : shape.sources) {
        std::int64_t before = 0, after = 0; // where the next run starts
        for (auto& run : source.runs) {
            require(run.offset_bytes == before, "page_positions is ", page_positions, ", permitted: ", shape.page_positions,
                    " (the runs of layer ", source.layer, " leave gaps in its block)");
            run.offset_bytes = after;
            before += shape.page_positions / source.positions_per_row * run.stride_bytes;
            after += page_positions / source.positions_per_row * run.stride_bytes;
        }
    }
    shape.page_positions = page_positions;
    return shape;
}

} // namespace dhisparse::plan
