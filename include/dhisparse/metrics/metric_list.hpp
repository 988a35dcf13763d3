/// Named numbers at one moment, and their text for monitoring systems. Reading them waits for nothing.
#pragma once

#include <dhisparse/metrics/histogram.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dhisparse {

/// What isn't added is absent from the text: never zero in place of an unknown.
class metric_list {
public:
    using labels = std::vector<std::pair<std::string, std::string>>; // name, value

    /// name: [a-z_]+, dhisparse_ is put before it; a counter's ends in _total. One name may come with several labels, one after another.
    void counter(const std::string& name, const std::string& help, std::uint64_t value, labels with = {});
    void gauge(const std::string& name, const std::string& help, std::int64_t value, labels with = {});
    void distribution(const std::string& name, const std::string& help, const histogram& values);

    /// Prometheus' text format, version 0.0.4. Needs dhisparse::runtime.
    std::string prometheus() const;
    /// One object: {"name": number, "name{label=value}": number, "name": {"count", "sum", "buckets": {"upper": count}}}.
    std::string json() const;

private:
    struct metric {
        std::string name, help;
        const char* type = "counter";
        labels with;
        std::int64_t value = 0;
        histogram values;
    };
    std::vector<metric> metrics_;
};

} // namespace dhisparse
