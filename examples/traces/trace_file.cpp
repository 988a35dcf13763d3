#include "trace_file.hpp"

#include "lines.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

namespace traces {
namespace {

namespace dh = dhisparse;

constexpr std::int64_t most_tokens = 1 << 28;

/// What both formats check of a request.
class checked_lines : public trace_source {
public:
    explicit checked_lines(const std::string& file) : in_("--trace", file, "a .csv or .jsonl file that can be read") {}
    std::optional<arrival> next() override {
        do {
            if (!in_.next()) return std::nullopt;
        } while (in_.line().empty());
        auto out = read();
        in_.require(std::isfinite(out.at_s) && out.at_s >= last_s_ && out.at_s < 1e12, "arrival at ", out.at_s, " s, permitted: from ", last_s_,
                    " s on, where the line before it is");
        in_.require(out.input >= 1 && out.input <= most_tokens, "input of ", out.input, " tokens, permitted: 1 to ", most_tokens);
        in_.require(out.output >= 0 && out.output <= most_tokens, "output of ", out.output, " tokens, permitted: 0 to ", most_tokens);
        in_.require(out.blocks.empty() || static_cast<std::int64_t>(out.blocks.size()) == (out.input + block_tokens - 1) / block_tokens,
                    "hash_ids has ", out.blocks.size(), " ids, permitted: one for each ", block_tokens, " tokens of the input");
        out.output = std::max<std::int64_t>(out.output, 1);
        last_s_ = out.at_s;
        return out;
    }
    double progress() const override { return in_.progress(); }

protected:
    virtual arrival read() = 0;
    lines in_;

private:
    double last_s_ = 0;
};

class csv_trace : public checked_lines {
public:
    explicit csv_trace(const std::string& file) : checked_lines(file) {
        const std::string header = "arrival_s,input_tokens,output_tokens";
        in_.require(in_.next() && in_.line() == header, "the first line is not \"", header, "\"");
    }

private:
    arrival read() override {
        arrival out;
        std::string_view rest = in_.line();
        const bool ok = field(rest, out.at_s, ',') && field(rest, out.input, ',') && field(rest, out.output, '\0');
        in_.require(ok, "not three numbers with commas between them");
        return out;
    }
    /// The number up to the separator; '\0': the line's end.
    template <class T>
    static bool field(std::string_view& rest, T& value, char separator) {
        const auto end = separator == '\0' ? rest.size() : rest.find(separator);
        if (end == std::string_view::npos) return false;
        const auto got = std::from_chars(rest.data(), rest.data() + end, value);
        const bool whole = got.ec == std::errc{} && got.ptr == rest.data() + end;
        rest.remove_prefix(std::min(rest.size(), end + 1));
        return whole;
    }
};

class jsonl_trace : public checked_lines {
public:
    using checked_lines::checked_lines;

private:
    arrival read() override {
        const auto object = nlohmann::json::parse(in_.line(), nullptr, false);
        in_.require(object.is_object(), "not a JSON object");
        arrival out;
        out.at_s = number(object, "timestamp").get<double>() / 1000;
        out.input = tokens(object, "input_length");
        out.output = tokens(object, "output_length");
        const auto ids = object.find("hash_ids");
        if (ids == object.end()) return out;
        in_.require(ids->is_array(), "hash_ids is not a list");
        for (const auto& id : *ids) {
            in_.require(id.is_number_integer(), "an id of hash_ids is not a whole number");
            out.blocks.push_back(id.get<std::int64_t>());
        }
        return out;
    }
    const nlohmann::json& number(const nlohmann::json& object, const char* name) const {
        const auto at = object.find(name);
        in_.require(at != object.end() && at->is_number(), "no number ", name);
        return *at;
    }
    std::int64_t tokens(const nlohmann::json& object, const char* name) const {
        const auto& value = number(object, name);
        in_.require(value.is_number_integer(), name, " is not a whole number");
        return value.get<std::int64_t>();
    }
};

} // namespace

std::unique_ptr<trace_source> open_trace(const std::string& file) {
    const auto ends = [&](std::string_view with) { return std::string_view(file).ends_with(with); };
    dh::require(ends(".csv") || ends(".jsonl"), "--trace is ", file, ", permitted: a .csv or .jsonl file that can be read");
    if (ends(".csv")) return std::make_unique<csv_trace>(file);
    return std::make_unique<jsonl_trace>(file);
}

} // namespace traces
