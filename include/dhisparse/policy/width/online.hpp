/// The width with the most tokens a second, by what was accepted and missed so far, what a round costs and what fits.
#pragma once

#include <dhisparse/policy/width.hpp>

#include <array>

namespace dhisparse {

/// Tokens a second at width K are N · (1 + a_1 + a_1 a_2 + … ) / max(compute, misses / bandwidth), where a_i is the share of
/// i-th proposals that are accepted where those before them were: an exponential average over what got that far. N are the
/// sessions; while requests wait in proportion to what fits, the comparison of (13), and less the places that stand empty
/// between one request and the next: the faster requests end, the more of them. Page copies slow misses down. A width changes where another
/// one gains more than `hysteresis`, and not before `held_rounds` rounds; every `probing` rounds one is a query wider than
/// chosen, so that places beyond the width are heard of again. One next: O(k_max).
class online {
public:
    static constexpr const char* name = "online";
    explicit online(const width_config& config)
        : config_(checked(config)), accepted_(static_cast<std::size_t>(config_.k_max - 1), prior), seen_(accepted_.size(), prior_weight), k_(config_.k_max) {
        require(config_.k_max == 1 || config_.costs.total_us(1, 1, 0) > 0, "width: a round costs nothing, permitted: round_us, query_us or session_us above 0");
    }

    int next(const width_load& load) {
        ++rounds_;
        if (load.sessions > 0) {
            const auto empty = load.waiting > 0 ? static_cast<double>(std::max<std::int64_t>(0, load.places - load.sessions)) : 0;
            vacancy_ += (empty / static_cast<double>(load.sessions) - vacancy_) / short_window;
        }
        if (load.sessions > 0 && rounds_ - changed_ > held_rounds) choose(load);
        return rounds_ % probing == 0 ? std::min(k_ + 1, config_.k_max) : k_;
    }

    void note(const width_outcome& round) {
        if (round.accepted.empty()) return;
        learn(round);
        const auto one = round.missed_rows * (1 + round.link_share) / (static_cast<double>(round.accepted.size()) * config_.costs.union_of(round.k));
        missed_rows_ += (one - missed_rows_) / short_window;
    }

    /// [k_max - 1] a_1, a_2, …
    std::span<const double> acceptance() const { return accepted_; }
    /// Of one session in a round of one query, as measured; more where copies slowed them down.
    double missed_rows() const { return missed_rows_; }

private:
    static constexpr double prior = 0.8;          // of proposals that none has been seen of: wide at first
    static constexpr double prior_weight = 8;     // proposals that it stands for
    static constexpr double window = 512;         // proposals that an average remembers
    static constexpr double short_window = 16;    // rounds
    static constexpr double hysteresis = 1.01;
    static constexpr std::int64_t held_rounds = 8, probing = 64;

    void choose(const width_load& load) {
        std::array<double, 65> tokens{0, 1}, rate{}; // [k] of a session in a round; tokens a µs
        double reaches = 1;
        for (std::size_t k = 2; k <= static_cast<std::size_t>(config_.k_max); ++k) tokens[k] = tokens[k - 1] + (reaches *= accepted_[k - 2]);
        for (int k = 1; k <= config_.k_max; ++k) {
            const auto own = tokens[static_cast<std::size_t>(k)];
            const auto n = sessions(load, k) * (1 + vacancy_) / (1 + vacancy_ * own / tokens[static_cast<std::size_t>(k_)]);
            rate[static_cast<std::size_t>(k)] = n * own / config_.costs.total_us(n, k, missed_rows_);
        }
        const auto best = static_cast<int>(std::max_element(rate.begin(), rate.end()) - rate.begin());
        if (rate[static_cast<std::size_t>(best)] <= rate[static_cast<std::size_t>(k_)] * hysteresis) return;
        k_ = best;
        changed_ = rounds_;
    }
    /// That would run at this width.
    double sessions(const width_load& load, int k) const {
        const auto now = static_cast<double>(load.sessions);
        if (config_.fits.empty()) return now;
        const auto fits = [&](int width) { return config_.fits[static_cast<std::size_t>(width - 1)]; };
        if (load.waiting == 0) return std::min(now, fits(k));
        return std::min(now * fits(k) / fits(k_), now + static_cast<double>(load.waiting));
    }

    void learn(const width_outcome& round) {
        const auto places = std::clamp(round.k, 1, config_.k_max) - 1;
        std::array<double, 64> n{}; // [accepted] sessions
        for (const auto accepted : round.accepted) ++n[static_cast<std::size_t>(std::clamp(accepted, 0, places))];
        auto passed = n[static_cast<std::size_t>(places)];
        for (auto place = static_cast<std::size_t>(places); place-- > 0;) {
            const auto reached = passed + n[place];
            if (reached > 0) accepted_[place] += (passed / reached - accepted_[place]) * reached / (reached + seen_[place]);
            seen_[place] = std::min(window, seen_[place] + reached);
            passed = reached;
        }
    }

    width_config config_;
    std::vector<double> accepted_; // [k_max - 1]
    std::vector<double> seen_;     // [k_max - 1] proposals that the average stands for
    double missed_rows_ = 0;
    double vacancy_ = 0; // empty places for each session
    std::int64_t rounds_ = 0, changed_ = 0;
    int k_;
};
static_assert(width_policy<online>);

} // namespace dhisparse
