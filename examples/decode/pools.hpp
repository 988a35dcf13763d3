// How large the two hierarchies are: one for the whole history in fast memory, one with two tiers.
#pragma once

#include "options.hpp"

#include <dhisparse/hierarchy.hpp>

namespace decode {

/// No host tier: every page stays on the GPU.
dhisparse::hierarchy_config resident_config(int n_requests, const dhisparse::demand& each);

/// What the requests need, and the optional pages that the options ask for. Throws usage_error
/// where --pool-pages is less than that need.
dhisparse::hierarchy_config tiered_config(const options& o, const dhisparse::demand& each);

} // namespace decode
