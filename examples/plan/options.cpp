#include "options.hpp"

#include "command_line.hpp"

#include <algorithm>
#include <cmath>

namespace plan_program {
namespace {

namespace dh = dhisparse;

constexpr const char* purpose =
    "Says what a sparse-attention model's KV takes in two memory tiers: bytes a session, how many sessions\n"
    "fit, and whether speculation pays.\n";

constexpr const char* notes =
    "As published: whole pages, rows without padding, one tail page, no metadata. As allocated: what this\n"
    "library's pool, tables and arenas take. Host bytes are those of the context's finished rows.\n"
    "Without --drafter: plain decoding (K = 1), no ring, no staging, whatever the shape says.\n"
    "TPOT file: a list of {\"sessions\": n, \"k\": K, \"tpot_ratio\": TPOT at K divided by TPOT of plain decoding}.\n"
    "JSON: *_gib are of one session; staging_dedicated_gib and optional_gib are of all slots; null: not said.\n"
    "Exit code: 0, or 2 where the command could not run.";

/// As typed: ranges are checked here, so that one message fits them all.
struct texts {
    std::string model, context, hot_rows, page, row_bytes, drafter, k_max, slots, hbm, weights, host, tpot, miss_rate;
};

using program::bytes_of, program::number, program::refuse;

void read_shape(const texts& t, dh::plan::request& asked) {
    asked.shape = program::shape_of(t.model);
    if (!t.row_bytes.empty())
        asked.shape = dh::plan::with_row_bytes(asked.shape, number<std::int64_t>("--row-bytes", t.row_bytes, 1, INT32_MAX));
    if (!t.page.empty()) asked.shape = dh::plan::with_page_positions(asked.shape, number<int>("--page", t.page, 1, 1 << 24));
    dh::validate(asked.shape);
    const auto longest = asked.shape.max_positions > 0 ? asked.shape.max_positions : std::int64_t{1} << 30;
    asked.context = number<std::int64_t>("--context", t.context, 1, longest);
    asked.hot_rows = t.hot_rows.empty() ? dh::plan::default_hot_rows(asked.shape) : number<std::int64_t>("--hot-rows", t.hot_rows, 1, 65'534);
    const auto page = asked.shape.page_positions;
    if (asked.hot_rows % page != 0) refuse("--hot-rows", fmt::format("{}", asked.hot_rows), fmt::format("multiples of {} (a page's positions)", page));
}

void read_drafter(const texts& t, dh::plan::request& asked) {
    if (t.drafter.empty()) {
        if (!t.k_max.empty()) refuse("--k-max", t.k_max, "only with --drafter");
        if (!t.tpot.empty()) refuse("--tpot-file", t.tpot, "only with --drafter");
        return;
    }
    using known = dh::plan::published;
    if (t.drafter == "dflash2")
        asked.drafter = {"dflash2", known::dflash2_window, known::dflash2_layers, known::dflash2_row_bytes, known::dflash2_k_max};
    else if (t.drafter == "shape" && asked.shape.drafter)
        asked.drafter = asked.shape.drafter;
    else
        refuse("--drafter", t.drafter, asked.shape.drafter ? "dflash2, shape" : "dflash2 (the shape has no drafter)");
    if (!t.k_max.empty()) asked.drafter->k_max = number<int>("--k-max", t.k_max, 2, 65'534);
    if (!t.tpot.empty()) asked.tpot = dh::tpot_from_json(dh::read_text_file(t.tpot), t.tpot);
}

void read_memory(const texts& t, dh::plan::request& asked) {
    if (!t.slots.empty()) asked.slots = number<std::int32_t>("--slots", t.slots, 1, 1 << 20);
    if (!t.weights.empty() && t.hbm.empty()) refuse("--weights-gib", t.weights, "only with --hbm-gib");
    if (!t.hbm.empty()) {
        const auto hbm = bytes_of("--hbm-gib", t.hbm), weights = t.weights.empty() ? 0 : bytes_of("--weights-gib", t.weights);
        if (hbm == 0) refuse("--hbm-gib", t.hbm, "more than 0");
        if (weights >= hbm) refuse("--weights-gib", t.weights, fmt::format("less than --hbm-gib {}", t.hbm));
        asked.hbm_bytes = hbm - weights;
    }
    if (!t.host.empty()) {
        asked.host_bytes = bytes_of("--host-gib", t.host);
        if (asked.host_bytes == 0) refuse("--host-gib", t.host, "more than 0");
    }
    if (!t.miss_rate.empty()) asked.miss_rate = number<double>("--miss-rate", t.miss_rate, 0, 1);
}

void describe(CLI::App& app, texts& t, options& o) {
    const auto add = [&](const char* name, std::string& value, const char* type, const char* what) {
        return app.add_option(name, value, what)->type_name(type)->take_last();
    };
    app.description(purpose);
    app.footer(notes);
    app.get_formatter()->column_width(26);
    add("--model", t.model, "NAME|FILE", "A preset's name, or a JSON file of a shape")->required();
    add("--context", t.context, "N", "Positions of a session")->required();
    add("--hot-rows", t.hot_rows, "B", "Hot rows a session and group of one position a row, whole pages [4096]");
    add("--page", t.page, "P", "Positions a page, in place of the shape's");
    add("--row-bytes", t.row_bytes, "D", "Bytes of every source's rows, in place of the shape's");
    add("--drafter", t.drafter, "dflash2|shape", "Speculate: window 2048 with 12,288-byte rows, or the shape's drafter");
    add("--k-max", t.k_max, "K", "Most queries a round [8, or the drafter's of the shape]");
    add("--slots", t.slots, "N", "Sessions at most; totals are for so many [35]");
    add("--hbm-gib", t.hbm, "X", "GPU memory for weights and KV");
    add("--weights-gib", t.weights, "Y", "What weights take of it [0]");
    add("--host-gib", t.host, "Z", "Host memory for KV");
    add("--tpot-file", t.tpot, "FILE", "Measured TPOT ratios [published: 0.77 at 128 sessions, 0.71 at 256]");
    add("--miss-rate", t.miss_rate, "X", "Share of selected rows that come from the host [0.0005]");
    add("--plot", o.plot_file, "FILE.svg", "Also draw bytes and sessions over context length");
    app.add_flag("--json", o.json, "One JSON object on stdout");
}

} // namespace

options parse_options(int argc, const char* const* argv) {
    options o;
    texts t;
    CLI::App app("", "dhisparse-plan");
    describe(app, t, o);
    program::parse(app, argc, argv);
    read_shape(t, o.asked);
    read_drafter(t, o.asked);
    read_memory(t, o.asked);
    return o;
}

} // namespace plan_program
