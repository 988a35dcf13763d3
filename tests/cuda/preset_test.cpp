// Every model's shape on both backends, with its real rows: short programs, every byte compared.
#include "random_rounds.hpp"
#include "real_shapes.hpp"

#include <dhisparse/layout/presets.hpp>
#include <dhisparse/policy/layout/source_planes.hpp>

using namespace dhisparse_test;

namespace {

struct planes : dh::default_policies {
    using layout = dh::source_planes;
};

template <class Policies>
void differ_in_every_shape() {
    if (!has_gpu()) return skip("no CUDA device");
    std::vector<dh::model_shape> shapes;
    for (const auto& name : dh::preset::names()) shapes.push_back(dh::preset::named(name));
    shapes.push_back(v4_1_in_528_bytes(dh::preset::named("deepseek-v4.1-flash")));
    for (const auto& shape : shapes)
        for (const int k_max : {1, 2}) {
            CAPTURE(shape.name, k_max, seed());
            dh::hierarchy_config config{.shape = shape, .pool_pages = 40, .host_pages = 24, .slots = 2, .hot_pages = 4, .k_max = k_max, .max_requests = 2};
            config.metadata_bytes = 64 * dh::MiB;
            config.max_positions = 4096;
            backend_pair<Policies> pair(config, k_max == 2, k_max == 1);
            random_program(seed(), 3).run(pair, 8);
        }
}

} // namespace

TEST_CASE("every preset gives the same on both backends", "[cuda]") { differ_in_every_shape<dh::default_policies>(); }
TEST_CASE("every preset gives the same on both backends, a plane a source", "[cuda]") { differ_in_every_shape<planes>(); }
