#include "requests.hpp"

#include <tiny_dsa/spec.hpp>
#include <traces/lines.hpp>
#include <traces/trace_file.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>

namespace engine {
namespace {

namespace dh = dhisparse;
using nlohmann::json;

constexpr int context = tiny_dsa::max_positions;
constexpr double most_steps = 1e12;

/// A JSON line of --requests.
class request_line {
public:
    request_line(const traces::lines& in, const std::filesystem::path& folder, double step_ms)
        : in_(in), folder_(folder), step_ms_(step_ms), object_(json::parse(in.line(), nullptr, false)) {
        in_.require(object_.is_object(), "not a JSON object");
        static constexpr const char* known[] = {"arrival_step", "arrival_s", "prompt", "file", "offset", "length", "tokens", "abort_after", "abort_step", "prefix"};
        for (const auto& [key, value] : object_.items())
            in_.require(std::ranges::find(known, key) != std::end(known), "\"", key, "\", permitted: arrival_step, arrival_s, prompt, file, offset, length, tokens, abort_after, abort_step, prefix");
    }

    request read() const {
        request out;
        out.arrival_step = arrival();
        out.prompt = prompt();
        const auto n = static_cast<std::int64_t>(out.prompt.size());
        in_.require(n >= 1 && n < context, "prompt of ", n, " bytes, permitted: 1 to ", context - 1);
        in_.require(object_.contains("tokens"), "no tokens");
        out.tokens = static_cast<int>(whole("tokens", 1, context - n));
        if (object_.contains("abort_after")) out.abort_after = static_cast<int>(whole("abort_after", 1, context));
        if (object_.contains("abort_step")) out.abort_step = whole("abort_step", out.arrival_step, std::int64_t{1} << 40);
        if (object_.contains("prefix")) out.prefix = static_cast<int>(whole("prefix", 0, n));
        return out;
    }

private:
    std::int64_t whole(const char* key, std::int64_t low, std::int64_t high) const {
        const auto& value = object_.at(key);
        in_.require(value.is_number_integer() && (!value.is_number_unsigned() || value.get<std::uint64_t>() <= INT64_MAX) && value.get<std::int64_t>() >= low && value.get<std::int64_t>() <= high, key, " is ",
                    value.dump(), ", permitted: ", low, " to ", high);
        return value.get<std::int64_t>();
    }
    std::string text(const char* key) const {
        const auto& value = object_.at(key);
        in_.require(value.is_string(), key, " is not a text");
        return value.get<std::string>();
    }
    std::int64_t arrival() const {
        in_.require(!object_.contains("arrival_step") || !object_.contains("arrival_s"), "arrival_step and arrival_s, permitted: one of them");
        if (object_.contains("arrival_step")) return whole("arrival_step", 0, std::int64_t{1} << 40);
        if (!object_.contains("arrival_s")) return 0;
        const auto& value = object_.at("arrival_s");
        const double steps = value.is_number() ? value.get<double>() * 1000 / step_ms_ : -1;
        in_.require(steps >= 0 && steps < most_steps, "arrival_s is ", value.dump(), ", permitted: 0 and more");
        return static_cast<std::int64_t>(steps);
    }
    bytes prompt() const {
        const bool has_text = object_.contains("prompt");
        in_.require(has_text != object_.contains("file"), "permitted: either prompt or file");
        in_.require(!has_text || (!object_.contains("offset") && !object_.contains("length")), "offset and length, permitted: with file alone");
        if (has_text) {
            const auto all = text("prompt");
            return {all.begin(), all.end()};
        }
        const auto file = folder_ / text("file");
        std::ifstream from(file, std::ios::binary);
        in_.require(from.good() && std::filesystem::is_regular_file(file), "file is ", file.string(), ", permitted: a file that can be read");
        const bytes all{std::istreambuf_iterator<char>(from), {}};
        const auto size = static_cast<std::int64_t>(all.size());
        const auto offset = object_.contains("offset") ? whole("offset", 0, size) : 0;
        const auto length = object_.contains("length") ? whole("length", 1, size - offset) : size - offset;
        return {all.begin() + offset, all.begin() + offset + length};
    }

