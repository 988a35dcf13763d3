/// The half that applies, on the CUDA backend: edits in the step stream, copies on a side stream of low
/// priority, both fed from pinned command blocks. Never waits.
#pragma once

#include <dhisparse/executor/launch.cuh>
#include <dhisparse/layout/page_layout.hpp>
#include <dhisparse/memory/device_memory.cuh>

#include <algorithm>
#include <cstring>
#include <deque>
#include <list>
#include <set>
#include <span>
#include <tuple>
#include <vector>

namespace dhisparse {

/// An event of the current device.
class cuda_event {
public:
    cuda_event() { cuda_check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreate"); }
    ~cuda_event() { cudaEventDestroy(event_); }
    cuda_event(const cuda_event&) = delete;
    cuda_event& operator=(const cuda_event&) = delete;
    cudaEvent_t get() const { return event_; }
    /// True once the work recorded last is done; true where none was recorded. Throws where that work failed.
    bool done() const {
        const auto status = cudaEventQuery(event_);
        if (status == cudaErrorNotReady) return cudaGetLastError(), false;
        cuda_check(status, "work on the device");
        return true;
    }

private:
    cudaEvent_t event_ = nullptr;
};

class cuda_executor {
public:
    cuda_executor() {
        int least = 0, greatest = 0;
        cuda_check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "stream priorities");
        cuda_check(cudaStreamCreateWithPriority(&side_, cudaStreamNonBlocking, least), "side stream");
    }
    ~cuda_executor() {
        cudaStreamSynchronize(side_);
        cudaStreamDestroy(side_);
    }
    cuda_executor(const cuda_executor&) = delete;
    cuda_executor& operator=(const cuda_executor&) = delete;

    /// Enqueues a plan. tables: as the kernels see them; tiers: the copies' memory.
    void apply(cudaStream_t step, const step_plan& plan, const edit_tables& tables, const tiers_ref& tiers) {
        apply_edits(step, plan, tables);
        if (plan.fence == 0 && plan.copies.empty()) return;
        auto& fence = pending_.emplace_back();
        cuda_check(cudaEventRecord(fence.event.get(), step), "fence");
        if (plan.fence != 0) fence.tickets.push_back(plan.fence);
        if (!plan.copies.empty()) start_copies(plan, tiers, fence.event.get());
    }

    /// Tickets completed since the last call; valid until the next. Asks the driver, waits for nothing.
    std::span<const ticket> completed() {
        done_.clear();
        for (auto at = pending_.begin(); at != pending_.end();)
            if (at->event.done()) {
                done_.insert(done_.end(), at->tickets.begin(), at->tickets.end());
                at = pending_.erase(at);
            } else
                ++at;
        return done_;
    }

private:
    struct pending {
        cuda_event event;
        std::vector<ticket> tickets;
    };
    /// A pinned block that a kernel reads; free again once its event is done.
    struct command_block {
        explicit command_block(std::int64_t n_bytes) : memory(n_bytes) {}
        array_of<std::byte, mapped_memory> memory;
        cuda_event read;
    };

    /// A block of at least that many bytes that no kernel reads: an old one, else a new one.
    command_block& block(std::int64_t bytes) {
        for (auto& at : blocks_)
            if (at.memory.size() >= bytes && at.read.done()) return at;
        return blocks_.emplace_back(std::max<std::int64_t>(bytes * 2, 64 * 1024));
    }

    template <class T, class Launch>
    void launch_with(std::span<const T> items, cudaStream_t stream, Launch launch) {
        auto& at = block(static_cast<std::int64_t>(items.size_bytes()));
        std::memcpy(at.memory.data(), items.data(), items.size_bytes());
        launch(reinterpret_cast<const T*>(at.memory.data()), static_cast<std::int32_t>(items.size()));
        cuda_check(cudaEventRecord(at.read.get(), stream), "command block");
    }

    /// Runs of edits of different things go to one kernel each; those that open or move a slot stand alone.
    void apply_edits(cudaStream_t step, const step_plan& plan, const edit_tables& tables) {
        std::size_t begin = 0;
        std::set<std::tuple<edit::kind, std::int32_t, std::int32_t>> seen;
        const auto flush = [&](std::size_t end) {
            if (begin < end)
                launch_with(std::span(plan.edits).subspan(begin, end - begin), step, [&](const edit* edits, std::int32_t n) {
                    launch_edits(tables, edits, n, step);
                });
            begin = end;
            seen.clear();
        };
        for (std::size_t i = 0; i < plan.edits.size(); ++i) {
            const auto& e = plan.edits[i];
            const bool alone = e.what == edit::kind::open || e.what == edit::kind::move_run;
            if (alone || !seen.insert({e.what, e.slot, e.index}).second) flush(i);
            if (!alone) {
                seen.insert({e.what, e.slot, e.index});
                continue;
            }
            if (e.what == edit::kind::open) launch_open(tables, e, step);
            else launch_move_run(tables, e, step);
            begin = i + 1;
        }
        flush(plan.edits.size());
    }

    void start_copies(const step_plan& plan, const tiers_ref& tiers, cudaEvent_t after) {
        cuda_check(cudaStreamWaitEvent(side_, after, 0), "side stream");
        launch_with(std::span(plan.copies), side_, [&](const page_copy* copies, std::int32_t n) {
            launch_page_copies(tiers, copies, n, side_);
        });
        auto& batch = pending_.emplace_back();
        cuda_check(cudaEventRecord(batch.event.get(), side_), "copies");
        for (const auto& copy : plan.copies) batch.tickets.push_back(copy.id);
    }

    cudaStream_t side_ = nullptr;
    std::deque<command_block> blocks_;
    std::list<pending> pending_;
    std::vector<ticket> done_;
};

} // namespace dhisparse
