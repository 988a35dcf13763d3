/// The published schedule: narrower with load.
#pragma once

#include <dhisparse/policy/width.hpp>

namespace dhisparse {

/// 8 to 32 sessions, 6 at 64, 4 from 128. Between them the wider one's neighbour is taken: 6 for 33 to 127.
constexpr int published_width(std::int64_t sessions) { return sessions <= 32 ? 8 : sessions < 128 ? 6 : 4; }

class scheduled {
public:
    static constexpr const char* name = "scheduled";
    explicit scheduled(const width_config& config) : k_max_(checked(config).k_max) {}
    int next(const width_load& load) { return std::min(k_max_, published_width(load.sessions)); }
    void note(const width_outcome&) {}

private:
    int k_max_;
};
static_assert(width_policy<scheduled>);

} // namespace dhisparse
