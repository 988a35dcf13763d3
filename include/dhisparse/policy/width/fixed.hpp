/// Every round as wide as it may be.
#pragma once

#include <dhisparse/policy/width.hpp>

namespace dhisparse {

class fixed {
public:
    static constexpr const char* name = "fixed";
    explicit fixed(const width_config& config) : k_(checked(config).k_max) {}
    int next(const width_load&) { return k_; }
    void note(const width_outcome&) {}

private:
    int k_;
};
static_assert(width_policy<fixed>);

} // namespace dhisparse
