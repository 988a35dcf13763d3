// Long random programs on both backends: every location, map, stamp, counter and byte is the same.
#include "random_rounds.hpp"

#include <dhisparse/policy/layout/source_planes.hpp>
#include <dhisparse/policy/promotion/anchor_first.hpp>
#include <dhisparse/policy/promotion/keep_staged_none.hpp>
#include <dhisparse/policy/replacement/fifo.hpp>

using namespace dhisparse_test;

namespace {

struct fifo_planes : dh::default_policies {
    using layout = dh::source_planes;
    using replacement = dh::fifo;
};

struct fifo_planes_anchor : fifo_planes {
    using promotion = dh::anchor_first;
};

struct staged_none : dh::default_policies {
    using promotion = dh::keep_staged_none;
};

} // namespace

TEST_CASE("a short program is the same on both backends", "[cuda][sanitize]") {
    if (!has_gpu()) return skip("no CUDA device");
    differ<dh::default_policies>({.shape = small_shape(), .pool_pages = 22, .host_pages = 60, .slots = 3, .hot_pages = 3, .k_max = 1, .max_requests = 3}, 2, 6);
    differ<dh::default_policies>({.shape = split_shape(), .pool_pages = 20, .host_pages = 60, .slots = 2, .hot_pages = 2, .k_max = 1, .max_requests = 2}, 1, 6);
}

TEST_CASE("both backends give the same after every step, three groups, K up to 2", "[cuda]") {
    if (!has_gpu()) return skip("no CUDA device");
    const dh::hierarchy_config config{.shape = small_shape(), .pool_pages = 60, .host_pages = 120, .slots = 4, .hot_pages = 6, .k_max = 2, .max_requests = 5};
    differ<dh::default_policies>(config, 4, 60);
    differ<fifo_planes>(config, 2, 60);
}

TEST_CASE("a short life is the same on both backends", "[cuda][sanitize]") {
    if (!has_gpu()) return skip("no CUDA device");
    differ<dh::default_policies>({.shape = small_shape(), .pool_pages = 60, .host_pages = 120, .slots = 4, .hot_pages = 6, .k_max = 2, .max_requests = 5, .departing_plans = 2}, 1, 10, 6, program_kind::living);
}

TEST_CASE("requests live alike on both backends: reclaim, refill, park, prefixes, gather; rows move out of departing pages", "[cuda]") {
    if (!has_gpu()) return skip("no CUDA device");
    constexpr auto living = program_kind::living;
    const dh::hierarchy_config small{.shape = small_shape(), .pool_pages = 60, .host_pages = 120, .slots = 4, .hot_pages = 6, .k_max = 2, .max_requests = 5, .refill_pages_per_step = 2, .departing_plans = 2};
    differ<dh::default_policies>(small, 2, 30, 6, living);
    const dh::hierarchy_config split{.shape = split_shape(), .pool_pages = 40, .host_pages = 80, .slots = 3, .hot_pages = 1, .k_max = 3, .max_requests = 3, .refill_pages_per_step = 1, .departing_plans = 3};
    differ<fifo_planes_anchor>(split, 1, 40, 12, living);
    const dh::hierarchy_config many_lanes{.shape = many_lanes_shape(), .pool_pages = 24, .host_pages = 60, .slots = 2, .hot_pages = 1, .k_max = 2, .max_requests = 2, .refill_pages_per_step = 1, .backup_pages_per_step = 2, .departing_plans = 3};
    differ<dh::default_policies>(many_lanes, 1, 30, 8, living);
    const dh::hierarchy_config wide{.shape = wide_shape(), .pool_pages = 24, .host_pages = 60, .slots = 2, .hot_pages = 3, .k_max = 2, .max_requests = 2, .backup_pages_per_step = 2, .departing_plans = 3};
    differ<dh::default_policies>(wide, 1, 30, 6, living);
    differ<dh::default_policies>({.shape = long_shape(), .pool_pages = 60, .host_pages = 160, .slots = 4, .hot_pages = 4, .k_max = 4, .max_requests = 4, .refill_pages_per_step = 1, .departing_plans = 1}, 1, 30, 12, living);
}

