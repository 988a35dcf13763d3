// Pages by class and sessions over time, for a picture.
#pragma once

#include <dhisparse/ledger/ledger.hpp>
#include <dhisparse/metrics/plot.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace traces {

/// Pages by class and sessions at one moment.
struct sample {
    double at = 0;                                                            // seconds or steps
    double hot = 0, tail = 0, index = 0, optional = 0, leaving = 0, free = 0; // pages; together the pool
    double running = 0, admitted = 0;                                        // sessions
};

/// Samples over time in bounded memory: where there are too many, every other one goes.
class timeline {
public:
    void add(const sample& now) {
        if (!samples_.empty() && now.at < samples_.back().at + apart_) return;
        samples_.push_back(now);
        if (samples_.size() < most) return;
        for (std::size_t i = 0; 2 * i < samples_.size(); ++i) samples_[i] = samples_[2 * i];
        samples_.resize(most / 2);
        apart_ = 2 * std::max(apart_, (samples_.back().at - samples_.front().at) / (most / 2.0) / 2);
    }
    const std::vector<sample>& samples() const { return samples_; }

private:
    static constexpr std::size_t most = 1024;
    std::vector<sample> samples_;
    double apart_ = 0;
};

inline sample sample_of(const dhisparse::ledger& it, double at, double running, double admitted) {
    const auto p = it.pages();
    const auto hot = it.pages_of_class(dhisparse::page_class::hot), index = it.pages_of_class(dhisparse::page_class::index);
    sample now{.at = at, .hot = double(hot), .tail = 0, .index = double(index), .optional = double(p.optional), .leaving = 0, .free = double(p.free),
               .running = running, .admitted = admitted};
    now.tail = std::max(0, p.required - hot - index); // hot and index pages on their way back are counted as such
    now.leaving = std::max(0.0, p.capacity - now.hot - now.index - now.tail - now.optional - now.free);
    return now;
}

/// Stacked areas of the pool's pages.
inline dhisparse::plot_panel pages_panel(const std::string& title, const std::string& x_label, const std::vector<sample>& samples) {
    static constexpr std::pair<const char*, double sample::*> layers[] = {
        {"hot", &sample::hot}, {"tail and required", &sample::tail}, {"index keys", &sample::index},
        {"optional history", &sample::optional}, {"on their way back", &sample::leaving}, {"free", &sample::free}};
    dhisparse::plot_panel out{.title = title, .x_label = x_label, .y_label = "pages", .what = dhisparse::plot_panel::kind::areas};
    for (const auto& [label, pages] : layers) {
        dhisparse::plot_series series{.label = label};
        for (const auto& s : samples) series.points.emplace_back(s.at, s.*pages);
        out.series.push_back(series);
    }
    return out;
}

} // namespace traces
