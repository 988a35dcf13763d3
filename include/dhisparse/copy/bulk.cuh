/// Bulk asynchronous copies between shared and global memory (sm_90 and later), and the barrier they report to.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dhisparse::bulk {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define DHISPARSE_BULK 1
#else
#define DHISPARSE_BULK 0
#endif

#if DHISPARSE_BULK
__device__ inline std::uint32_t shared_address(const void* at) { return static_cast<std::uint32_t>(__cvta_generic_to_shared(at)); }

/// Readies a barrier for one arrival a phase. Before its first use the initialising threads fence and synchronise.
__device__ inline void init(std::uint64_t* barrier) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(shared_address(barrier)));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Starts a load of bytes (a multiple of 16; both sides 16-byte aligned) that completes the barrier's phase.
__device__ inline void load(void* shared, const void* global, std::uint32_t bytes, std::uint64_t* barrier) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared_address(shared)),
                 "l"(global), "r"(bytes), "r"(shared_address(barrier)) : "memory");
}

__device__ inline void wait(std::uint64_t* barrier, std::uint32_t parity) {
    std::uint32_t done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0,1,0,p; }"
                     : "=r"(done) : "r"(shared_address(barrier)), "r"(parity) : "memory");
}

/// The cluster's barrier in halves: what a thread wrote before it arrives is visible to threads that have waited. A
/// thread that has left since counts as arrived (PTX: wait is for all non-exited threads).
__device__ inline void arrive_cluster() {
    __syncwarp();
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ inline void wait_cluster() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

__device__ inline void store(void* global, const void* shared, std::uint32_t bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(global), "r"(shared_address(shared)), "r"(bytes) : "memory");
}
__device__ inline void commit_stores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
/// The calling thread's stores have read shared memory: it may be overwritten.
__device__ inline void wait_stores_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
#endif

} // namespace dhisparse::bulk
