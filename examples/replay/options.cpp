#include "options.hpp"

#include "command_line.hpp"

#include <dhisparse/plan/planner.hpp>

#include <algorithm>
#include <cmath>
#include <deque>

namespace replay {
namespace {

namespace dh = dhisparse;

constexpr const char* purpose =
    "Replays requests through the ledger, page pool and maps of a GPU of any size, on a simulated clock.\n"
    "No GPU is used, and no rows unless --real-bytes is given.\n";

constexpr const char* notes =
    "Modes: adaptive (history stays on the GPU while there is room), resident (no host tier; the reserved\n"
    "length from the start), hot-only (history leaves the GPU as soon as it is copied). Without --mode: the\n"
    "three side by side; with --json: adaptive.\n"
    "Trace: .csv with arrival_s,input_tokens,output_tokens, or .jsonl with timestamp (ms), input_length,\n"
    "output_length, hash_ids. Without one it is made from a service's published statistics.\n"
    "JSON: one object; wait_*: from arrival to admission; tokens_per_s: generated tokens / time from first\n"
    "arrival to last finish. Exit code: 0, or 2 where the command could not run.";

/// As typed: ranges are checked here, so that one message fits them all.
struct texts {
    std::string mode, model = "glm-5.3", pool = "90", host = "4000", row_bytes, hot_rows, slots = "256", k = "1", acceptance, widths, speed = "1", context_scale = "1";
    std::string metadata, service, requests = "2000", context, output, seed = "1", refill = "2", backup = "0", tail = "0", import = "0", keep = "64";
    std::deque<std::string> costs; // as cost_fields()
};

using program::bytes_of, program::number, program::refuse;

template <class Range, class Name>
std::string listed(const Range& range, Name name) {
    std::string out;
    for (const auto& item : range) out += fmt::format("{}{}", out.empty() ? "" : ", ", name(item));
    return out;
}

void read_model(const texts& t, setup& with) {
    with.shape = program::shape_of(t.model);
    if (!t.row_bytes.empty()) with.shape = dh::plan::with_row_bytes(with.shape, number<std::int64_t>("--row-bytes", t.row_bytes, 1, INT32_MAX));
    dh::validate(with.shape);
    with.pool_bytes = bytes_of("--pool-gib", t.pool, 0x1p-20);
    with.host_bytes = bytes_of("--host-gib", t.host, 0x1p-20);
    if (!t.metadata.empty()) with.metadata_bytes = bytes_of("--metadata-gib", t.metadata, 0x1p-20);
    with.hot_rows = t.hot_rows.empty() ? dh::plan::default_hot_rows(with.shape) : number<std::int64_t>("--hot-rows", t.hot_rows, 1, 65'534);
    const auto p = with.shape.page_positions;
    if (with.hot_rows % p != 0) refuse("--hot-rows", t.hot_rows, fmt::format("multiples of {} (a page's positions)", p));
    with.slots = number<std::int32_t>("--slots", t.slots, 1, 1 << 16);
    with.refill_pages = number<std::int32_t>("--refill-pages", t.refill, 0, 1 << 20);
    with.backup_pages = number<std::int32_t>("--backup-pages", t.backup, 0, 1 << 20);
    with.tail_pages = number<std::int32_t>("--tail-pages", t.tail, 0, 1 << 20);
    with.import_pages = number<std::int32_t>("--import-pages", t.import, 0, 1 << 20);
    with.kept_prefixes = number<std::int64_t>("--keep", t.keep, 0, 1 << 20);
}

void read_speculation(const texts& t, setup& with) {
    with.width = t.k == "schedule" ? width_choice::scheduled : t.k == "online" ? width_choice::online : width_choice::fixed;
    if (with.width != width_choice::fixed || !t.widths.empty()) with.k = widest;
    else if (t.k.find_first_not_of("0123456789") == std::string::npos) with.k = number<int>("--speculate", t.k, 1, 64);
    else refuse("--speculate", t.k, "1 to 64, schedule, online");
    if (!t.acceptance.empty() && with.k == 1) refuse("--acceptance", t.acceptance, "only with --speculate above 1");
    if (!t.acceptance.empty()) {
        with.survival = survival_from(t.acceptance, with.k - 1);
    } else {
        for (int i = 1; i < with.k; ++i) with.survival.push_back(std::pow(with.cost.accepted, i));
    }
}

/// --widths: speeds with commas between them.
void read_widths(const texts& t, options& o) {
    if (t.widths.empty()) return;
    if (o.json) refuse("--widths", t.widths, "only without --json");
    if (t.k != "1") refuse("--widths", t.widths, "only without --speculate");
    std::size_t at = 0;
    for (auto end = at; end != std::string::npos; at = end + 1) {
        end = t.widths.find(',', at);
        o.widths.push_back(number<double>("--widths", t.widths.substr(at, end - at), 1e-6, 1e6));
    }
}

void read_trace(const texts& t, options& o) {
    o.with.speed = number<double>("--speed", t.speed, 1e-6, 1e6);
    o.with.context_scale = number<double>("--context-scale", t.context_scale, 1e-3, 1e3);
    o.made.seed = o.with.seed = number<std::uint64_t>("--seed", t.seed, 0, UINT64_MAX);
    const std::pair<const char*, const std::string*> of_made[] = {{"--service", &t.service}, {"--context", &t.context}, {"--output", &t.output}};
    for (const auto& [name, text] : of_made)
        if (!o.trace_file.empty() && !text->empty()) refuse(name, *text, "only without --trace");
    const auto& all = services();
    const auto found = t.service.empty() ? all.begin() : std::find_if(all.begin(), all.end(), [&](const service& s) { return s.name == t.service; });
    if (found == all.end()) refuse("--service", t.service, listed(all, [](const service& s) { return s.name; }));
    o.made.of = *found;
    o.made.requests = number<std::int64_t>("--requests", t.requests, 1, std::int64_t{1} << 40);
    if (!t.context.empty()) o.made.input = number<std::int64_t>("--context", t.context, 1, 1 << 28);
    if (!t.output.empty()) o.made.output = number<std::int64_t>("--output", t.output, 1, 1 << 28);
}

void read_modes(const texts& t, options& o) {
    for (const auto m : modes)
        if (t.mode == name_of(m) || (t.mode.empty() && (!o.json || m == mode::adaptive))) o.run.push_back(m);
    if (o.run.empty()) refuse("--mode", t.mode, listed(modes, name_of));
}

void describe(CLI::App& app, texts& t, options& o) {
    const auto add = [&](const char* name, std::string& value, const char* type, const std::string& what) {
        app.add_option(name, value, what)->type_name(type)->take_last();
    };
    app.description(purpose);
    app.footer(notes);
    app.get_formatter()->column_width(28);
    add("--trace", o.trace_file, "FILE", "Requests [made from --service]");
    add("--mode", t.mode, "MODE", "adaptive, resident or hot-only [all]");
    add("--model", t.model, "NAME|FILE", "A preset's name, or a JSON file of a shape [glm-5.3]");
    add("--row-bytes", t.row_bytes, "D", "Bytes of every source's rows, in place of the shape's");
    add("--pool-gib", t.pool, "X", "GPU pages [90]");
    add("--host-gib", t.host, "X", "Host pages [4000]");
    add("--metadata-gib", t.metadata, "X", "Maps and hot indexes, beside the pool [1.6 % of it, or one long request's]");
    add("--hot-rows", t.hot_rows, "B", "Hot rows a session and group, whole pages [4096]");
    add("--slots", t.slots, "N", "Sessions at most [256]");
    add("--speculate", t.k, "K", fmt::format("Queries a round [1: plain decoding]; schedule: the published one; online: chosen by round; both at most {}", widest));
    add("--acceptance", t.acceptance, "FILE", "Measured acceptance: the mean of its records that have `survival` or `conditional`");
    add("--widths", t.widths, "X,Y,...", fmt::format("Compare K = 1 to {}, schedule and online at these speeds; --plot draws them", widest));
    add("--speed", t.speed, "X", "Requests come so many times as fast [1]");
    add("--context-scale", t.context_scale, "X", "Inputs are so many times as long [1]");
    add("--service", t.service, "NAME", "Of the made trace: " + listed(services(), [](const service& s) { return s.name; }) + " [the first]");
    add("--requests", t.requests, "N", "Of the made trace [2000]");
    add("--context", t.context, "N", "Input tokens of every request of the made trace");
    add("--output", t.output, "N", "Output tokens of every request of the made trace");
    add("--seed", t.seed, "N", "Of the made trace and of accepted proposals [1]");
    add("--refill-pages", t.refill, "N", "History pages that start to come back in one plan [2]");
    add("--backup-pages", t.backup, "N", "Imported pages backed up in one plan before anyone asks [0]");
    add("--tail-pages", t.tail, "N", "Required tail pages of a session [0: as few as K permits]");
    add("--import-pages", t.import, "N", "Pages kept free for arriving history while requests wait [0: a sixteenth of the pool]");
    add("--keep", t.keep, "N", "Prefixes kept for later requests [64]");
    t.costs.resize(cost_fields().size());
    for (std::size_t i = 0; i < t.costs.size(); ++i) {
        const auto& field = cost_fields()[i];
        add(field.option, t.costs[i], "X", fmt::format("{} [{}]", field.what, cost_parameters{}.*field.value));
    }
    app.add_flag("--real-bytes", o.with.real_bytes, "Rows are really written, moved and compared: small sizes alone");
    add("--plot", o.plot_file, "FILE.svg", "Also draw pages by class and sessions over time");
    app.add_flag("--json", o.json, "One JSON object on stdout");
}

} // namespace

options parse_options(int argc, const char* const* argv) {
    options o;
    texts t;
    CLI::App app("", "dhisparse-replay");
    describe(app, t, o);
    program::parse(app, argc, argv);
    for (std::size_t i = 0; i < t.costs.size(); ++i)
        if (const auto& field = cost_fields()[i]; !t.costs[i].empty()) o.with.cost.*field.value = number<double>(field.option, t.costs[i], field.low, field.high);
    read_modes(t, o);
    read_model(t, o.with);
    read_speculation(t, o.with);
    read_widths(t, o);
    read_trace(t, o);
    return o;
}

std::unique_ptr<trace_source> open(const options& o) { return o.trace_file.empty() ? make_trace(o.made) : open_trace(o.trace_file); }

} // namespace replay
