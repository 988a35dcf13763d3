// Shapes from JSON: every field is read; wrong text is refused in one line that names the field.
#include <dhisparse/layout/shape_json.hpp>

#include "catch.hpp"
#include "refusal.hpp"

using namespace dhisparse;
using Catch::Matchers::ContainsSubstring;
using dhisparse_test::refusal;

namespace {

/// Every field that there is.
constexpr const char* full = R"({"name": "full", "layers": 4, "k": 3, "page_positions": 8, "max_positions": 999,
 "drafter": {"name": "d", "window": 16, "layers": 1, "row_bytes": 32, "k_max": 4},
 "sources": [
  {"layer": 0, "row_bytes": 40, "index_key_bytes": 12, "positions_per_row": 2, "positions_per_index_key": 4, "boundary_bytes": 6,
   "partial_readable": true, "alignment_bytes": 64, "runs": [{"offset": 0, "stride": 32, "bytes": 32}, {"offset": 128, "stride": 8, "bytes": 8}]},
  {"layer": 2, "row_bytes": 16}],
 "groups": [[0], [2]],
 "announcements": [{"layer": 0, "group": 0, "consumers": [0, 1]}, {"layer": 2, "group": 1, "consumers": [2, 3]}],
 "passes": ["target", "draft"],
 "unselected": [{"layer": 0, "row_bytes": 48, "positions_per_row": 2, "window": 5}, {"layer": 3, "row_bytes": 7}]})";

/// What is said about the full text with its first `part` replaced.
std::string after(const std::string& part, const std::string& other) {
    std::string text = full;
    const auto at = text.find(part);
    REQUIRE(at != std::string::npos);
    text.replace(at, part.size(), other);
    const auto said = refusal([&] { (void)shape_from_json(text, "f.json"); });
    CHECK(said.find('\n') == std::string::npos);
    CHECK(said.rfind("f.json: ", 0) == 0);
    return said.substr(std::min<std::size_t>(8, said.size()));
}

} // namespace

TEST_CASE("every field of a shape is read", "[shape_json]") {
    model_shape wanted{.name = "full", .layers = 4, .k = 3, .page_positions = 8};
    wanted.max_positions = 999;
    wanted.drafter = {"d", 16, 1, 32, 4};
    wanted.sources = {{0, 40, 12, 2, 4, {{0, 32, 32}, {128, 8, 8}}, 6, true, 64}, {.layer = 2, .row_bytes = 16}};
    wanted.groups = {{0}, {2}};
    wanted.announcements = {{0, 0, {0, 1}}, {2, 1, {2, 3}}};
    wanted.passes = {pass::target, pass::draft};
    wanted.unselected = {{0, 48, 2, 5}, {.layer = 3, .row_bytes = 7}};
    CHECK(shape_from_json(full) == wanted);
    std::string text = full;
    text.replace(text.find("{\"name\": \"d\""), std::string(R"({"name": "d", "window": 16, "layers": 1, "row_bytes": 32, "k_max": 4})").size(), "null");
    wanted.drafter.reset();
    CHECK(shape_from_json(text) == wanted);
}

TEST_CASE("malformed JSON is refused in one line", "[shape_json]") {
    CHECK_THAT(after("\"layers\": 4,", "\"layers\": 4"), ContainsSubstring("malformed JSON: parse error at line 1"));
    CHECK_THAT(after("{\"name\": \"full\"", "{\"na\nme\": 1"), ContainsSubstring("malformed JSON"));
    CHECK_THAT(refusal([] { (void)shape_from_json("", "f.json"); }), ContainsSubstring("f.json: malformed JSON"));
    CHECK(refusal([] { (void)shape_from_json("[]", "f.json"); }) == "f.json: the file is [], permitted: an object");
    CHECK(after("\"k\": 3", "\"k\": 3, \"k\": 4") == "the field \"k\" is there twice");
    CHECK(refusal([] { (void)load_shape("/no/such/file"); }) == "/no/such/file: cannot read the file");
    CHECK(refusal([] { (void)load_shape("/"); }) == "/: cannot read the file");
}