TEST_CASE("both backends give the same with a tight pool and K = 1", "[cuda]") {
    if (!has_gpu()) return skip("no CUDA device");
    differ<dh::default_policies>({.shape = small_shape(), .pool_pages = 22, .host_pages = 60, .slots = 3, .hot_pages = 3, .k_max = 1, .max_requests = 3}, 4, 80);
}

TEST_CASE("both backends give the same with rows of two runs", "[cuda]") {
    if (!has_gpu()) return skip("no CUDA device");
    differ<dh::default_policies>({.shape = split_shape(), .pool_pages = 20, .host_pages = 60, .slots = 3, .hot_pages = 2, .k_max = 1, .max_requests = 3}, 3, 60);
    differ<fifo_planes>({.shape = split_shape(), .pool_pages = 20, .host_pages = 60, .slots = 3, .hot_pages = 2, .k_max = 1, .max_requests = 3}, 2, 60);
}

TEST_CASE("both backends give the same with rows of a whole block", "[cuda]") {
    if (!has_gpu()) return skip("no CUDA device");
    differ<dh::default_policies>({.shape = wide_shape(), .pool_pages = 14, .host_pages = 40, .slots = 2, .hot_pages = 3, .k_max = 2, .max_requests = 2}, 2, 60);
}

TEST_CASE("a short program with staged rows is the same on both backends", "[cuda][sanitize]") {
    if (!has_gpu()) return skip("no CUDA device");
    differ<dh::default_policies>({.shape = drafted_shape(), .pool_pages = 14, .host_pages = 80, .slots = 3, .hot_pages = 1, .k_max = 3, .max_requests = 3, .max_unsettled = 2}, 1, 8, 24);
}

TEST_CASE("both backends stage and promote the same rows, with each promotion policy", "[cuda]") {
    if (!has_gpu()) return skip("no CUDA device");
    const dh::hierarchy_config config{.shape = small_shape(), .pool_pages = 16, .host_pages = 80, .slots = 3, .hot_pages = 2, .k_max = 3, .max_requests = 4};
    differ<dh::default_policies>(config, 2, 40, 24);
    differ<fifo_planes_anchor>(config, 2, 40, 24);
    differ<staged_none>(config, 2, 40, 24);
}

TEST_CASE("both backends stage the same rows where there is no hot cache at all", "[cuda]") {
    if (!has_gpu()) return skip("no CUDA device");
    differ<dh::default_policies>({.shape = small_shape(), .pool_pages = 10, .host_pages = 80, .slots = 3, .hot_pages = 0, .k_max = 2, .max_requests = 3}, 2, 30, 24);
}

TEST_CASE("both backends stage the same rows with several blocks a request", "[cuda]") {
    if (!has_gpu()) return skip("no CUDA device");
    const dh::hierarchy_config config{.shape = long_shape(), .pool_pages = 12, .host_pages = 80, .slots = 3, .hot_pages = 1, .k_max = 8, .max_requests = 3};
    differ<dh::default_policies>(config, 2, 40, 24);
    differ<fifo_planes_anchor>(config, 1, 40, 24);
}

TEST_CASE("both backends replace the same entries of a large hot cache that misses little", "[cuda]") {
    if (!has_gpu()) return skip("no CUDA device");
    const dh::hierarchy_config config{.shape = long_shape(), .pool_pages = 40, .host_pages = 120, .slots = 3, .hot_pages = 8, .k_max = 2, .max_requests = 3};
    differ<dh::default_policies>(config, 2, 150, 28, program_kind::drifting);
    differ<fifo_planes>(config, 1, 100, 28, program_kind::drifting);
}

TEST_CASE("both backends give the same with a draft pass and unsettled positions", "[cuda]") {
    if (!has_gpu()) return skip("no CUDA device");
    differ<dh::default_policies>({.shape = drafted_shape(), .pool_pages = 24, .host_pages = 80, .slots = 3, .hot_pages = 3, .k_max = 3, .max_requests = 4, .max_unsettled = 4}, 2, 60, 16);
}
