#include "cost.hpp"

#include <algorithm>
#include <array>

namespace replay {
namespace {

constexpr std::array<double, 5> batches{1, 8, 32, 64, 128};
using row = std::array<double, 5>; // µs a resolve at those batches
constexpr row all_ready{1.8, 1.9, 2.2, 2.6, 3.2}, partly_hot{2.2, 2.4, 3.3, 4.5, 6}, all_hot{2.5, 2.8, 4.3, 6, 9.5};
constexpr row four_queries{4, 6, 12, 22, 42}, eight_queries{8, 12, 26, 46, 90};
constexpr double partly = 0.3; // outside mapped pages in partly_hot

double between(double x, double x0, double x1, double y0, double y1) { return y0 + (y1 - y0) * (x - x0) / (x1 - x0); }

double at_batch(const row& times, int sessions) {
    const auto beyond = std::upper_bound(batches.begin(), batches.end(), sessions) - batches.begin();
    const auto i = static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(beyond, 1, 4));
    return between(std::max(sessions, 1), batches[i - 1], batches[i], times[i - 1], times[i]);
}

} // namespace

double resolve_us(int sessions, int k, double outside) {
    const auto one = outside <= partly ? between(outside, 0, partly, at_batch(all_ready, sessions), at_batch(partly_hot, sessions))
                                       : between(outside, partly, 1, at_batch(partly_hot, sessions), at_batch(all_hot, sessions));
    if (k == 1) return one;
    const auto four = at_batch(four_queries, sessions);
    return k <= 4 ? between(k, 1, 4, one, four) : between(k, 4, 8, four, at_batch(eight_queries, sessions));
}

const std::vector<cost_field>& cost_fields() {
    using c = cost_parameters;
    static const std::vector<cost_field> all{
        {"--step-ms", &c::step_ms, 0.001, 1e6, "A step without sessions"},
        {"--session-ms", &c::session_ms, 0, 1e6, "More for each session"},
        {"--query-share", &c::query_share, 0, 100, "Of that, more for each query beyond the first"},
        {"--query-ms", &c::query_ms, 0, 1e6, "Each query of a round, where all of them take longer than --step-ms"},
        {"--draft-ms", &c::draft_ms, 0, 1e6, "A draft pass, before each round of more than one query"},
        {"--row-ns", &c::row_ns, 0, 1e9, "A missed group row of up to 2304 bytes; larger ones in proportion"},
        {"--outside-share", &c::outside_share, 0, 1, "Selected rows outside mapped pages where no history page is mapped"},
        {"--warm-miss", &c::warm_miss, 0, 1, "Of those, missed by a warm hot cache"},
        {"--cold-miss", &c::cold_miss, 0, 1, "Of those, missed where the history has just left the GPU"},
        {"--cold-steps", &c::cold_steps, 1, 1e6, "Steps in which the one becomes the other"},
        {"--union-share", &c::union_share, 0, 1, "Rows of a round, more for each query beyond the first"},
        {"--link-gb-s", &c::link_gb_s, 0.001, 1e6, "Page copies, beside the steps"},
        {"--host-row-bytes", &c::host_row_bytes, 0, 1e9, "Bytes of a group row on its way between the tiers; 0: the model's"},
        {"--accepted", &c::accepted, 0, 1, "Proposals accepted where those before were; see --acceptance"},
    };
    return all;
}

cost_model::cost_model(const cost_parameters& parameters, const dhisparse::page_layout& layout)
    : parameters_(parameters), announcements_(static_cast<double>(layout.shape().announcements.size())), k_(layout.shape().k) {
    double mean = 0;
    for (const auto& group : layout.groups()) mean += static_cast<double>(group.host_row_bytes) / layout.n_groups();
    host_row_bytes_ = parameters.host_row_bytes > 0 ? parameters.host_row_bytes : mean;
    page_bytes_ = static_cast<double>(layout.host_page_bytes()) * host_row_bytes_ / mean;
    constexpr double latency_bound_bytes = 2304; // a random read of fewer takes as long
    row_s_ = parameters.row_ns * 1e-9 * std::max(1.0, host_row_bytes_ / latency_bound_bytes);
}

double cost_model::missed_rows(double outside, double coldness, int k) const {
    const auto& c = parameters_;
    return announcements_ * k_ * (1 + c.union_share * (k - 1)) * outside * (c.warm_miss + (c.cold_miss - c.warm_miss) * coldness);
}

double cost_model::step_s(const step_load& load) const {
    const auto& c = parameters_;
    auto ms = std::max(c.step_ms, c.query_ms * load.sessions * load.k) + c.session_ms * load.sessions * (1 + c.query_share * (load.k - 1));
    if (load.k > 1) ms += c.draft_ms;
    if (load.resolves) ms += announcements_ * resolve_us(load.sessions, load.k, load.outside) * 1e-3;
    return ms * 1e-3 + load.missed_rows * row_s_ * (1 + load.link_share);
}

dhisparse::round_costs cost_model::round_costs(bool resolves) const {
    const auto& c = parameters_;
    dhisparse::round_costs out{.round_us = c.step_ms * 1e3, .query_us = c.query_ms * 1e3, .session_us = c.session_ms * 1e3, .more_us = c.session_ms * c.query_share * 1e3,
                               .draft_us = c.draft_ms * 1e3, .row_us = row_s_ * 1e6, .union_share = c.union_share, .exposed = 1};
    if (!resolves) return out;
    constexpr int few = 8, many = 128, wide = 8;
    const auto one = resolve_us(many, 1, partly);
    out.session_us += announcements_ * (one - resolve_us(few, 1, partly)) / (many - few);
    out.more_us += announcements_ * (resolve_us(many, wide, partly) - one) / (many * (wide - 1));
    return out;
}

} // namespace replay
