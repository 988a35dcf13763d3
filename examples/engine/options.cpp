#include "options.hpp"

#include <dhisparse/core/types.hpp>
#include <tiny_dsa/spec.hpp>

#include "command_line.hpp"

#if DHISPARSE_WITH_CUDA
#include <dhisparse/memory/device.hpp>
#endif

namespace engine {
namespace {

using program::number;
using program::refuse;

constexpr const char* purpose =
    "Serves requests of a small sparse-attention model (examples/tiny_dsa; a token is a byte): continuous batching,\n"
    "chunked prefill, kept prefixes, speculation and parking over two memory tiers, one step ahead of the device.\n"
    "Every output is compared with what the model says with all of its history in plain memory.\n";

constexpr const char* notes =
    "Without --requests and --trace a few requests are made: questions about three documents, some given up.\n"
    "\n"
    "--requests: one JSON object a line:\n"
    "  prompt         its text; or file, with offset and length: bytes of a file, relative to this one's folder\n"
    "  tokens         that it wants\n"
    "  arrival_step   when it comes, or arrival_s, in seconds of --step-ms a step [0]\n"
    "  abort_after    its client leaves after so many tokens [never]\n"
    "  abort_step     or in this step, whatever it is doing then: waiting, prefill, decoding, parked [never]\n"
    "  prefix         bytes of its prompt that are kept for later requests [all, in whole pages]\n"
    "--trace: .csv with arrival_s,input_tokens,output_tokens, or .jsonl with timestamp (ms), input_length,\n"
    "  output_length, hash_ids; lengths times --length-scale, equal hash_ids become equal text.\n"
    "\n"
    "Time is counted in steps: a round of all requests, and a chunk of prefill. Runs repeat exactly.\n"
    "JSON: one object; waits are from arrival to admission; tokens_per_s is wall-clock; host_rows: rows brought\n"
    "from the host tier; replies in the order of the requests; metrics as --metrics, as JSON.\n"
    "Exit code: 0 every output is the one that it has alone, 1 not, 2 the command could not run.";

struct texts {
    std::string model = DHISPARSE_EXAMPLES_DIR "/tiny_dsa";
    std::string limit = "32", length_scale = "0.05", step_ms = "20", made = "12", seed = "1";
    std::string pool, host, slots = "8", hot_rows = "256", k = "1", chunk = "4", keep = "8", backend = "host";
};

void describe(CLI::App& app, texts& t, options& o) {
    const auto add = [&](const char* name, std::string& value, const char* type, const std::string& what) {
        app.add_option(name, value, what)->type_name(type)->take_last();
    };
    app.description(purpose);
    app.footer(notes);
    app.get_formatter()->column_width(28);
    add("--requests", o.requests_file, "FILE", "Requests as JSON lines");
    add("--trace", o.trace_file, "FILE", "Requests of a trace");
    add("--limit", t.limit, "N", "Requests of the trace, the first ones [32]");
    add("--length-scale", t.length_scale, "X", "Tokens of the trace are so many [0.05]");
    add("--step-ms", t.step_ms, "X", "Milliseconds of arrival times that a step stands for [20]");
    add("--made", t.made, "N", "Requests that are made [12]");
    add("--seed", t.seed, "N", "Of made requests [1]");
    add("--pool-pages", t.pool, "N", "Pages of fast memory, of 64 positions [what all slots require, half of their history]");
    add("--host-pages", t.host, "N", "Pages of the host tier [plenty]");
    add("--slots", t.slots, "N", "Requests at a time [8]");
    add("--hot-rows", t.hot_rows, "B", "Hot rows a slot, whole pages [256]");
    add("--backend", t.backend, "host|cuda", "Where rounds run [host]; cuda: prefill and drafter stay on the CPU");
    add("--speculate", t.k, "K", "Queries a round at most, each request's by what was accepted [1: plain decoding]");
    add("--chunk-pages", t.chunk, "N", "Pages of prompt that are prefilled in a step [4]");
    add("--keep", t.keep, "N", "Prefixes kept for later requests [8]");
    add("--model", t.model, "DIR", "Folder of tiny_dsa.safetensors [examples/tiny_dsa]");
    app.add_flag("--stream", o.stream, "Print tokens as they come");
    app.add_flag("!--no-compare", o.compare, "Don't compute what each request says alone");
    add("--plot", o.plot_file, "FILE.svg", "Also draw pages by class and requests over the steps");
    add("--metrics", o.metrics_file, "FILE", "Also write the hierarchy's metrics as Prometheus text");
    app.add_flag("--json", o.json, "One JSON object on stdout");
}

backend backend_of(const std::string& text) {
    if (text != "host" && text != "cuda") refuse("--backend", text, "host, cuda");
    if (text == "host") return backend::host;
#if DHISPARSE_WITH_CUDA
    if (dhisparse::device_count() == 0) refuse("--backend", text, "host (no CUDA device here)");
#else
    refuse("--backend", text, "host (this build has no CUDA)");
#endif
    return backend::cuda;
}

int hot_pages_of(const std::string& text) {
    constexpr int page = tiny_dsa::keys_per_block;
    const auto rows = number<int>("--hot-rows", text, tiny_dsa::top_k, tiny_dsa::max_positions);
    if (rows % page != 0) refuse("--hot-rows", text, fmt::format("multiples of {}", page));
    return rows / page;
}

} // namespace

options parse_options(int argc, const char* const* argv) {
    options o;
    texts t;
    CLI::App app("", "dhisparse-engine");
    describe(app, t, o);
    program::parse(app, argc, argv);
    if (!o.requests_file.empty() && !o.trace_file.empty()) refuse("--trace", o.trace_file, "only without --requests");
    if (o.json && o.stream) refuse("--stream", "on", "only without --json");
    o.model_dir = t.model;
    o.scale = {.length = number<double>("--length-scale", t.length_scale, 1e-6, 1e3), .step_ms = number<double>("--step-ms", t.step_ms, 1e-3, 1e9),
               .limit = number<std::int64_t>("--limit", t.limit, 1, 1'000'000)};
    o.made = number<std::int64_t>("--made", t.made, 1, 1'000'000);
    o.seed = number<std::uint64_t>("--seed", t.seed, 0, UINT64_MAX);
    if (!t.pool.empty()) o.pool_pages = number<int>("--pool-pages", t.pool, 1, 1 << 20);
    if (!t.host.empty()) o.host_pages = number<int>("--host-pages", t.host, 1, 1 << 20);
    o.slots = number<int>("--slots", t.slots, 1, 256);
    o.hot_pages = hot_pages_of(t.hot_rows);
    o.k = number<int>("--speculate", t.k, 1, tiny_dsa::max_block_length);
    o.chunk_pages = number<int>("--chunk-pages", t.chunk, 1, 128);
    o.keep = number<int>("--keep", t.keep, 0, 1 << 20);
    o.where = backend_of(t.backend);
    return o;
}

std::vector<request> requests_of(const options& o) {
    if (!o.requests_file.empty()) return read_requests(o.requests_file, o.scale.step_ms);
    const auto story = read_story(DHISPARSE_EXAMPLES_DIR "/tiny_dsa/story.txt");
    return o.trace_file.empty() ? make_requests(o.made, o.seed, story) : read_trace(o.trace_file, o.scale, story);
}

} // namespace engine