    const traces::lines& in_;
    const std::filesystem::path& folder_;
    double step_ms_;
    json object_;
};

/// n bytes of a text that goes on at its start where it ends.
void append(bytes& to, const bytes& story, std::uint64_t offset, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) to.push_back(story[(offset + static_cast<std::uint64_t>(i)) % story.size()]);
}

/// Where the text of a block, or of a request without any, begins.
std::uint64_t place_of(std::int64_t id, std::uint64_t salt) { return (static_cast<std::uint64_t>(id) + salt) * 0x9E3779B97F4A7C15u >> 40; }

} // namespace

bytes read_story(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    bytes all{std::istreambuf_iterator<char>(in), {}};
    dh::require(!all.empty(), "text for prompts is ", file, ", permitted: a file that can be read");
    return all;
}

std::vector<request> read_requests(const std::string& file, double step_ms) {
    traces::lines in("--requests", file, "a file of JSON lines that can be read");
    const auto folder = std::filesystem::path(file).parent_path();
    std::vector<request> out;
    while (in.next())
        if (!in.line().empty()) out.push_back(request_line(in, folder, step_ms).read());
    dh::require(!out.empty(), "--requests is ", file, ", permitted: a file with one request at least");
    return out;
}

std::vector<request> read_trace(const std::string& file, const trace_scale& scale, const bytes& story) {
    const auto from = traces::open_trace(file);
    const auto scaled = [&](std::int64_t n, std::int64_t most) { return std::clamp<std::int64_t>(std::llround(static_cast<double>(n) * scale.length), 1, most); };
    std::vector<request> out;
    while (static_cast<std::int64_t>(out.size()) < scale.limit) {
        const auto next = from->next();
        if (!next) break;
        const double step = next->at_s * 1000 / scale.step_ms;
        dh::require(step < most_steps, "--step-ms is ", scale.step_ms, ": request ", out.size() + 1, " arrives in step ", step, ", permitted: below ", most_steps);
        request r{.arrival_step = static_cast<std::int64_t>(step), .prompt = {}};
        r.tokens = static_cast<int>(scaled(next->output, context / 4));
        const auto length = scaled(next->input, context - r.tokens);
        const auto block = std::max<std::int64_t>(1, std::llround(static_cast<double>(traces::block_tokens) * scale.length));
        for (const auto id : next->blocks)
            append(r.prompt, story, place_of(id, 1), std::min(block, length - static_cast<std::int64_t>(r.prompt.size())));
        append(r.prompt, story, place_of(static_cast<std::int64_t>(out.size()), 7777), length - static_cast<std::int64_t>(r.prompt.size()));
        out.push_back(std::move(r));
    }
    dh::require(!out.empty(), "--trace is ", file, ", permitted: a file with one request at least");
    return out;
}

std::vector<request> make_requests(std::int64_t n, std::uint64_t seed, const bytes& story) {
    std::mt19937_64 random(seed);
    const auto between = [&](std::uint64_t low, std::uint64_t high) { return low + random() % (high - low + 1); };
    constexpr std::uint64_t n_documents = 3;
    std::vector<request> out;
    std::int64_t step = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        request r{.arrival_step = step, .prompt = {}};
        const auto document = between(0, n_documents - 1);
        append(r.prompt, story, document * 2000, static_cast<std::int64_t>(300 + 100 * document));
        append(r.prompt, story, between(0, story.size() - 1), static_cast<std::int64_t>(between(20, 300)));
        r.tokens = static_cast<int>(between(16, 64));
        if (i % 6 == 4) r.abort_after = r.tokens / 2 + 1;
        if (i % 6 == 5) r.abort_step = step + static_cast<std::int64_t>(between(0, 12));
        step += static_cast<std::int64_t>(between(0, 6));
        out.push_back(std::move(r));
    }
    return out;
}

} // namespace engine
