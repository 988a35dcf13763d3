// Streams and devices: a hierarchy works on the device that it was made on, whichever is current, and in
// any stream; memory of another device is refused.
#include "pair.cuh"
#include "refusal.hpp"

#include <atomic>
#include <chrono>
#include <set>
#include <thread>

using namespace dhisparse_test;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr int k = 8, hot_pages = 2, rounds = 40;

dh::hierarchy_config small_config() {
    dh::model_shape shape{.name = "small", .layers = 2, .k = k, .page_positions = 16};
    shape.sources = {{.layer = 0, .row_bytes = 64}, {.layer = 1, .row_bytes = 64}};
    shape.groups = {{0, 1}};
    shape.announcements = {{0, 0, {0, 1}}};
    return {.shape = shape, .pool_pages = 12, .host_pages = 12, .hot_pages = hot_pages, .reserve_pages = 12};
}

int n_devices() {
    int n = 0;
    if (cudaGetDeviceCount(&n) != cudaSuccess) cudaGetLastError();
    return n;
}
int current_device() {
    int device = -1;
    dh::cuda_check(cudaGetDevice(&device), "device");
    return device;
}

/// One request of a hierarchy, `rounds` rounds long; every call is followed by a look at the current device.
class decoder {
public:
    /// Lives on the given device; the one that was current stays current.
    explicit decoder(int device) : device_(device), current_(current_device()) {
        const dh::device_guard guard(device);
        kv_.emplace(small_config());
        dh::cuda_check(cudaMemset(kv_->tiers().slab, 0, static_cast<std::size_t>(dh::hierarchy<dh::cuda_backend>::bytes_needed(small_config()).pool)), "slab");
        dh::cuda_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
        const auto slot = kv_->try_admit({0, 64});
        REQUIRE(slot.has_value());
        slot_ = *slot;
        slots_.data()[0] = slot_.index;
        kv_->finish_import(slot_);
        kv_->advance(stream_, kv_->completed(), {});
    }
    ~decoder() { cudaStreamDestroy(stream_); }

    /// Enqueues round n without waiting. selection: [rounds][k].
    void enqueue(int n, const std::vector<std::int32_t>& selection) {
        std::copy_n(selection.data() + n * k, k, rows_.data() + n * k);
        const auto round = kv_->append(stream_, {slots_.data(), nullptr, 1});
        CHECK(current_device() == current_);
        kv_->resolve(stream_, round, kv_->shape().announcements[0], {rows_.data() + n * k, k, k}, {locations_.data() + n * 64, 64});
        CHECK(current_device() == current_);
        kv_->commit(stream_, round);
        CHECK(current_device() == current_);
    }
    /// Waits, and lets the ledger have its turn at this frontier.
    void advance(int frontier) {
        wait();
        const dh::frontier_report report{slot_, frontier};
        kv_->advance(stream_, kv_->completed(), std::span(&report, 1));
        CHECK(current_device() == current_);
        wait();
    }
    std::vector<std::int32_t> locations() const { return {locations_.data(), locations_.data() + locations_.size()}; }
    dh::tally counts() const { return kv_->counts(); }
    dh::hierarchy<dh::cuda_backend>& kv() { return *kv_; }
    cudaStream_t stream() const { return stream_; }
    dh::round_ref append() { return kv_->append(stream_, {slots_.data(), nullptr, 1}); }
    const shared_array<std::int32_t>& rows() const { return rows_; }
    void wait() const {
        const dh::device_guard guard(device_);
        dh::cuda_check(cudaDeviceSynchronize(), "device");
    }

private:
    int device_, current_;
    std::optional<dh::hierarchy<dh::cuda_backend>> kv_;
    cudaStream_t stream_{};
    dh::slot_id slot_;
    shared_array<std::int32_t> slots_{1}, rows_{rounds * k}, locations_{rounds * 64};
};

/// [rounds][k] rows that each round may see.
std::vector<std::int32_t> some_selection(unsigned which) {
    std::mt19937 random(static_cast<unsigned>(seed()) + which);
    std::vector<std::int32_t> out;
    for (int n = 0; n < rounds; ++n)
        for (int i = 0; i < k; ++i) out.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(n + 1)));
    return out;
}

/// The same on the host backend: [rounds][64] locations, and what it counted.
std::pair<std::vector<std::int32_t>, dh::tally> wanted(const std::vector<std::int32_t>& selection) {
    dh::hierarchy<dh::host_backend> kv(small_config());
    const auto slot = *kv.try_admit({0, 64});
    kv.finish_import(slot);
    kv.advance({}, kv.completed(), {});
    std::vector<std::int32_t> out(rounds * 64);
    for (int n = 0; n < rounds; ++n) {
        const auto round = kv.append({}, {&slot.index, nullptr, 1});
        kv.resolve({}, round, kv.shape().announcements[0], {selection.data() + n * k, k, k}, {out.data() + n * 64, 64});
        kv.commit({}, round);
        const dh::frontier_report report{slot, n + 1};
        kv.advance({}, kv.completed(), std::span(&report, 1));
    }
    return {out, kv.counts()};
}

