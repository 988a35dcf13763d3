#include "report.hpp"

#include <dhisparse/metrics/plot.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cstdio>

namespace engine {
namespace {

const char* name_of(ending how) {
    switch (how) {
    case ending::finished: return "finished";
    case ending::aborted: return "aborted";
    case ending::refused: return "refused";
    case ending::failed: return "failed";
    case ending::none: break;
    }
    return "unknown";
}

std::int64_t number_of(const outcome& found, ending how) {
    return std::ranges::count(found.replies, how, &reply::how);
}

/// Steps from arrival to admission, of those that were admitted: nearest rank.
std::int64_t wait_at(const outcome& found, double share) {
    std::vector<std::int64_t> waits;
    for (const auto& r : found.replies)
        if (r.admitted >= 0) waits.push_back(r.admitted - r.arrived);
    if (waits.empty()) return 0;
    std::ranges::sort(waits);
    const auto rank = static_cast<std::size_t>(share * static_cast<double>(waits.size()) + 0.999999);
    return waits[std::clamp<std::size_t>(rank, 1, waits.size()) - 1];
}

std::int64_t violations(const outcome& found) {
    std::int64_t n = 0;
    for (int v = 0; v < dh::n_violations; ++v) n += static_cast<std::int64_t>(found.rows.violations[v]);
    return n;
}

double tokens_per_s(const outcome& found) { return found.seconds > 0 ? static_cast<double>(found.loop.tokens) / found.seconds : 0; }

/// Each byte as the character U+0000 to U+00FF of that number.
std::string as_text(const bytes& from) {
    std::string out;
    for (const auto byte : from) {
        if (byte < 0x80) {
            out += static_cast<char>(byte);
        } else {
            out += static_cast<char>(0xC0 | byte >> 6);
            out += static_cast<char>(0x80 | (byte & 0x3F));
        }
    }
    return out;
}

std::string printable(std::span<const std::uint8_t> from) {
    std::string out;
    for (const auto byte : from) out += std::isprint(byte) ? std::string(1, static_cast<char>(byte)) : byte == '\n' ? "\\n" : fmt::format("\\x{:02x}", byte);
    return out;
}

} // namespace

void show_tokens(std::size_t request, std::span<const std::uint8_t> tokens) {
    fmt::print("[{}] \"{}\"\n", request, printable(tokens));
    std::fflush(stdout);
}

std::string first_difference(std::span<const request> requests, const std::vector<reply>& replies, const std::vector<bytes>& expected) {
    for (std::size_t i = 0; i < replies.size(); ++i) {
        const auto& got = replies[i].output;
        const auto& wanted = expected[i];
        const auto n = std::min(got.size(), wanted.size());
        const auto same = static_cast<std::size_t>(std::mismatch(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(n), wanted.begin()).first - got.begin());
        if (same < n) return fmt::format("token {} of request {} is {}, alone: {}", same, i, got[same], wanted[same]);
        if (got.size() > wanted.size() || (replies[i].how == ending::finished && static_cast<int>(got.size()) != requests[i].tokens))
            return fmt::format("request {} has {} tokens, wanted: {}", i, got.size(), requests[i].tokens);
    }
    return {};
}

std::string table_text(const outcome& found, const std::optional<std::string>& difference) {
    auto out = fmt::format("{:>7} {:>9} {:>8} {:>8} {:>8} {:>6} {:>6}  {}\n", "request", "ending", "arrived", "admitted", "ended", "shared", "tokens", "its last bytes");
    for (std::size_t i = 0; i < found.replies.size(); ++i) {
        const auto& r = found.replies[i];
        const auto tail = std::span(r.output).last(std::min<std::size_t>(r.output.size(), 32));
        out += fmt::format("{:>7} {:>9} {:>8} {:>8} {:>8} {:>6} {:>6}  {}\n", i, name_of(r.how), r.arrived, r.admitted < 0 ? "-" : std::to_string(r.admitted), r.ended, r.shared,
                           r.output.size(), printable(tail));
    }
    const auto& n = found.loop;
    out += fmt::format("\npool {} pages, host tier {} pages; {} steps, {} rounds, {:.1f} s\n", found.pool_pages, found.host_pages, n.steps, n.rounds, found.seconds);
    out += fmt::format("requests: {} finished, {} aborted, {} refused, {} failed; at most {} at once\n", number_of(found, ending::finished), number_of(found, ending::aborted),
                       number_of(found, ending::refused), number_of(found, ending::failed), n.most_at_once);
    out += fmt::format("waits for admission, steps: p50 {}, p95 {}, longest {}\n", wait_at(found, 0.5), wait_at(found, 0.95), wait_at(found, 1));
    out += fmt::format("tokens: {} ({:.1f}/s), {} of {} proposals accepted; prompt positions computed: {}\n", n.tokens, tokens_per_s(found), n.accepted, n.proposed, n.prefilled);
    out += fmt::format("pages: {} shared by prefixes, {} reclaimed, {} refilled; {} parks, {} resumes, {} restarts\n", n.shared_pages, found.ledger.reclaimed_pages,
                       found.ledger.refilled_pages, n.parks, n.resumes, n.restarts);
    out += fmt::format("rows that attention read: {} tail, {} history, {} hot, {} host; broken preconditions: {}\n", found.rows.tail, found.rows.history, found.rows.hot,
                       found.rows.host, violations(found));
    if (found.missing_pages != 0) out += fmt::format("pages that did not come back: {}\n", found.missing_pages);
    out += !difference ? "outputs: not compared\n" : difference->empty() ? "outputs: each is the one that its request has alone\n" : "outputs: NOT the same: " + *difference + "\n";
    return out;
}

std::string json_text(const outcome& found, const std::optional<std::string>& difference) {
    const auto& n = found.loop;
    nlohmann::ordered_json out{{"requests", found.replies.size()},
                               {"finished", number_of(found, ending::finished)},
                               {"aborted", number_of(found, ending::aborted)},
                               {"refused", number_of(found, ending::refused)},
                               {"failed", number_of(found, ending::failed)}};
    out["outputs_equal"] = difference ? nlohmann::ordered_json(difference->empty()) : nlohmann::ordered_json(nullptr);
    if (difference && !difference->empty()) out["difference"] = *difference;
    out.update({{"tokens", n.tokens}, {"tokens_per_s", tokens_per_s(found)}, {"seconds", found.seconds}, {"steps", n.steps}, {"rounds", n.rounds}, {"max_concurrent", n.most_at_once}});
    out.update({{"wait_p50_steps", wait_at(found, 0.5)}, {"wait_p95_steps", wait_at(found, 0.95)}, {"wait_max_steps", wait_at(found, 1)}});
    out.update({{"parks", n.parks}, {"resumes", n.resumes}, {"restarts", n.restarts}, {"reclaims", found.ledger.reclaims}, {"reclaimed_pages", found.ledger.reclaimed_pages},
                {"refilled_pages", found.ledger.refilled_pages}, {"shared_prefix_pages", n.shared_pages}, {"prefilled_positions", n.prefilled}});
    out.update({{"proposed", n.proposed}, {"accepted", n.accepted}, {"host_rows", found.rows.host_rows}, {"violations", violations(found)}, {"pool_pages", found.pool_pages},
                {"host_pages", found.host_pages}, {"missing_pages", found.missing_pages}});
    auto replies = nlohmann::ordered_json::array();
    for (const auto& r : found.replies)
        replies.push_back({{"ending", name_of(r.how)}, {"arrived_step", r.arrived}, {"admitted_step", r.admitted < 0 ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(r.admitted)},
                           {"first_token_step", r.first_token < 0 ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(r.first_token)}, {"ended_step", r.ended},
                           {"shared_positions", r.shared}, {"tokens", r.output.size()}, {"text", as_text(r.output)}});
    out["replies"] = std::move(replies);
    out["metrics"] = nlohmann::ordered_json::parse(found.metrics_json);
    return out.dump();
}

std::string plot_text(const outcome& found) {
    const auto& samples = found.over_time.samples();
    dh::plot_panel requests{.title = "Requests", .x_label = "step", .y_label = "requests", .what = dh::plot_panel::kind::lines};
    dh::plot_series with_slot{.label = "in fast memory"}, without{.label = "waiting or parked"};
    for (const auto& s : samples) {
        with_slot.points.emplace_back(s.at, s.running);
        without.points.emplace_back(s.at, s.admitted);
    }
    requests.series = {with_slot, without};
    return dh::plot_svg({traces::pages_panel("Pages by class", "step", samples), requests});
}

} // namespace engine