TEST_CASE("unknown and missing fields are refused by their names", "[shape_json]") {
    CHECK_THAT(after("\"layers\": 4", "\"layers\": 4, \"kk\": 1"), ContainsSubstring("unknown field \"kk\", permitted: name, layers, k, "));
    CHECK_THAT(after("\"window\": 16", "\"window\": 16, \"x\": 1"), ContainsSubstring("unknown field drafter.\"x\", permitted: name, window"));
    CHECK_THAT(after("\"index_key_bytes\"", "\"index_bytes\""), ContainsSubstring("unknown field sources[0].\"index_bytes\", permitted: layer"));
    CHECK_THAT(after("\"stride\": 32,", "\"stride\": 32, \"y\": [],"), ContainsSubstring("unknown field sources[0].runs[0].\"y\""));
    CHECK_THAT(after("\"group\": 0,", "\"group\": 0, \"z\": 0,"), ContainsSubstring("unknown field announcements[0].\"z\""));
    CHECK_THAT(after("\"window\": 5", "\"width\": 5"), ContainsSubstring("unknown field unselected[0].\"width\""));
    CHECK(after("\"k\": 3, ", "") == "k is missing");
    CHECK(after("\"row_bytes\": 16", "\"positions_per_row\": 1") == "sources[1].row_bytes is missing");
    CHECK(after("\"groups\": [[0], [2]],", "") == "groups is missing");
}

TEST_CASE("numbers out of range and values of another kind are refused with the value", "[shape_json]") {
    CHECK(after("\"k\": 3", "\"k\": 2.5") == "k is 2.5, permitted: whole numbers from -2147483648 to 2147483647");
    CHECK_THAT(after("\"k\": 3", "\"k\": 1e3"), ContainsSubstring("k is 1000.0, permitted: whole numbers"));
    CHECK_THAT(after("\"k\": 3", "\"k\": 99999999999"), ContainsSubstring("k is 99999999999, permitted"));
    CHECK_THAT(after("\"row_bytes\": 40", "\"row_bytes\": 18446744073709551615"), ContainsSubstring("sources[0].row_bytes is 18446744073709551615, permitted"));
    CHECK_THAT(after("\"row_bytes\": 40", "\"row_bytes\": \"40\""), ContainsSubstring("sources[0].row_bytes is \"40\", permitted: whole numbers"));
    CHECK(after("\"k\": 3", "\"k\": 0") == "k is 0, permitted: 1 to 16777216");
    CHECK(after("\"row_bytes\": 16", "\"row_bytes\": -1") == "sources[1].row_bytes is -1, permitted: 1 to 2147483647");
    CHECK(after("true", "1") == "sources[0].partial_readable is 1, permitted: true, false");
    CHECK(after("\"name\": \"full\"", "\"name\": 5") == "name is 5, permitted: a text");
    CHECK(after("[0], [2]", "0, [2]") == "groups[0] is 0, permitted: a list");
    CHECK(after("\"draft\"]", "\"both\"]") == "passes[1] is \"both\", permitted: \"target\", \"draft\"");
    CHECK(after("\"window\": 16", "\"window\": 0") == "drafter.window is 0, permitted: 1 to 16777216");
    CHECK(after("\"k_max\": 4", "\"k_max\": 70000") == "drafter.k_max is 70000, permitted: 1 to 65534");
    CHECK(after("\"window\": 5", "\"window\": -5") == "unselected[0].window is -5, permitted: 0 to 1073741824");
    CHECK(after("\"row_bytes\": 7", "\"row_bytes\": 0") == "unselected[1].row_bytes is 0, permitted: 1 to 2147483647");
    CHECK(after("\"layer\": 3, \"row_bytes\": 7", "\"layer\": 4, \"row_bytes\": 7") == "unselected[1].layer is 4, permitted: 0 to 3");
    CHECK(after("\"max_positions\": 999", "\"max_positions\": -1") == "max_positions is -1, permitted: 0 to 1073741824");
    CHECK(after("[2, 3]", "[2, 4]") == "announcements[1].consumers is 4, permitted: 0 to 3");
    CHECK_THAT(after("\"name\": \"full\"", "\"name\": [\"" + std::string(5000, 'x') + "\"]"), ContainsSubstring("xxx..., permitted: a text"));
}
