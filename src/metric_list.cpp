// Metrics as Prometheus text and as JSON.
#include <dhisparse/metrics/metric_list.hpp>

#include <fmt/format.h>

#include <cstring>
#include <iterator>

namespace dhisparse {
namespace {

/// Backslashes and line ends, and quotes where the text stands in quotes.
std::string escaped(const std::string& text, bool in_quotes = true) {
    std::string out;
    for (const char c : text) {
        if (c == '\n') {
            out += "\\n";
            continue;
        }
        if (c == '\\' || (c == '"' && in_quotes)) out += '\\';
        out += c;
    }
    return out;
}

std::string in_braces(const metric_list::labels& with) {
    std::string out;
    for (const auto& [name, value] : with) out += fmt::format("{}{}=\"{}\"", out.empty() ? "" : ",", name, escaped(value));
    return out.empty() ? out : "{" + out + "}";
}

} // namespace

void metric_list::counter(const std::string& name, const std::string& help, std::uint64_t value, labels with) {
    metrics_.push_back({name, help, "counter", std::move(with), static_cast<std::int64_t>(value), {}});
}

void metric_list::gauge(const std::string& name, const std::string& help, std::int64_t value, labels with) {
    metrics_.push_back({name, help, "gauge", std::move(with), value, {}});
}

void metric_list::distribution(const std::string& name, const std::string& help, const histogram& values) {
    metrics_.push_back({name, help, "histogram", {}, 0, values});
}

std::string metric_list::prometheus() const {
    std::string out;
    auto to = std::back_inserter(out);
    for (std::size_t i = 0; i < metrics_.size(); ++i) {
        const auto& m = metrics_[i];
        if (i == 0 || metrics_[i - 1].name != m.name) fmt::format_to(to, "# HELP dhisparse_{0} {1}\n# TYPE dhisparse_{0} {2}\n", m.name, escaped(m.help, false), m.type);
        if (std::strcmp(m.type, "histogram") != 0) {
            fmt::format_to(to, "dhisparse_{}{} {}\n", m.name, in_braces(m.with), m.value);
            continue;
        }
        std::uint64_t below = 0;
        for (int b = 0; b + 1 < histogram::n_buckets; ++b) fmt::format_to(to, "dhisparse_{}_bucket{{le=\"{}\"}} {}\n", m.name, histogram::upper(b), below += m.values.counts[static_cast<std::size_t>(b)]);
        fmt::format_to(to, "dhisparse_{0}_bucket{{le=\"+Inf\"}} {1}\ndhisparse_{0}_sum {2}\ndhisparse_{0}_count {1}\n", m.name, m.values.n, m.values.sum);
    }
    return out;
}

std::string metric_list::json() const {
    std::string out = "{";
    auto to = std::back_inserter(out);
    for (const auto& m : metrics_) {
        fmt::format_to(to, "{}\"{}{}\": ", out.size() > 1 ? ", " : "", m.name, escaped(in_braces(m.with)));
        if (std::strcmp(m.type, "histogram") != 0) {
            fmt::format_to(to, "{}", m.value);
            continue;
        }
        fmt::format_to(to, "{{\"count\": {}, \"sum\": {}, \"buckets\": {{", m.values.n, m.values.sum);
        bool first = true;
        for (int b = 0; b < histogram::n_buckets; ++b)
            if (const auto n = m.values.counts[static_cast<std::size_t>(b)]) fmt::format_to(to, "{}\"{}\": {}", std::exchange(first, false) ? "" : ", ", histogram::upper(b), n);
        out += "}}";
    }
    return out + "}";
}

} // namespace dhisparse
