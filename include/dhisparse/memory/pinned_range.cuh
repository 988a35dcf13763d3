/// The host tier of the CUDA backend: huge pages, registered with the driver chunk by chunk.
#pragma once

#include <dhisparse/core/cuda_check.cuh>
#include <dhisparse/memory/device_memory.cuh>
#include <dhisparse/memory/pinned_range.hpp>

#include <sys/resource.h>

namespace dhisparse {

/// Pinned memory at one contiguous address range. One registration of 512 GiB and more fails on some
/// drivers, and a long one holds a driver-wide lock: chunks of 16 GiB. All or nothing.
class pinned_range {
public:
    static constexpr std::int64_t chunk_bytes = std::int64_t{16} << 30;

    std::byte* allocate(std::int64_t bytes, std::int64_t /*alignment*/) {
        auto* memory = map_touched(bytes, std::max(1u, std::thread::hardware_concurrency()));
        std::int64_t pinned = 0;
        try {
            for (; pinned < bytes; pinned += chunk(bytes, pinned)) pin(memory + pinned, chunk(bytes, pinned), bytes);
        } catch (...) {
            unpin(memory, pinned);
            unmap(memory, bytes);
            throw;
        }
        return memory;
    }
    void deallocate(std::byte* memory, std::int64_t bytes, std::int64_t /*alignment*/) {
        if (unpin(memory, bytes)) unmap(memory, bytes); // what the driver still refers to stays mapped
    }

private:
    static std::int64_t chunk(std::int64_t bytes, std::int64_t at) { return std::min(chunk_bytes, round_up(bytes, huge_page_bytes) - at); }

    static void pin(std::byte* at, std::int64_t bytes, std::int64_t all) {
        const auto status = cudaHostRegister(at, static_cast<std::size_t>(bytes), cudaHostRegisterMapped | cudaHostRegisterPortable);
        if (status == cudaSuccess) return;
        cudaGetLastError();
        rlimit limit{};
        getrlimit(RLIMIT_MEMLOCK, &limit);
        const auto permitted = limit.rlim_cur == RLIM_INFINITY ? std::string("unlimited") : text(limit.rlim_cur, " bytes");
        throw out_of_capacity(text("host (pinned) memory: the driver refused ", bytes, " of ", all, " bytes (host_bytes): ", cudaGetErrorString(status),
                                   "; locked memory (ulimit -l) is ", permitted));
    }
    /// False where the driver would not let go of a chunk.
    static bool unpin(std::byte* memory, std::int64_t bytes) {
        bool all = true;
        for (std::int64_t at = (bytes - 1) / chunk_bytes * chunk_bytes; bytes > 0 && at >= 0; at -= chunk_bytes)
            if (cudaHostUnregister(memory + at) != cudaSuccess) {
                cudaGetLastError();
                all = false;
            }
        return all;
    }
};
static_assert(memory_resource<pinned_range>);

} // namespace dhisparse