void check_same(const decoder& got, const std::vector<std::int32_t>& selection) {
    const auto [locations, counts] = wanted(selection);
    CHECK(got.locations() == locations);
    CHECK(got.counts().hot == counts.hot);
    CHECK(got.counts().host == counts.host);
    CHECK(counts.host > 0);
}

} // namespace

TEST_CASE("two hierarchies in two streams, round by round in turns, are each as when alone", "[cuda][sanitize]") {
    if (!has_gpu()) return skip("no CUDA device");
    CAPTURE(seed());
    const auto a = some_selection(1), b = some_selection(2);
    decoder first(0), second(0);
    for (int n = 0; n < rounds; ++n) {
        first.enqueue(n, a);
        second.enqueue(n, b);
        first.advance(n + 1);
        second.advance(n + 1);
    }
    check_same(first, a);
    check_same(second, b);
}

TEST_CASE("ST-05 plans that are made while the stream is held up are all applied, each with its own edits", "[cuda]") {
    if (!has_gpu()) return skip("no CUDA device");
    auto config = small_config();
    config.slots = 4;
    config.pool_pages = config.host_pages = 40;
    dh::hierarchy<dh::cuda_backend> kv(config);
    dh::hierarchy<dh::host_backend> host(config);
    cudaStream_t stream{};
    dh::cuda_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    std::atomic<bool> go{false};
    dh::cuda_check(cudaLaunchHostFunc(stream, [](void* held) { while (!static_cast<std::atomic<bool>*>(held)->load()) std::this_thread::yield(); }, &go), "stream");
    const shared_array<std::int32_t> slots(4);
    for (int i = 0; i < 4; ++i) {
        const auto a = kv.try_admit({0, 64}), b = host.try_admit({0, 64});
        REQUIRE((a && b && a->index == b->index));
        slots.data()[i] = a->index;
        kv.finish_import(*a);
        host.finish_import(*b);
        kv.advance(stream, kv.completed(), {}); // the one before is still held up
        host.advance({}, host.completed(), {});
    }
    go = true;
    const auto got = kv.append(stream, {slots.data(), nullptr, 4});
    const auto wanted = host.append({}, {slots.data(), nullptr, 4});
    dh::cuda_check(cudaStreamSynchronize(stream), "append");
    CHECK(first_difference(wanted.group_locations(0), got.group_locations(0), 4 * 4) == -1);
    CHECK(std::set<int>(wanted.group_locations(0), wanted.group_locations(0) + 4).size() == 4);
    CHECK(*std::min_element(wanted.group_locations(0), wanted.group_locations(0) + 4) >= 0);
    cudaStreamDestroy(stream);
}

TEST_CASE("HC-03 what a construction permits can be launched: every batch, with one query each and with K_max", "[cuda]") {
    if (!has_gpu()) return skip("no CUDA device");
    constexpr int requests = 32, wide = 2048, k_max = 4;
    dh::model_shape shape{.name = "wide", .layers = 4, .k = wide, .page_positions = 64};
    for (int layer = 0; layer < 4; ++layer) shape.sources.push_back({.layer = layer, .row_bytes = 576});
    shape.groups = {{0, 1, 2, 3}};
    shape.announcements = {{0, 0, {0, 1, 2, 3}}};
    dh::hierarchy<dh::cuda_backend> kv({.shape = shape, .pool_pages = 40 * requests, .host_pages = 64, .slots = requests, .hot_pages = wide / 64, .k_max = k_max});
    const shared_array<std::int32_t> slots(requests), widths(requests), rows(requests * k_max * wide), locations(rows.size());
    std::fill_n(slots.data(), requests, -1);
    std::fill_n(widths.data(), requests, k_max);
    std::fill_n(rows.data(), rows.size(), -1);
    for (int n = 1; n <= requests; ++n)
        for (const auto* of : {widths.data(), static_cast<std::int32_t*>(nullptr)}) {
            CAPTURE(n, of == nullptr);
            std::fill_n(locations.data(), locations.size(), 7);
            const auto round = kv.append(nullptr, {slots.data(), of, n});
            kv.resolve(nullptr, round, shape.announcements[0], {rows.data(), wide, wide}, {locations.data(), wide});
            kv.commit(nullptr, round);
            dh::cuda_check(cudaStreamSynchronize(nullptr), "round");
            const auto answered = std::int64_t{n} * (of ? k_max : 1) * wide;
            REQUIRE(std::all_of(locations.data(), locations.data() + answered, [](std::int32_t at) { return at == -1; }));
            REQUIRE(std::all_of(locations.data() + answered, locations.data() + locations.size(), [](std::int32_t at) { return at == 7; }));
        }
}

