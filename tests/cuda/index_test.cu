// The other hot indexes on both backends; nvcc compiles their resolvers here.
#include "random_rounds.hpp"

using namespace dhisparse_test;

namespace {

struct hashed_policies : dh::default_policies {
    using hot_index = dh::hashed;
};
struct scanned_policies : dh::default_policies {
    using hot_index = dh::scanned;
};

template <class Policies>
void differ_all() {
    if (!has_gpu()) return skip("no CUDA device");
    differ<Policies>({.shape = small_shape(), .pool_pages = 60, .host_pages = 120, .slots = 4, .hot_pages = 6, .k_max = 2, .max_requests = 5}, 2, 60);
    differ<Policies>({.shape = small_shape(), .pool_pages = 22, .host_pages = 60, .slots = 3, .hot_pages = 3, .k_max = 1, .max_requests = 3}, 2, 80);
    differ<Policies>({.shape = long_shape(), .pool_pages = 12, .host_pages = 80, .slots = 3, .hot_pages = 1, .k_max = 8, .max_requests = 3}, 2, 40, 24);
}

} // namespace

TEST_CASE("a hashed index finds on the device what it finds on the host, rebuilt now and then", "[cuda]") { differ_all<hashed_policies>(); }
TEST_CASE("walking the entries finds what an index finds", "[cuda]") { differ_all<scanned_policies>(); }
