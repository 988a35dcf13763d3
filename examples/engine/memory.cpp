#include "serve.hpp"

#include <decode/shape.hpp>

#include <algorithm>

namespace engine {

dh::hierarchy_config memory_of(const options& o, std::span<const request> requests) {
    dh::hierarchy_config config;
    config.shape = decode::tiny_shape();
    config.slots = o.slots;
    config.hot_pages = o.hot_pages;
    config.k_max = o.k;
    config.steps_ahead = 1; // as the loop works
    dh::demand longest{1, 0};
    for (const auto& r : requests)
        if (static_cast<std::int64_t>(r.prompt.size()) + r.tokens > longest.positions) longest.positions = static_cast<std::int64_t>(r.prompt.size()) + r.tokens;
    const auto whole = static_cast<std::int32_t>(dh::ceil_div<std::int64_t>(longest.positions, decode::page_positions));
    const auto at_once = static_cast<std::int32_t>(std::min<std::size_t>(static_cast<std::size_t>(o.slots), requests.size()));
    config.max_positions = longest.positions;
    config.host_pages = o.host_pages.value_or((2 * o.slots + o.keep) * (whole + 1));
    config.pool_pages = 1 << 16; // to ask what a request takes
    const auto required = dh::hierarchy<>::required_pages(config, longest);
    config.pool_pages = o.pool_pages.value_or(at_once * (required + whole / 2));
    return config;
}

} // namespace engine
