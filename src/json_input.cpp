// Everything that is read from JSON: model shapes, and measured TPOT ratios for the planner.
#include "json_fields.hpp"

#include <dhisparse/layout/shape_json.hpp>
#include <dhisparse/plan/speculation.hpp>

#include <fstream>
#include <set>
#include <sstream>

namespace dhisparse {
namespace json_input {

json parse(std::string_view text) {
    std::vector<std::set<std::string>> keys; // of each object that is open
    std::string repeated;
    const auto watch = [&](int, json::parse_event_t event, json& value) {
        if (event == json::parse_event_t::object_start) keys.emplace_back();
        if (event == json::parse_event_t::object_end) keys.pop_back();
        if (event == json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second)
            repeated = value.get<std::string>();
        return true;
    };
    try {
        auto out = json::parse(text, watch);
        require(repeated.empty(), "the field ", shown(repeated), " is there twice");
        return out;
    } catch (const json::exception& wrong) {
        std::string message = wrong.what();
        message = message.substr(message.find("] ") + 2); // behind the library's own number
        for (auto& c : message)
            if (static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) > '~') c = '?';
        throw invalid_argument("malformed JSON: " + message);
    }
}

namespace {

std::string item(const char* list, std::size_t i) { return text(list, "[", i, "]"); }

std::vector<int> layers_of(const json& list, const std::string& name) {
    std::vector<int> out;
    for (std::size_t i = 0; i < array(list, name).size(); ++i)
        out.push_back(static_cast<int>(whole_number(list[i], text(name, "[", i, "]"), 0, std::numeric_limits<int>::max())));
    return out;
}

row_run run_of(const json& object, const std::string& where) {
    row_run out;
    fields in(object, where);
    in.needed_number("offset", out.offset_bytes);
    in.needed_number("stride", out.stride_bytes);
    in.needed_number("bytes", out.bytes);
    in.done();
    return out;
}

source_shape source_of(const json& object, const std::string& where) {
    source_shape out;
    fields in(object, where);
    in.needed_number("layer", out.layer);
    in.needed_number("row_bytes", out.row_bytes);
    in.number("index_key_bytes", out.index_key_bytes);
    in.number("positions_per_row", out.positions_per_row);
    in.number("positions_per_index_key", out.positions_per_index_key);
    in.number("boundary_bytes", out.boundary_bytes);
    in.flag("partial_readable", out.partial_readable);
    in.number("alignment_bytes", out.alignment_bytes);
    if (const auto* runs = in.optional("runs"))
        for (std::size_t i = 0; i < array(*runs, where + ".runs").size(); ++i)
            out.runs.push_back(run_of((*runs)[i], text(where, ".runs[", i, "]")));
    in.done();
    return out;
}

unselected_shape unselected_of(const json& object, const std::string& where) {
    unselected_shape out;
    fields in(object, where);
    in.needed_number("layer", out.layer);
    in.needed_number("row_bytes", out.row_bytes);
    in.number("positions_per_row", out.positions_per_row);
    in.number("window", out.window);
    in.done();
    return out;
}

announcement_shape announcement_of(const json& object, const std::string& where) {
    announcement_shape out;
    fields in(object, where);
    in.needed_number("layer", out.layer);
    in.needed_number("group", out.group);
    out.consumers = layers_of(in.needed("consumers"), where + ".consumers");
    in.done();
    return out;
}

drafter_shape drafter_of(const json& object) {
    drafter_shape out;
    fields in(object, "drafter");
    in.text("name", out.name);
    in.needed_number("window", out.window);
    in.number("layers", out.layers);
    in.needed_number("row_bytes", out.row_bytes);
    in.needed_number("k_max", out.k_max);
    in.done();
    return out;
}

pass pass_of(const json& value, const std::string& name) {
    require(value == "target" || value == "draft", name, " is ", shown(value), ", permitted: \"target\", \"draft\"");
    return value == "target" ? pass::target : pass::draft;
}

void read_lists(fields& in, model_shape& out) {
    const auto each = [&](const json* list, const char* name, auto read) {
        if (!list) return;
        for (std::size_t i = 0; i < array(*list, name).size(); ++i) read((*list)[i], item(name, i));
    };
    each(&in.needed("sources"), "sources", [&](const json& v, const std::string& where) { out.sources.push_back(source_of(v, where)); });
    each(&in.needed("groups"), "groups", [&](const json& v, const std::string& where) { out.groups.push_back(layers_of(v, where)); });
    each(&in.needed("announcements"), "announcements",
         [&](const json& v, const std::string& where) { out.announcements.push_back(announcement_of(v, where)); });
    each(in.optional("passes"), "passes", [&](const json& v, const std::string& where) { out.passes.push_back(pass_of(v, where)); });
    each(in.optional("unselected"), "unselected",
         [&](const json& v, const std::string& where) { out.unselected.push_back(unselected_of(v, where)); });
}

model_shape shape_of(const json& object) {
    model_shape out;
    fields in(object, "");
    in.text("name", out.name);
    in.needed_number("layers", out.layers);
    in.needed_number("k", out.k);
    in.needed_number("page_positions", out.page_positions);
    in.number("max_positions", out.max_positions);
    if (const auto* drafter = in.optional("drafter"); drafter && !drafter->is_null()) out.drafter = drafter_of(*drafter);
    read_lists(in, out);
    in.done();
    validate(out);
    return out;
}

tpot_ratio tpot_of(const json& object, const std::string& where) {
    tpot_ratio out;
    fields in(object, where);
    in.needed_number("sessions", out.sessions);
    in.needed_number("k", out.k);
    const auto& ratio = in.needed("tpot_ratio");
    require(ratio.is_number() && ratio.get<double>() > 0 && ratio.get<double>() < 1e6, in.name("tpot_ratio"), " is ", shown(ratio),
            ", permitted: numbers above 0");
    out.ratio = ratio.get<double>();
    in.done();
    require_in<std::int64_t>(out.sessions, 1, 1 << 30, in.name("sessions").c_str());
    require_in(out.k, 2, 65534, in.name("k").c_str());
    return out;
}

/// Calls read; what it refuses gets the name in front.
template <class Read>
auto named(const std::string& name, Read read) {
    try {
        return read();
    } catch (const error& refused) {
        throw invalid_argument(name + ": " + refused.what());
    }
}

} // namespace
} // namespace json_input

model_shape shape_from_json(std::string_view text, const std::string& name) {
    return json_input::named(name, [&] { return json_input::shape_of(json_input::parse(text)); });
}

model_shape load_shape(const std::string& file) { return shape_from_json(read_text_file(file), file); }

std::vector<tpot_ratio> tpot_from_json(std::string_view text, const std::string& name) {
    return json_input::named(name, [&] {
        const auto list = json_input::parse(text);
        std::vector<tpot_ratio> out;
        for (std::size_t i = 0; i < json_input::array(list, "the file").size(); ++i)
            out.push_back(json_input::tpot_of(list[i], json_input::item("", i)));
        require(!out.empty(), "the list is empty");
        for (std::size_t i = 0; i < out.size(); ++i)
            for (std::size_t j = 0; j < i; ++j)
                require(out[i].sessions != out[j].sessions || out[i].k != out[j].k, "[", i, "] measures the sessions and k of [", j, "] again");
        return out;
    });
}

std::string read_text_file(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream out;
    if (in.peek() != std::ifstream::traits_type::eof()) out << in.rdbuf(); // inserting nothing at all would count as a failure
    require(in.is_open() && !in.bad() && out, file, ": cannot read the file");
    return out.str();
}

} // namespace dhisparse
