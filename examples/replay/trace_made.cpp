// Traces made from published statistics.
#include "numbers.hpp"
#include "trace.hpp"

#include <algorithm>
#include <cmath>
#include <deque>

namespace replay {
namespace {

constexpr std::size_t n_remembered = 64; // recent requests whose prefix may be continued

/// Quantile u of lengths given by their median, 95th percentile and maximum: geometric between them.
std::int64_t length_at(double u, std::int64_t median, std::int64_t p95, std::int64_t most) {
    const auto between = [](double low, double high, double share) { return low * std::pow(high / low, share); };
    const auto middle = static_cast<double>(median), high = static_cast<double>(p95), low = std::max(1.0, middle / 8);
    const auto value = u < 0.5    ? between(low, middle, u / 0.5)
                       : u < 0.95 ? between(middle, high, (u - 0.5) / 0.45)
                                  : between(high, static_cast<double>(most), (u - 0.95) / 0.05);
    return std::max<std::int64_t>(1, std::llround(value));
}

class made : public trace_source {
public:
    explicit made(const made_trace& wanted) : wanted_(wanted), random_(wanted.seed) {}
    std::optional<arrival> next() override {
        if (n_ == wanted_.requests) return std::nullopt;
        ++n_;
        const auto& s = wanted_.of;
        at_s_ += -std::log(1 - random_.uniform()) / s.requests_per_s;
        arrival out{.at_s = at_s_, .input = length_at(random_.uniform(), s.input_median, s.input_p95, s.input_max),
                    .output = length_at(random_.uniform(), s.output_median, s.output_p95, s.output_max)};
        if (wanted_.input > 0) out.input = wanted_.input;
        if (wanted_.output > 0) out.output = wanted_.output;
        if (s.continued > 0) add_blocks(out);
        return out;
    }
    double progress() const override { return static_cast<double>(n_) / static_cast<double>(wanted_.requests); }

private:
    /// Fresh ids behind those of a recent request's prefix. The last block is a request's own.
    void add_blocks(arrival& out) {
        const auto n = static_cast<std::size_t>((out.input + block_tokens - 1) / block_tokens);
        if (random_.uniform() < wanted_.of.continued && !recent_.empty()) {
            const auto& earlier = recent_[static_cast<std::size_t>(random_.uniform() * static_cast<double>(recent_.size()))];
            out.blocks.assign(earlier.begin(), earlier.begin() + static_cast<std::ptrdiff_t>(std::min(earlier.size(), n) - 1));
        }
        while (out.blocks.size() < n) out.blocks.push_back(last_block_++);
        recent_.push_back(out.blocks);
        if (recent_.size() > n_remembered) recent_.pop_front();
    }

    made_trace wanted_;
    random_numbers random_;
    double at_s_ = 0;
    std::int64_t n_ = 0, last_block_ = 0;
    std::deque<std::vector<std::int64_t>> recent_;
};

} // namespace

const std::vector<service>& services() {
    static const std::vector<service> all{
        {"mooncake-conversation", 3.40, 6'909, 39'552, 126'195, 350, 698, 2'000, 0.387},
        {"mooncake-synthetic", 3.91, 11'587, 49'009, 191'378, 69, 519, 893, 0.446},
        {"azure-conversation", 5.53, 1'020, 4'083, 14'050, 129, 451, 1'000, 0},
        {"azure-code", 2.57, 1'469, 7'315, 7'437, 13, 90, 1'899, 0},
    };
    return all;
}

std::unique_ptr<trace_source> make_trace(const made_trace& wanted) { return std::make_unique<made>(wanted); }

} // namespace replay
