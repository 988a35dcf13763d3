#include "report.hpp"

#include "program.hpp"

#include <fmt/format.h>

#include <set>

namespace plan_program {
namespace {

namespace dh = dhisparse;
using dh::plan::deployment;

double gib(std::int64_t bytes) { return static_cast<double>(bytes) / static_cast<double>(dh::GiB); }
double ratio(const deployment& d) { return static_cast<double>(d.session.resident()) / static_cast<double>(d.session.required()); }
std::string or_null(const std::optional<std::int64_t>& value) { return value ? fmt::format("{}", *value) : "null"; }

/// Lines of a table: what, bytes, GiB, share of a whole.
struct table {
    std::int64_t whole = 1;
    std::string out = {};
    void heading(const std::string& text, std::int64_t bytes) {
        whole = bytes;
        out += fmt::format("\n{:<44}{:>18}{:>12}{:>9}\n", text, "bytes", "GiB", "share");
    }
    void line(const std::string& what, std::int64_t bytes) {
        out += fmt::format("{:<44}{:>18}{:>12.5f}{:>8.2f}%\n", what, bytes, gib(bytes), 100 * static_cast<double>(bytes) / static_cast<double>(whole));
    }
    void say(const std::string& what, const std::string& value) { out += fmt::format("{:<44}{}\n", what, value); }
    void count(const std::string& what, const std::optional<std::int64_t>& n) {
        if (n) say(what, fmt::format("{}", *n));
    }
};

void add_published(table& t, const deployment& d) {
    const auto& s = d.session;
    t.heading("a session, as published", s.resident());
    t.line("resident: every row on the GPU", s.resident());
    t.line("  rows", s.history);
    t.line("  index keys", s.index);
    if (s.unselected > 0) t.line("  rows that no selection covers", s.unselected);
    if (s.ring > 0) t.line("  draft ring", s.ring);
    t.line("required by the hierarchy", s.required());
    t.line("  index keys", s.index);
    if (s.unselected > 0) t.line("  rows that no selection covers", s.unselected);
    t.line("  hot cache", s.hot);
    t.line("  one tail page", s.tail);
    if (d.asked.drafter) t.line(fmt::format("  draft ring of {} rows", d.ring_rows), s.ring);
    if (d.asked.drafter) t.line("  staging", s.staging);
    t.say("resident / required", fmt::format("{:.1f}", ratio(d)));
}

void add_allocated(table& t, const deployment& d) {
    const auto& [session, a] = std::tie(d.session, d.allocated);
    t.heading(fmt::format("a session, as allocated ({})", a.layout), a.total);
    t.line("allocated", a.total);
    t.line("  index keys", session.index);
    if (session.unselected > 0) t.line(fmt::format("  {} leased pages: rows that no selection covers", a.leased_pages), session.unselected);
    t.line(fmt::format("  hot cache, {} pages of {} bytes", a.hot_pages, a.page), session.hot);
    t.line(fmt::format("  {} tail pages", a.tail_pages), a.tail);
    if (d.asked.drafter) t.line("  draft ring", session.ring);
    if (d.asked.drafter) t.line("  staging beyond the hot cache", a.staging);
    t.line("  metadata", a.metadata);
    t.line("  padding of pages", a.page_padding);
    t.line(fmt::format("  index pitch: rest of {} index pages", a.index_pages), a.index_padding);
}

void add_sessions(table& t, const deployment& d) {
    t.out += "\nsessions\n";
    if (!d.sessions_hbm) t.say("by HBM", "not said: give --hbm-gib");
    t.count("by HBM, as published", d.sessions_hbm);
    t.count("by HBM, as allocated", d.sessions_hbm_allocated);
    t.count("by HBM, all resident", d.sessions_resident);
    t.count("by host memory", d.sessions_host);
    if (d.sessions_hbm)
        t.say("the hierarchy pays from", d.break_even ? fmt::format("{} sessions on", *d.break_even) : "no number of sessions on");
    if (d.optional_bytes) {
        t.whole = d.asked.hbm_bytes;
        t.line("optional capacity beside these, share of HBM", *d.optional_bytes);
    }
    if (d.sessions_hbm && d.sessions_host && *d.sessions_host < *d.sessions_hbm)
        t.say("warning", fmt::format("host memory holds {} of the {} sessions that fit the GPU", *d.sessions_host, *d.sessions_hbm));
    if (d.sessions_resident && d.sessions_host && *d.sessions_host < *d.sessions_resident)
        t.say("warning", fmt::format("host memory holds fewer than the {} sessions that fit without the hierarchy", *d.sessions_resident));
    t.say("host bytes a session", fmt::format("{} ({:.5f} GiB)", d.host_session, gib(d.host_session)));
    t.say("host bytes a token", fmt::format("{:.0f} at a miss rate of {} %", d.host_bytes_per_token, 100 * d.asked.miss_rate));
    t.say("resolver calls a step", fmt::format("{}", dh::resolver_calls(d.asked.shape)));
    t.say("follower lanes a step", fmt::format("{}", dh::follower_lanes(d.asked.shape)));
}

/// The session counts of the measurements.
std::set<std::int64_t> loads(const deployment& d) {
    std::set<std::int64_t> out;
    for (const auto& m : d.asked.tpot) out.insert(m.sessions);
    return out;
}

void add_speculation(table& t, const deployment& d) {
    t.out += fmt::format("\nspeculation, {} slots\n", d.slots());
    t.say("draft rings of all slots", fmt::format("{:.2f} GiB", gib(d.session.ring * d.slots())));
    t.say("staging by (11), one arena for all groups", fmt::format("{:.2f} GiB", gib(d.staging_shared)));
    t.say("staging as allocated", fmt::format("{:.2f} GiB", gib(d.allocated.staging * d.slots())));
    t.say("staging, an arena for each source",
          fmt::format("{:.1f} GiB ({:.1f} times)", gib(d.staging_dedicated), static_cast<double>(d.staging_dedicated) / static_cast<double>(d.staging_shared)));
    if (!d.speculation_known)
        return t.say("whether speculation pays", d.asked.hbm_bytes > 0 ? fmt::format("not measured up to K = {}: give --tpot-file", d.asked.k_max())
                                                                       : "not known: give --hbm-gib");
    const auto share = d.sessions_plain > 0 ? fmt::format(" = {:.2f}", static_cast<double>(d.sessions_spec) / static_cast<double>(d.sessions_plain)) : "";
    t.say("sessions with / without speculation",
          fmt::format("{} / {}{}{}", d.sessions_spec, d.sessions_plain, share, d.asked.hbm_bytes > 0 ? "" : " (published for GLM-5.3: give --hbm-gib)"));
    t.say("TPOT with / without", fmt::format("{:.2f}", d.tpot));
    t.say("with every slot taken, speculation", d.speculation_pays ? "pays" : "doesn't pay");
    for (const auto load : loads(d))
        t.say(fmt::format("best width for {} sessions", load),
              fmt::format("{} (published schedule: {})", dh::plan::best_width(d.asked.tpot, d.widths, load), dh::plan::published_width(load)));
}

} // namespace

std::string table_text(const deployment& d) {
    table t;
    const auto& shape = d.asked.shape;
    t.out = fmt::format("{}: {} positions in {} pages of {}, {} layers, {} sources in {} groups, k = {}, B = {}, K_max = {}\n", shape.name,
                        d.asked.context, d.positions / shape.page_positions, shape.page_positions, shape.layers, shape.sources.size(),
                        shape.groups.size(), shape.k, d.asked.hot_rows, d.asked.k_max());
    add_published(t, d);
    add_allocated(t, d);
    add_sessions(t, d);
    if (d.asked.k_max() > 1) add_speculation(t, d);
    return t.out;
}

std::string json_text(const deployment& d) {
    std::string out;
    const auto add = [&](const char* key, const std::string& value) { out += fmt::format("{}\"{}\":{}", out.empty() ? "{" : ",", key, value); };
    const auto add_gib = [&](const char* key, std::int64_t bytes) { add(key, fmt::format("{}", gib(bytes))); };
    const auto& s = d.session;
    add("model", program::quoted(d.asked.shape.name));
    add("context", fmt::format("{}", d.asked.context));
    add("k_max", fmt::format("{}", d.asked.k_max()));
    add_gib("resident_gib", s.resident());
    add_gib("required_gib", s.required());
    add_gib("index_gib", s.index);
    add_gib("hot_gib", s.hot);
    add_gib("tail_gib", s.tail);
    add_gib("ring_gib", s.ring);
    add_gib("staging_gib", s.staging);
    add_gib("unselected_gib", s.unselected);
    add("ratio", fmt::format("{}", ratio(d)));
    add("sessions_hbm", or_null(d.sessions_hbm));
    add_gib("allocated_gib", d.allocated.total);
    add_gib("allocated_tail_gib", d.allocated.tail);
    add_gib("allocated_staging_gib", d.allocated.staging);
    add_gib("metadata_gib", d.allocated.metadata);
    add_gib("padding_gib", d.allocated.padding());
    add_gib("index_padding_gib", d.allocated.index_padding);
    add("layout", program::quoted(d.allocated.layout));
    add("sessions_hbm_allocated", or_null(d.sessions_hbm_allocated));
    add("sessions_resident", or_null(d.sessions_resident));
    add("break_even_sessions", or_null(d.break_even));
    add("optional_gib", d.optional_bytes ? fmt::format("{}", gib(*d.optional_bytes)) : "null");
    add("sessions_host", or_null(d.sessions_host));
    add_gib("host_gib_per_session", d.host_session);
    add("host_bytes_per_token", fmt::format("{}", d.host_bytes_per_token));
    add("resolver_calls", fmt::format("{}", dh::resolver_calls(d.asked.shape)));
    add("follower_lanes", fmt::format("{}", dh::follower_lanes(d.asked.shape)));
    add_gib("staging_dedicated_gib", d.staging_dedicated);
    add("ring_rows", fmt::format("{}", d.ring_rows));
    const bool known = d.speculation_known;
    add("tpot_ratio", known && d.asked.k_max() > 1 ? fmt::format("{}", d.tpot) : "null");
    add("speculation_pays", !known ? "null" : d.speculation_pays ? "true" : "false");
    std::string schedule;
    for (const auto load : known ? loads(d) : std::set<std::int64_t>{})
        schedule += fmt::format("{}{{\"sessions\":{},\"k\":{}}}", schedule.empty() ? "" : ",", load, dh::plan::best_width(d.asked.tpot, d.widths, load));
    add("width_schedule", "[" + schedule + "]");
    return out + "}";
}

} // namespace plan_program
