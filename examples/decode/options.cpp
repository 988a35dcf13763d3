#include "options.hpp"

#include <dhisparse/memory/device.hpp>
#include <tiny_dsa/spec.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace decode {
namespace {

constexpr int page = 64, k = tiny_dsa::top_k, context = tiny_dsa::max_positions;
constexpr int most_queries = tiny_dsa::max_block_length;
constexpr int most_requests = 64, most_pool_pages = 1 << 20;

constexpr const char* purpose =
    "Decodes a real sparse-attention model twice after one prefill: with its whole history in "
    "fast\n"
    "memory, and through dhisparse's two tiers with a small hot cache. Says whether every byte is\n"
    "the same, and where the selected rows were found.\n";

constexpr const char* notes =
    "Counts: a selected row is one entry of one indexer's selection for one new byte (4 indexers,\n"
    "256 rows each), and was found in tail pages, optional history, the hot cache or on the host.\n"
    "--verify counts it as verified if its bytes are the original ones in every layer that reads\n"
    "it. Bytes from host are those of all these layers. Tokens are bytes, each new one is "
    "processed\n"
    "once, the last one too; what is counted a token or a second is over all requests. Fast "
    "memory\n"
    "is whole pages: hot, tail, optional, and those of index keys.\n"
    "With --requests each prompt begins 100 bytes after the one before, and goes on at the file's\n"
    "start where that ends; all decode in one batch, and each is compared with its resident run.\n"
    "With --speculate a round is one request's; host counts entries, of which those of one row in\n"
    "one round are one copy (host_rows_selected, host_rows_distinct); fast memory counts the\n"
    "drafter's ring and staging too. What is compared is plain decoding, byte after byte.\n"
    "JSON: prompt_tokens and new_tokens are of one request, text is the first request's.\n"
    "Exit code: 0 every byte (and logit) is the same, 1 not, 2 the command could not run.";

/// What the command line says, as text: ranges are checked here, so that one message fits them all.
struct texts {
    std::string model = DHISPARSE_EXAMPLES_DIR "/tiny_dsa";
    std::string prompt, pool_pages;
    std::string tokens = "128", hot_rows = "512", resident = "none", replacement = "lru";
    std::string requests = "1", backend = "host", speculate, schedule;
};

std::optional<int> whole_number(std::string_view text) {
    int value = 0;
    const auto* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value);
    if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
    return value;
}

int hot_rows_of(const std::string& text) {
    const auto value = whole_number(text);
    if (!value || *value < k || *value > context || *value % page != 0)
        refuse("--hot-rows", text,
               fmt::format("multiples of {} from {} (k, the rows that a query selects) to {}", page,
                           k, context));
    return *value;
}

