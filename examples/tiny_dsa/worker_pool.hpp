// Threads that share the tasks of one job after another.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace tiny_dsa {

class worker_pool {
public:
    /// n_threads counts the calling thread; 0: one per processor.
    explicit worker_pool(int n_threads);
    ~worker_pool();

    int n_threads() const { return static_cast<int>(threads_.size()) + 1; }

    /// Calls f(task, worker) for every task in [0, n_tasks), 0 <= worker < n_threads(), and returns
    /// when all are done.  An exception of a task is thrown again here.  Not to be called from two
    /// threads, or from a task.
    template <class F>
    void run(int n_tasks, const F& f) {
        if (n_tasks <= 1 || threads_.empty()) {
            for (int task = 0; task < n_tasks; ++task) {
                f(task, 0);
            }
            return;
        }
        share(n_tasks, {&f, [](const void* context, int task, int worker) {
                            (*static_cast<const F*>(context))(task, worker);
                        }});
    }

private:
    struct job {
        const void* context;
        void (*call)(const void* context, int task, int worker);
    };

    void share(int n_tasks, job next);
    bool do_one_task(int worker);
    void work(std::stop_token stop, int worker);
    void keep_error();

    job job_{}; // valid while tasks of it are unfinished

    // Job number, its tasks, the next task (worker_pool.cpp).  share() releases job_ with it, a
    // worker that claims a task acquires it.
    std::atomic<std::uint64_t> claims_{0};

    // Tasks that are finished: released by the worker, acquired by share().
    std::atomic<int> n_done_{0};

    // Counts jobs, for idle workers to wait on: released after claims_, acquired before it is read.
    std::atomic<std::uint32_t> signal_{0};

    std::mutex error_lock_;
    std::exception_ptr error_; // the first one of a job
    std::vector<std::jthread> threads_;
};

} // namespace tiny_dsa
