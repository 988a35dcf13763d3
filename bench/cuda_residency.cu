// Whole pages between the tiers: how fast a request's optional history leaves the GPU, and how fast it is back. Pages
// as GLM-5.3's, 21 groups of four 576-byte lanes; gigabytes a second from the call until the pages are free or mapped. And what
// refills beside a step's 21 resolves cost these.
#include "cuda_session.cuh"

#include <benchmark/benchmark.h>

#include <chrono>
#include <optional>

namespace {
using namespace dhisparse_bench;

constexpr std::int32_t pages = 640; // about 2 GB

/// One request whose whole history lies on the GPU, and nobody else.
class lone_request {
public:
    lone_request() : kv_(config()) {
        dh::cuda_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
        slot_ = *kv_.try_admit({std::int64_t{pages} * page, 1});
        advance();
        for (std::int32_t at = 0; at < pages;) {
            const auto given = static_cast<std::int32_t>(kv_.import_pages(slot_, at, pages - at).size());
            kv_.landed(slot_, at, given);
            at += given;
            advance();
        }
        kv_.finish_import(slot_);
        wait([&] { return optional() == pages; });
    }
    ~lone_request() {
        cudaDeviceSynchronize();
        cudaStreamDestroy(stream_);
    }

    /// Seconds.
    double reclaim() {
        return timed([&] { kv_.reclaim(pages); }, [&] { return kv_.ledger().pages().free >= pages; });
    }
    double refill() {
        const auto wanted = kv_.ledger().counts().refilled_pages + pages;
        return timed([&] { kv_.reclaim(0); }, [&] { return kv_.ledger().counts().refilled_pages == wanted; });
    }
    std::int64_t backed_up() const { return static_cast<std::int64_t>(kv_.ledger().counts().backed_up_pages); }
    double gigabytes() const { return 1e-9 * pages * static_cast<double>(kv_.layout().host_page_bytes()); }

private:
    static dh::hierarchy_config config() {
        dh::hierarchy_config out{.shape = groups_of_four(21)};
        out.hot_pages = 64;
        out.pool_pages = 64 + 8 + pages;
        out.host_memory = host_tier();
        out.host_bytes = static_cast<std::int64_t>(out.host_memory.size());
        out.refill_pages_per_step = 64;
        return out;
    }
    std::int32_t optional() const { return kv_.ledger().pages().optional; }
    void advance() { kv_.advance(stream_, kv_.completed(), {}); }
    template <class Done>
    void wait(Done done) {
        while (!done()) advance();
    }
    template <class Start, class Done>
    double timed(Start start, Done done) {
        dh::cuda_check(cudaDeviceSynchronize(), "idle");
        const auto from = std::chrono::steady_clock::now();
        start();
        wait(done);
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
    }

    dh::hierarchy<dh::cuda_backend> kv_;
    cudaStream_t stream_{};
    dh::slot_id slot_;
};

/// prepare(request) and measured(request): seconds, the second counted.
template <class Prepare, class Measured>
void move_pages(benchmark::State& state, double target, bool copies, Prepare prepare, Measured measured) {
    std::optional<lone_request> one;
    std::vector<double> times;
    for (auto _ : state) {
        if (!one || copies) one.emplace(); // imported history has no copy on the host yet
        prepare(*one);
        const auto before = one->backed_up();
        times.push_back(measured(*one));
        state.SetIterationTime(times.back());
        if ((one->backed_up() - before) != (copies ? pages : 0)) state.SkipWithError("not the pages that should have been backed up");
    }
    std::sort(times.begin(), times.end());
    state.counters["GB_a_second"] = one->gigabytes() / times[times.size() / 2];
    state.counters["target"] = target;
    state.counters["gigabytes"] = one->gigabytes();
}

void add(const char* name, double target, bool copies, void (*prepare)(lone_request&), double (*measured)(lone_request&)) {
    benchmark::RegisterBenchmark(name, [=](benchmark::State& state) { move_pages(state, target, copies, prepare, measured); })->Iterations(5)->UseManualTime()->Unit(benchmark::kMillisecond);
}

/// RS-16. A step's resolves of 32 requests, 0.05 % missed, alone and with the refill of so many pages beside them, in turn.
void beside_refill(benchmark::State& state, int pages_a_step) {
    const conditions c{.requests = 32, .missed = 0.0005, .groups = 21, .positions = 8192, .per_graph = 21, .leased = pages_a_step};
    session<> s(c);
    cudaStream_t side{};
    int least = 0, most = 0;
    dh::cuda_check(cudaDeviceGetStreamPriorityRange(&least, &most), "priorities");
    dh::cuda_check(cudaStreamCreateWithPriority(&side, cudaStreamNonBlocking, least), "side stream");
    s.run();
    std::vector<double> alone, beside;
    for (auto _ : state) {
        alone.push_back(s.run());
        beside.push_back(s.run([&] { s.refill_leased(side); }));
        dh::cuda_check(cudaStreamSynchronize(side), "refill");
        state.SetIterationTime(c.per_graph * beside.back());
    }
    cudaStreamDestroy(side);
    for (auto* times : {&alone, &beside}) std::sort(times->begin(), times->end());
    const auto n = alone.size() / 2;
    state.counters["alone_us"] = 1e6 * c.per_graph * alone[n];
    state.counters["beside_us"] = 1e6 * c.per_graph * beside[n];
    state.counters["slower_percent"] = 100 * (beside[n] / alone[n] - 1);
    state.counters["target_percent"] = 10;
}

} // namespace

int main(int argc, char** argv) {
    const auto nothing = [](lone_request&) {};
    const auto reclaim = [](lone_request& one) { return one.reclaim(); };
    const auto refill = [](lone_request& one) { return one.refill(); };
    add("reclaim/not_durable", 50, true, nothing, reclaim);
    add("reclaim/durable", 0, false, [](lone_request& one) { one.reclaim(), one.refill(); }, reclaim);
    add("refill", 48, false, [](lone_request& one) { one.reclaim(); }, refill);
    for (const int n : {1, 2, 4}) benchmark::RegisterBenchmark(("beside_refill/pages:" + std::to_string(n)).c_str(), [n](benchmark::State& state) { beside_refill(state, n); })->Iterations(40)->UseManualTime()->Unit(benchmark::kMicrosecond);
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
}