TEST_CASE("PP-12 nothing that is cleared late erases rows written at once in a stream of their own", "[cuda]") {
    if (!has_gpu()) return skip("no CUDA device");
    dh::cuda_check(cudaLaunchHostFunc(cudaStreamLegacy, [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }, nullptr), "a busy default stream");
    dh::hierarchy<dh::cuda_backend> kv(small_config());
    cudaStream_t stream{};
    dh::cuda_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    const auto slot = kv.try_admit({16, 1}).value();
    kv.advance(stream, kv.completed(), {});
    const auto page = kv.import_pages(slot, 0, 1)[0];
    const std::vector<std::byte> wanted(64, std::byte{0x5A});
    for (int row = 0; row < 16; ++row) dh::cuda_check(cudaMemsetAsync(kv.row(0, kv.location_of(0, page, row), 0), 0x5A, 64, stream), "row");
    kv.landed(slot, 0, 1);
    kv.finish_import(slot);
    kv.advance(stream, kv.completed(), {});
    dh::cuda_check(cudaDeviceSynchronize(), "everything");
    for (int row = 0; row < 16; ++row) CHECK(first_difference(wanted.data(), kv.row(0, kv.location_of(0, page, row), 0), 64) == -1);
    CHECK(kv.running(slot));
    cudaStreamDestroy(stream);
}

TEST_CASE("TP-05 TP-06 a hierarchy of a device that is not the current one works, and leaves the current one", "[cuda]") {
    if (n_devices() < 2) return skip("fewer than two CUDA devices");
    CAPTURE(seed());
    const auto a = some_selection(3);
    REQUIRE(cudaSetDevice(0) == cudaSuccess);
    decoder other(1);
    CHECK(current_device() == 0);
    for (int n = 0; n < rounds; ++n) {
        other.enqueue(n, a);
        other.advance(n + 1);
    }
    other.kv().reset_counts();
    CHECK(current_device() == 0);
    CHECK(other.locations() == wanted(a).first);
    CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("TP-06 a pointer of another device is refused, and says which device", "[cuda]") {
    if (n_devices() < 2) return skip("fewer than two CUDA devices");
    REQUIRE(cudaSetDevice(0) == cudaSuccess);
    const dh::array_of<std::int32_t> foreign(64); // of device 0
    decoder other(1);
    const auto round = other.append();
    const auto& said = other.kv().shape().announcements[0];
    CHECK_THAT(refusal([&] { other.kv().resolve(other.stream(), round, said, {foreign.data(), k, k}, {foreign.data(), 64}); }),
               ContainsSubstring("a selection is memory of device 0, permitted: memory of device 1"));
    CHECK_THAT(refusal([&] { other.kv().append(other.stream(), {foreign.data(), nullptr, 1}); }), ContainsSubstring("slots of a batch is memory of device 0"));
    auto config = small_config();
    const auto bytes = dh::hierarchy<dh::cuda_backend>::bytes_needed(config).pool;
    const dh::array_of<std::byte> pool(bytes);
    config.pool_memory = {pool.data(), static_cast<std::size_t>(bytes)};
    const dh::device_guard guard(1);
    CHECK_THAT(refusal([&] { dh::hierarchy<dh::cuda_backend> refused(config); }), ContainsSubstring("pool memory is memory of device 0"));
}

TEST_CASE("ordinary host memory is refused where the device reads none", "[cuda]") {
    if (!has_gpu()) return skip("no CUDA device");
    int reads_any = 0;
    dh::cuda_check(cudaDeviceGetAttribute(&reads_any, cudaDevAttrPageableMemoryAccess, 0), "attribute");
    if (reads_any) return skip("this device reads ordinary host memory");
    decoder one(0);
    const auto round = one.append();
    std::vector<std::int32_t> locations(64);
    CHECK_THAT(refusal([&] { one.kv().resolve(one.stream(), round, one.kv().shape().announcements[0], {one.rows().data(), k, k}, {locations.data(), 64}); }),
               ContainsSubstring("memory for locations is ordinary host memory"));
    one.wait();
}

TEST_CASE("HM-03 HM-04 a refused registration leaves no error behind, one that others made is not undone", "[cuda]") {
    if (!has_gpu()) return skip("no CUDA device");
    dh::cuda_host_driver driver;
    const auto bytes = 2 * dh::huge_page_bytes;
    auto* const at = driver.map(bytes);
    REQUIRE(driver.pin(at, bytes).empty());
    CHECK_FALSE(driver.pin(at, dh::huge_page_bytes).empty()); // already registered, as part of the whole
    CHECK(cudaPeekAtLastError() == cudaSuccess);
    cudaPointerAttributes found{};
    CHECK(cudaPointerGetAttributes(&found, at) == cudaSuccess);
    CHECK(found.type == cudaMemoryTypeHost); // it still is
    CHECK(driver.unpin(at));
    CHECK_FALSE(driver.unpin(at));
    CHECK(cudaPeekAtLastError() == cudaSuccess);
    driver.unmap(at, bytes);
}
