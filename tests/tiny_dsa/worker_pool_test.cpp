// The pool that the model's steps run on.
#include <tiny_dsa/worker_pool.hpp>

#include "catch.hpp"

#include <numeric>
#include <stdexcept>

TEST_CASE("each task of each job runs once", "[tiny_dsa]") {
    const int n_threads = GENERATE(1, 2, 4);
    tiny_dsa::worker_pool pool(n_threads);
    REQUIRE(pool.n_threads() == n_threads);
    for (int job = 0; job < 2000; ++job) {
        std::vector<int> runs(static_cast<std::size_t>(job % 7));
        pool.run(job % 7, [&](int task, int worker) {
            runs[static_cast<std::size_t>(task)] += 1 + 100 * (worker < 0 || worker >= n_threads);
        });
        REQUIRE(runs == std::vector<int>(runs.size(), 1));
    }
}

TEST_CASE("workers do not share a worker number at the same time", "[tiny_dsa]") {
    tiny_dsa::worker_pool pool(3);
    std::vector<long> sums(3); // written without a lock: a race would show in TSan
    pool.run(1000, [&](int task, int worker) { sums[static_cast<std::size_t>(worker)] += task; });
    REQUIRE(std::accumulate(sums.begin(), sums.end(), 0L) == 999L * 500);
}

TEST_CASE("an exception of a task reaches the caller, and the pool goes on", "[tiny_dsa]") {
    tiny_dsa::worker_pool pool(2);
    std::atomic<int> n_run = 0;
    const auto fail = [&](int task, int) {
        ++n_run;
        if (task == 3) {
            throw std::out_of_range("task 3");
        }
    };
    REQUIRE_THROWS_AS(pool.run(10, fail), std::out_of_range);
    REQUIRE(n_run == 10);
    pool.run(4, [&](int, int) { ++n_run; });
    REQUIRE(n_run == 14);
}
