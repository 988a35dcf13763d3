// dhisparse-plan: what it prints, draws and refuses.
#include <dhisparse/layout/presets.hpp>
#include <dhisparse/metrics/plot.hpp>

#include "catch.hpp"
#include "plan/printed.hpp"
#include "refusal.hpp"
#include "run_program.hpp"

#include <algorithm>
#include <cstdio>
#include <map>

using namespace dhisparse;
using namespace dhisparse_test;
using Catch::Matchers::ContainsSubstring;

namespace {

/// The end of the JSON value that begins at `at`: a text, a list without brackets in texts, or a word.
std::size_t end_of_value(const std::string& text, std::size_t at) {
    if (text[at] == '[') return text.find(']', at) + 1;
    if (text[at] != '"') return text.find_first_of(",}", at);
    while (text[++at] != '"') at += text[at] == '\\';
    return at + 1;
}

/// The text of each value in the flat object that a run with --json prints, and nothing else.
std::map<std::string, std::string> run_json(std::vector<std::string> arguments, int code = 0) {
    arguments.insert(arguments.begin(), "--json");
    const auto got = run(arguments);
    INFO("stdout: " << got.out << " stderr: " << got.err);
    REQUIRE(got.code == code);
    REQUIRE(got.out.front() == '{');
    std::map<std::string, std::string> out;
    for (std::size_t at = 0; got.out[at] != '}';) {
        const auto colon = end_of_value(got.out, at + 1);
        REQUIRE(got.out[at + 1] == '"');
        REQUIRE(got.out.at(colon) == ':');
        const auto key = got.out.substr(at + 2, colon - at - 3);
        const auto value = colon + 1 + (got.out[colon + 1] == ' ');
        at = end_of_value(got.out, value);
        REQUIRE(at < got.out.size());
        REQUIRE(out.emplace(key, got.out.substr(value, at - value)).second);
        REQUIRE((got.out[at] == ',' || got.out.substr(at) == "}\n"));
    }
    return out;
}
double number(const std::map<std::string, std::string>& object, const char* key) { return std::stod(object.at(key)); }

std::vector<std::string> glm_options(std::vector<std::string> more = {}) {
    std::vector<std::string> out{"--model", "glm-5.3", "--context", "100000", "--row-bytes", "576"};
    out.insert(out.end(), more.begin(), more.end());
    return out;
}

void check_refused(std::vector<std::string> arguments, const std::string& message) {
    CAPTURE(arguments, message);
    const auto plain = run(arguments);
    CHECK(plain.code == 2);
    CHECK(plain.out.empty());
    CHECK(std::count(plain.err.begin(), plain.err.end(), '\n') == 1);
    CHECK_THAT(plain.err, ContainsSubstring("dhisparse-plan: ") && ContainsSubstring(message));
    auto error = run_json(arguments, 2).at("error");
    std::erase(error, '\\');
    CHECK_THAT(error, ContainsSubstring(message));
}

std::string written(const scratch_folder& folder, const std::string& text) {
    const auto file = folder / "file.json";
    std::ofstream(file) << text;
    return file.string();
}

} // namespace

