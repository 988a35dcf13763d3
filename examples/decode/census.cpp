#include "census.hpp"

#include "console.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace decode {
namespace {

double ratio(double part, double whole) {
    return whole > 0 ? part / whole : 0;
}

/// New tokens of all requests.
double all_tokens(const outcome& result) {
    return static_cast<double>(result.texts.size() * result.texts[0].size());
}
double miss_rate(const outcome& result) {
    return ratio(static_cast<double>(result.counts.host),
                 static_cast<double>(result.counts.selected));
}
double host_bytes_per_token(const outcome& result) {
    return ratio(static_cast<double>(result.counts.host_bytes), all_tokens(result));
}

/// One character a byte, U+0000 to U+00FF, as UTF-8.
std::string characters(const std::vector<std::uint8_t>& text) {
    std::string out;
    for (const unsigned byte : text) {
        if (byte >= 0x80) out += static_cast<char>(0xC0 | byte >> 6);
        out += static_cast<char>(byte >= 0x80 ? 0x80 | (byte & 0x3F) : byte);
    }
    return out;
}

std::string mebibytes(std::int64_t bytes) {
    return fmt::format("{:.2f} MiB", static_cast<double>(bytes) / (1 << 20));
}

void print_texts(const outcome& result) {
    for (std::size_t r = 1; r < result.texts.size(); ++r) {
        fmt::print("\n--- new text of request {}\n", r + 1);
        show(result.texts[r]);
    }
}

void print_rows(const outcome& result) {
    const auto& c = result.counts;
    const auto line = [&](const char* where, std::uint64_t n) {
        fmt::print("  {:<18}{:>12}{:>9.2f} %\n", where, n,
                   100 * ratio(static_cast<double>(n), static_cast<double>(c.selected)));
    };
    fmt::print("selected rows, by where they were found\n");
    line("tail", c.tail);
    line("optional history", c.history);
    line("hot cache", c.hot);
    line("host (misses)", c.host);
    line("all", c.selected);
}

void print_rounds(const options& o, const speculation& s) {
    fmt::print("{:<20}{:>12} of up to {} queries, proposals: {}\n", "rounds", s.rounds, *o.k_max,
               o.how_many == proposals::fixed ? "the whole block" : "while the drafter is sure");
    fmt::print("{:<20}{:>12} of {}, {:.2f} a round\n", "accepted", s.accepted, s.proposed,
               s.mean_accepted());
    fmt::print("{:<20}{:>12.1f} rows, {} at most\n", "union of a round", s.unions.mean(),
               s.unions.max());
    fmt::print("{:<20}{:>12} rows, {} of them promoted\n", "staged", s.staged, s.promoted);
    fmt::print("{:<20}{:>12} rows a request, {} in all; staging {}\n", "draft ring", s.ring_rows,
               mebibytes(s.ring_bytes), mebibytes(s.staging_bytes));
}

void add_rounds(nlohmann::ordered_json& object, const options& o, const outcome& result) {
    const auto& s = *result.speculated;
    object["k_max"] = *o.k_max;
    object["rounds"] = s.rounds;
    object["proposed"] = s.proposed;
    object["accepted"] = s.accepted;
    object["mean_accepted"] = s.mean_accepted();
    object["union_mean"] = s.unions.mean();
    object["union_max"] = s.unions.max();
    object["staged"] = s.staged;
    object["promoted"] = s.promoted;
    object["host_rows_distinct"] = result.counts.host_rows;
    object["host_rows_selected"] = result.counts.host;
    object["ring_rows"] = s.ring_rows;
    object["staging_bytes"] = s.staging_bytes;
}

} // namespace

void print_census(const options& o, const outcome& result) {
    print_texts(result);
    fmt::print("\n--- census: {} request{} of {} + {} bytes, B = {} hot rows, {}, backend {}\n",
               o.requests, o.requests > 1 ? "s" : "", result.prompt_tokens, o.tokens, o.hot_rows,
               o.policy == replacement::lru ? "lru" : "fifo",
               o.where == backend::host ? "host" : "cuda");
    print_rows(result);
    if (result.speculated) print_rounds(o, *result.speculated);
    fmt::print("{:<20}{:>12.2f} %\n", "miss rate", 100 * miss_rate(result));
    fmt::print("{:<20}{:>12.0f} in {:.1f} copies\n", "host bytes a token",
               host_bytes_per_token(result),
               ratio(static_cast<double>(result.counts.host_rows), all_tokens(result)));
    fmt::print(
        "{:<20}{:>12}; resident {}, {:.1f} times as much\n", "fast memory",
        mebibytes(result.fast_bytes), mebibytes(result.resident_bytes),
        ratio(static_cast<double>(result.resident_bytes), static_cast<double>(result.fast_bytes)));
    fmt::print("{:<20}{:>12.1f} through the hierarchy, {:.1f} resident\n", "tokens/s",
               result.tokens_per_s, result.resident_tokens_per_s);
    if (o.verify)
        fmt::print("{:<20}{:>12} of {}\n", "rows verified", result.rows_verified,
                   result.counts.selected);
    if (result.exact())
        fmt::print("exact: yes, every byte and every logit is the same as with the whole history "
                   "in fast memory\n");
    else
        fmt::print("exact: NO: {}\n", result.difference);
}

std::string json_text(const options& o, const outcome& result) {
    const auto& c = result.counts;
    nlohmann::ordered_json object{
        {"backend", o.where == backend::host ? "host" : "cuda"},
        {"requests", o.requests},
        {"prompt_tokens", result.prompt_tokens},
        {"new_tokens", o.tokens},
        {"exact", result.exact()},
        {"rows_verified", result.rows_verified},
        {"selected", c.selected},
        {"tail", c.tail},
        {"history", c.history},
        {"hot", c.hot},
        {"host", c.host},
        {"miss_rate", miss_rate(result)},
        {"host_bytes_per_token", host_bytes_per_token(result)},
        {"fast_bytes", result.fast_bytes},
        {"resident_bytes", result.resident_bytes},
        {"tokens_per_s", result.tokens_per_s},
        {"text", characters(result.texts[0])},
    };
    if (result.speculated) add_rounds(object, o, result);
    return object.dump();
}

std::string json_error(const std::string& message) {
    const nlohmann::json object{{"error", message}};
    return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace decode