int resident_pages_of(const std::string& text) {
    if (text == "all") return options::all_pages;
    if (text == "none") return 0;
    const auto value = whole_number(text);
    if (!value || *value < 0 || *value > context / page)
        refuse("--resident", text, fmt::format("all, none, or 0 to {} pages", context / page));
    return *value;
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

replacement replacement_of(const std::string& text) {
    if (text != "lru" && text != "fifo") refuse("--replacement", text, "lru, fifo");
    return text == "lru" ? replacement::lru : replacement::fifo;
}

/// A type name is what the option permits: CLI11 shows it in the help and where a value is missing.
void describe_input(CLI::App& app, texts& t, options& o) {
    const auto add = [&](const char* name, std::string& value, const std::string& type,
                         const char* what) {
        app.add_option(name, value, what)->type_name(type)->take_last();
    };
    add("--model", t.model, "DIR", "Folder of tiny_dsa.safetensors [examples/tiny_dsa]");
    add("--prompt", t.prompt, "FILE",
        "Where the prompt comes from [story.txt in examples/tiny_dsa]");
    add("--offset", o.offset, "N", "Its first byte in the file [0]");
    add("--length", o.length, "N", "Its bytes [of the story up to 6000, else to the file's end]");
    add("--tokens", t.tokens, fmt::format("1..{}", context - 1), "New bytes a request [128]");
    add("--requests", t.requests, fmt::format("1..{}", most_requests),
        "Requests decoded together [1], of different prompts");
}

void describe_memory(CLI::App& app, texts& t) {
    const auto add = [&](const char* name, std::string& value, const std::string& type,
                         const char* what) {
        app.add_option(name, value, what)->type_name(type)->take_last();
    };
    add("--hot-rows", t.hot_rows, fmt::format("{}..{}", k, context),
        "B: rows in the hot cache of each indexer and request, whole pages of 64 [512]");
    add("--resident", t.resident, fmt::format("all|none|0..{}", context / page),
        "Optional history: pages a request that may stay in fast memory [none]");
    add("--pool-pages", t.pool_pages, "N",
        "All pages of fast memory, in place of what is needed and --resident adds");
    add("--replacement", t.replacement, "lru|fifo", "Which hot row gives way [lru]");
    add("--backend", t.backend, "host|cuda",
        "Where decoding runs [host]; cuda: the model too, each step one CUDA graph");
}

void describe_rounds(CLI::App& app, texts& t) {
    app.add_option("--speculate", t.speculate,
                   "K: the last byte and K-1 of the drafter's in one pass [plain decoding]")
        ->type_name(fmt::format("1..{}", most_queries))
        ->take_last();
    app.add_option("--schedule", t.schedule,
                   "Proposals verified [fixed: all]; confidence: while the drafter is sure")
        ->type_name("fixed|confidence")
        ->take_last();
}

void describe(CLI::App& app, texts& t, options& o) {
    app.description(purpose);
    app.footer(notes);
    app.get_formatter()->column_width(34);
    describe_input(app, t, o);
    describe_memory(app, t);
    describe_rounds(app, t);
    app.add_flag("--verify", o.verify,
                 "Compare every selected row with the original when attention reads it")
        ->disable_flag_override();
    app.add_flag("--json", o.json,
                 "Print one JSON object on stdout and nothing else there, also for errors")
        ->disable_flag_override();
}

std::string option_names(const CLI::App& app) {
    std::string names;
    for (const auto* option : app.get_options())
        names += (names.empty() ? "" : ", ") + option->get_name();
    return names;
}

void parse(CLI::App& app, int argc, const char* const* argv) {
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        throw help_wanted(app.help());
    } catch (const CLI::ExtrasError&) {
        refuse("option", app.remaining().front(), option_names(app));
    } catch (const CLI::ParseError& e) {
        throw usage_error(fmt::format("{} (see --help)", e.what()));
    }
}

void convert_rounds(const texts& t, options& o) {
    if (t.speculate.empty()) {
        if (!t.schedule.empty()) refuse("--schedule", t.schedule, "only with --speculate");
        return;
    }
    o.k_max = number("--speculate", t.speculate, 1, most_queries);
    if (!t.schedule.empty() && t.schedule != "fixed" && t.schedule != "confidence")
        refuse("--schedule", t.schedule, "fixed, confidence");
    o.how_many = t.schedule == "confidence" ? proposals::confidence : proposals::fixed;
}

void convert(const texts& t, options& o) {
    o.model_dir = t.model;
    o.own_prompt = !t.prompt.empty();
    o.prompt_file = o.own_prompt ? t.prompt : DHISPARSE_EXAMPLES_DIR "/tiny_dsa/story.txt";
    o.tokens = number("--tokens", t.tokens, 1, context - 1);
    o.requests = number("--requests", t.requests, 1, most_requests);
    o.hot_rows = hot_rows_of(t.hot_rows);
    o.resident_pages = resident_pages_of(t.resident);
    if (!t.pool_pages.empty())
        o.pool_pages = number("--pool-pages", t.pool_pages, 1, most_pool_pages);
    o.policy = replacement_of(t.replacement);
    convert_rounds(t, o);
    o.where = backend_of(t.backend);
}

} // namespace

void refuse(std::string_view name, std::string_view value, std::string_view permitted) {
    throw usage_error(fmt::format("{} is {}, permitted: {}", name, value, permitted));
}

int number(const char* name, const std::string& text, int low, int high, std::string_view note) {
    const auto value = whole_number(text);
    if (!value || *value < low || *value > high)
        refuse(name, text, fmt::format("{} to {}{}{}", low, high, note.empty() ? "" : " ", note));
    return *value;
}

options parse_options(int argc, const char* const* argv) {
    options o;
    texts t;
    CLI::App app("", "dhisparse-decode");
    describe(app, t, o);
    parse(app, argc, argv);
    convert(t, o);
    return o;
}

bool wants_json(int argc, const char* const* argv) {
    return std::find(argv, argv + argc, std::string_view("--json")) != argv + argc;
}

} // namespace decode
