// The acceptance helpers and the draft ring in kernels: the output's law, and addresses as on the host.
#include "acceptance_law.hpp"
#include "catch.hpp"

#include <dhisparse/core/cuda_check.cuh>
#include <dhisparse/draft/draft_ring.hpp>
#include <dhisparse/memory/device_memory.cuh>

namespace dh = dhisparse;
using namespace dhisparse_test;

namespace {

bool has_device() {
    int n = 0;
    if (cudaGetDeviceCount(&n) == cudaSuccess && n > 0) return true;
    cudaGetLastError();
    skip("no CUDA device");
    return false;
}

__global__ void decode_toys(int kind, std::uint32_t* counts) { // counts: [toy_outcomes]
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < toy_trials) atomicAdd(counts + toy_decode(kind, static_cast<std::uint64_t>(i) + 1), 1U); // read after the kernel
}

__global__ void accept_prefixes(std::int32_t* out) { // out: [2]
    const char proposed[] = {'E', 'F', 'G'}, target[] = {'E', 'F', 'X', 'Y'};
    const auto got = dh::accept_greedy(proposed, target, 3);
    out[0] = got.accepted;
    out[1] = got.next;
}

/// Round after round of one slot, by one thread; where its positions are found. found: [rounds][20]
__global__ void run_ring(dh::draft_ring_ref ring, dh::draft_plane keys, int rounds, dh::location* found) {
    for (int i = 0; i < rounds; ++i) {
        const auto n = ring.frontier(1);
        for (int j = 0; j < 4; ++j) *reinterpret_cast<std::int32_t*>(keys.row(ring.place(1, n + j))) = n + j;
        const auto end = ring.commit(1, 4, i % 4);
        for (int t = 0; t < 20; ++t) {
            const auto at = ring.find(1, end - 16 + t);
            found[i * 20 + t] = at < 0 || *reinterpret_cast<std::int32_t*>(keys.row(at)) != end - 16 + t ? -1 : at;
        }
    }
}

template <class T>
std::vector<T> read_back(const dh::array_of<T>& from) {
    std::vector<T> out(static_cast<std::size_t>(from.size()));
    dh::cuda_check(cudaMemcpy(out.data(), from.data(), out.size() * sizeof(T), cudaMemcpyDefault), "read back");
    return out;
}

} // namespace

TEST_CASE("speculative sampling in a kernel has the target's law", "[round][gpu]") {
    if (!has_device()) return;
    for (const int kind : {0, 1, 2}) {
        const std::vector<std::uint32_t> none(toy_outcomes);
        const dh::array_of<std::uint32_t> counts(none);
        decode_toys<<<(toy_trials + 255) / 256, 256>>>(kind, counts.data());
        const auto got = read_back(counts);
        CAPTURE(kind);
        CHECK(toy_chi_square(kind, got) < toy_bound);
    }
}

TEST_CASE("greedy acceptance in a kernel is the host's", "[round][gpu]") {
    if (!has_device()) return;
    const dh::array_of<std::int32_t> out(2);
    accept_prefixes<<<1, 1>>>(out.data());
    CHECK(read_back(out) == std::vector<std::int32_t>{2, 'X'});
}

TEST_CASE("a draft ring in device memory gives the host's locations", "[draft][gpu]") {
    if (!has_device()) return;
    constexpr int rounds = 30;
    const dh::draft_ring_config config{.slots = 2, .window = 8, .k_max = 4, .page_positions = 4, .layers = {{16}}};
    const dh::draft_ring<dh::device_memory> ring(config, {}, [](std::byte* memory, std::int64_t bytes) {
        dh::cuda_check(cudaMemset(memory, 0, static_cast<std::size_t>(bytes)), "clear");
    });
    const dh::array_of<dh::location> found(rounds * 20);
    run_ring<<<1, 1>>>(ring.ref(), ring.keys(0), rounds, found.data());
    const auto got = read_back(found);
    const dh::draft_ring<> host(config);
    std::vector<dh::location> expected;
    for (int i = 0; i < rounds; ++i) {
        const auto end = host.ref().commit(1, 4, i % 4);
        for (int t = 0; t < 20; ++t) expected.push_back(host.ref().find(1, end - 16 + t));
    }
    CHECK(got == expected);
}