TEST_CASE("the program gives the published figures as JSON", "[plan]") {
    const auto plain = run_json(glm_options({"--hbm-gib", "120.5", "--weights-gib", "30.5", "--host-gib", "4004.6875"}));
    for (const auto* key : {"resident_gib", "required_gib", "index_gib", "hot_gib", "tail_gib", "ring_gib", "staging_gib", "ratio", "sessions_hbm", "allocated_gib",
                            "metadata_gib", "padding_gib", "sessions_hbm_allocated", "sessions_host", "host_gib_per_session", "resolver_calls", "follower_lanes",
                            "staging_dedicated_gib", "ring_rows", "speculation_pays"})
        CHECK(plain.contains(key));
    CHECK(printed(number(plain, "resident_gib"), 3) == "4.444");
    CHECK(printed(number(plain, "required_gib"), 3) == "0.432");
    CHECK(printed(number(plain, "index_gib"), 5) == "0.25825");
    CHECK(printed(number(plain, "ratio"), 1) == "10.3");
    CHECK(number(plain, "sessions_hbm") == 208);
    CHECK(number(plain, "sessions_host") == 957);
    CHECK(number(plain, "ring_rows") == 0);
    CHECK(number(plain, "staging_gib") == 0);
    CHECK(plain.at("speculation_pays") == "false");
    CHECK(number(plain, "resolver_calls") == 21);
    CHECK(number(plain, "follower_lanes") == 57);
    CHECK(number(plain, "allocated_gib") > number(plain, "required_gib"));
    CHECK(number(plain, "sessions_hbm_allocated") < 208);

    const auto spec = run_json(glm_options({"--drafter", "dflash2", "--k-max", "8", "--slots", "35"}));
    CHECK(printed(number(spec, "required_gib"), 3) == "0.492");
    CHECK(printed(number(spec, "ring_gib"), 4) == "0.0249");
    CHECK(printed(number(spec, "staging_gib"), 4) == "0.0352");
    CHECK(printed(number(spec, "staging_dedicated_gib"), 1) == "24.0");
    CHECK(number(spec, "ring_rows") == 2'176);
    CHECK(spec.at("sessions_hbm") == "null");
    CHECK(spec.at("speculation_pays") == "false");
    CHECK(run_json(glm_options({"--drafter", "dflash2", "--slots", "70"})).at("staging_gib") == spec.at("staging_gib"));
    CHECK(number(run_json(glm_options({"--page", "96"})), "tail_gib") * 64 == number(spec, "tail_gib") * 96); // B: 4,128
    CHECK(run_json({"--model", "deepseek-v4.1-flash", "--context", "100000", "--drafter", "shape"}).at("ring_rows") == "256");
}

TEST_CASE("the program's table shows every part with its share", "[plan]") {
    const auto got = run(glm_options({"--drafter", "dflash2", "--hbm-gib", "90", "--host-gib", "500"}));
    CHECK(got.code == 0);
    for (const auto* text : {"resident: every row on the GPU                      4798265088     4.46873  100.00%", "hot cache, 64 pages of 2889216 bytes", "3 tail pages",
                             "metadata", "padding of pages", "index pitch", "by HBM, as published                        182",
                             "the hierarchy pays from                     21 sessions on", "24.0 GiB (19.5 times)", "warning", "host bytes a token",
                             "best width for 128 sessions                 4 (published schedule: 4)"})
        CHECK_THAT(got.out, ContainsSubstring(text));
}

TEST_CASE("a shape's file and a preset's name give the same", "[plan]") {
    const scratch_folder folder;
    const auto file = written(folder, std::string(preset::json("glm-5.3")));
    CHECK(run({"--model", file, "--context", "5000"}).out == run({"--model", "glm-5.3", "--context", "5000"}).out);
}

TEST_CASE("a TPOT file decides whether speculation pays", "[plan]") {
    const scratch_folder folder;
    const auto with = [&](const std::string& ratio) {
        const auto file = written(folder, R"([{"sessions": 150, "k": 6, "tpot_ratio": )" + ratio + "}]");
        return run_json(glm_options({"--drafter", "dflash2", "--hbm-gib", "90", "--tpot-file", file}));
    };
    CHECK(with("0.87").at("speculation_pays") == "true"); // 182/208 = 0.875
    CHECK(with("0.88").at("speculation_pays") == "false");
    CHECK(with("0.5").at("width_schedule") == R"([{"sessions":150,"k":6}])");
    CHECK(with("1.5").at("width_schedule") == R"([{"sessions":150,"k":1}])");
}

TEST_CASE("memory that holds no session is told of in numbers, and drawn", "[plan]") {
    const scratch_folder folder;
    const auto svg = (folder / "none.svg").string();
    const auto got = run(glm_options({"--drafter", "dflash2", "--hbm-gib", "0.001", "--plot", svg}));
    CHECK(got.code == 0);
    CHECK(got.out.find("nan") == std::string::npos);
    CHECK(got.out.find("0 / 0") != std::string::npos);
    CHECK(std::filesystem::exists(svg));
    const auto unknown = run_json({"--model", "deepseek-v4.1-flash", "--context", "100000", "--drafter", "shape"});
    CHECK(unknown.at("speculation_pays") == "null");
    CHECK(unknown.at("width_schedule") == "[]");
    const auto few = run(glm_options({"--hbm-gib", "141", "--host-gib", "50"}));
    CHECK(few.out.find("host memory holds fewer than the 31 sessions that fit without the hierarchy") != std::string::npos);
}

TEST_CASE("the figure has all its panels and no number that isn't one", "[plan]") {
    const scratch_folder folder;
    const auto file = (folder / "plan.svg").string();
    CHECK(run(glm_options({"--drafter", "dflash2", "--plot", file})).code == 0);
    const auto svg = contents(file);
    for (const auto* text : {"glm-5.3: resident (left) against required (right)", "what the hierarchy requires", "Sessions in 90 GiB", ">hot cache<", ">staging<",
                             ">deepseek-v4.1-flash<", ">glm-5.3 as asked<", "</svg>"})
        CHECK_THAT(svg, ContainsSubstring(text));
    CHECK(svg.find("nan") == std::string::npos);
    CHECK(svg.find("inf") == std::string::npos);
    CHECK_THAT(refusal([] { (void)plot_svg({{.title = "t", .logarithmic = true, .series = {{"s", {{1, 0}}}}}}); }), ContainsSubstring("panel t: series s has a point at 1, 0"));
    CHECK_THAT(refusal([] { (void)plot_svg({{.title = "t"}}); }), ContainsSubstring("panel t has no series"));
}

TEST_CASE("wrong input is refused in one line with exit code 2", "[plan]") {
    check_refused({"--context", "5"}, "--model is required");
    check_refused({"--model", "glm-5.3"}, "--context is required");
    check_refused({"--model", "glm-6", "--context", "5"}, "--model is glm-6, permitted: a JSON file, deepseek-v3.2");
    for (const std::string context : {"0", "-1", "5x", "1048577", "99999999999999999999", ""})
        check_refused({"--model", "glm-5.3", "--context", context}, "--context is " + context + ", permitted: 1 to 1048576");
    check_refused({"--model", "glm-5.1", "--context", "202753"}, "--context is 202753, permitted: 1 to 202752");
    check_refused({"--model", "deepseek-v3.2", "--context", "1073741825"}, "permitted: 1 to 1073741824");
    check_refused(glm_options({"--hot-rows", "100"}), "--hot-rows is 100, permitted: multiples of 64");
    check_refused(glm_options({"--hot-rows", "64"}), "permitted: at least k = 2048");
    check_refused(glm_options({"--row-bytes", "0"}), "--row-bytes is 0, permitted: 1 to 2147483647");
    check_refused(glm_options({"--page", "-4"}), "--page is -4, permitted: 1 to ");
    check_refused({"--model", "deepseek-v4-flash", "--context", "5000", "--page", "66"}, "sources[0].positions_per_row is 4, which does not divide page_positions 66");
    check_refused(glm_options({"--drafter", "mtp"}), "--drafter is mtp, permitted: dflash2, shape");
    check_refused({"--model", "minimax-m3-kvhead", "--context", "5000", "--drafter", "shape"}, "--drafter is shape, permitted: dflash2 (the shape has no drafter)");
    check_refused(glm_options({"--drafter", "dflash2", "--k-max", "1"}), "--k-max is 1, permitted: 2 to 65534");
    check_refused(glm_options({"--drafter", "dflash2", "--k-max", "31"}), "permitted: up to 65534");
    check_refused(glm_options({"--k-max", "8"}), "--k-max is 8, permitted: only with --drafter");
    check_refused(glm_options({"--slots", "0"}), "--slots is 0, permitted: 1 to 1048576");
    check_refused(glm_options({"--hbm-gib", "80", "--weights-gib", "90"}), "--weights-gib is 90, permitted: less than --hbm-gib 80");
    check_refused(glm_options({"--hbm-gib", "nan"}), "--hbm-gib is nan, permitted: 0 to ");
    check_refused(glm_options({"--hbm-gib", "0"}), "--hbm-gib is 0, permitted: more than 0");
    check_refused(glm_options({"--weights-gib", "1"}), "--weights-gib is 1, permitted: only with --hbm-gib");
    check_refused(glm_options({"--host-gib", "-1"}), "--host-gib is -1, permitted: 0 to ");
    check_refused(glm_options({"--plot", "/no/such/folder/p.svg"}), "--plot is /no/such/folder/p.svg, permitted: a file that can be written");
    check_refused(glm_options({"--nonsense"}), "--nonsense");
}

TEST_CASE("wrong files are refused in one line with exit code 2", "[plan]") {
    const scratch_folder folder;
    const auto shape = [&](const std::string& text, const std::string& message) {
        const auto file = written(folder, text);
        check_refused({"--model", file, "--context", "5"}, file + ": " + message);
    };
    shape("{\"name\": ", "malformed JSON: parse error at line 1");
    shape("{\"name\": \"x\", \"shape\": 1, \"layers\": 1, \"k\": 1, \"page_positions\": 1, \"sources\": [], \"groups\": [], \"announcements\": []}",
          "unknown field \"shape\", permitted: ");
    shape("{\"layers\": 1, \"k\": 1, \"page_positions\": 1, \"sources\": [], \"groups\": [], \"announcements\": []}", "sources is empty");
    check_refused({"--model", "/tmp", "--context", "5"}, "/tmp: cannot read the file");
    const auto tpot = [&](const std::string& text, const std::string& message) {
        const auto file = written(folder, text);
        check_refused(glm_options({"--drafter", "dflash2", "--tpot-file", file}), message);
    };
    tpot("[", "malformed JSON");
    tpot("[]", "the list is empty");
    tpot("[{\"sessions\": 1, \"k\": 1, \"tpot_ratio\": 0.5}]", "[0].k is 1, permitted: 2 to 65534");
    tpot("[{\"sessions\": 0, \"k\": 4, \"tpot_ratio\": 0.5}]", "[0].sessions is 0, permitted: 1 to ");
    tpot("[{\"sessions\": 1, \"k\": 4, \"tpot_ratio\": 0}]", "[0].tpot_ratio is 0, permitted: numbers above 0");
    tpot("[{\"sessions\": 1, \"k\": 4}]", "[0].tpot_ratio is missing");
    tpot("[{\"sessions\": 1, \"k\": 4, \"tpot_ratio\": 1, \"x\": 2}]", "unknown field [0].\"x\"");
    tpot("[{\"sessions\": 1, \"k\": 4, \"tpot_ratio\": 0.7}, {\"sessions\": 1, \"k\": 4, \"tpot_ratio\": 0.9}]", "[1] measures the sessions and k of [0] again");
    tpot("", "malformed JSON");
    tpot("[{\"sessions\": 1, \"k\": 16, \"tpot_ratio\": 1}]", "there is no TPOT ratio for a width from 2 to K_max = 8");
    check_refused(glm_options({"--drafter", "dflash2", "--tpot-file", "/no/file"}), "/no/file: cannot read the file");
}
