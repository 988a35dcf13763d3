#include "worker_pool.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace tiny_dsa {

namespace {

// claims_ = job number << 40 | tasks of the job << 20 | next task.  One word, so that a worker that
// wakes up late can never claim a task of a job that has ended: the job number would differ and its
// exchange fail.
constexpr int task_bits = 20;
constexpr std::uint64_t task_mask = (1u << task_bits) - 1;

constexpr int spins_before_sleep =
    2000; // about 100 us: longer than the gaps between the jobs of a forward()

inline void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

} // namespace

worker_pool::worker_pool(int n_threads) {
    if (n_threads <= 0) {
        n_threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    }
    for (int worker = 1; worker < n_threads; ++worker) {
        threads_.emplace_back([this, worker](std::stop_token stop) { work(stop, worker); });
    }
}

worker_pool::~worker_pool() {
    for (std::jthread& thread : threads_) {
        thread.request_stop();
    }
    signal_.fetch_add(1, std::memory_order_release);
    signal_.notify_all();
}

void worker_pool::share(int n_tasks, job next) {
    if (static_cast<std::uint64_t>(n_tasks) > task_mask) {
        throw std::invalid_argument("a job has " + std::to_string(n_tasks) +
                                    " tasks, the limit is " + std::to_string(task_mask));
    }
    job_ = next;
    n_done_.store(0, std::memory_order_relaxed);
    const std::uint64_t number = (claims_.load(std::memory_order_relaxed) >> (2 * task_bits)) + 1;
    claims_.store((number << task_bits | static_cast<std::uint64_t>(n_tasks)) << task_bits,
                  std::memory_order_release);
    signal_.fetch_add(1, std::memory_order_release);
    signal_.notify_all();
    while (do_one_task(0)) {
    }
    for (int spins = 0; n_done_.load(std::memory_order_acquire) < n_tasks; ++spins) {
        spins < spins_before_sleep ? pause() : std::this_thread::yield();
    }
    if (error_) {
        std::rethrow_exception(std::exchange(error_, nullptr));
    }
}

bool worker_pool::do_one_task(int worker) {
    std::uint64_t claims = claims_.load(std::memory_order_acquire);
    do {
        if ((claims & task_mask) == (claims >> task_bits & task_mask)) {
            return false;
        }
    } while (!claims_.compare_exchange_weak(claims, claims + 1, std::memory_order_acq_rel));
    try {
        job_.call(job_.context, static_cast<int>(claims & task_mask), worker);
    } catch (...) {
        keep_error();
    }
    n_done_.fetch_add(1, std::memory_order_release);
    return true;
}

void worker_pool::keep_error() {
    const std::lock_guard lock(error_lock_);
    if (!error_) {
        error_ = std::current_exception();
    }
}

void worker_pool::work(std::stop_token stop, int worker) {
    while (!stop.stop_requested()) {
        const std::uint32_t seen = signal_.load(std::memory_order_acquire);
        while (do_one_task(worker)) {
        }
        int spins = 0;
        while (signal_.load(std::memory_order_acquire) == seen && spins++ < spins_before_sleep) {
            pause();
        }
        if (!stop.stop_requested()) {
            signal_.wait(seen, std::memory_order_acquire);
        }
    }
}

} // namespace tiny_dsa
