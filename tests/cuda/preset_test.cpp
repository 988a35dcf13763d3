// Every model's shape on both backends, with its real rows: short programs, every byte compared.
#include "random_rounds.hpp"

#include <dhisparse/layout/presets.hpp>

using namespace dhisparse_test;

TEST_CASE("every preset gives the same on both backends", "[cuda]") {
    if (!has_gpu()) return skip("no CUDA device");
    for (const auto& name : dh::preset::names())
        for (const int k_max : {1, 2}) {
            CAPTURE(name, k_max, seed());
            dh::hierarchy_config config{.shape = dh::preset::named(name), .pool_pages = 40, .host_pages = 24, .slots = 2, .hot_pages = 4, .k_max = k_max, .max_requests = 2};
            config.metadata_bytes = 64 * dh::MiB;
            config.max_positions = 4096;
            backend_pair<dh::default_policies> pair(config, k_max == 2, k_max == 1);
            random_program(seed(), 3).run(pair, 8);
        }
}
