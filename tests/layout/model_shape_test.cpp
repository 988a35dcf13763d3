// A wrong shape is refused with a message that names the wrong field.
#include <dhisparse/layout/model_shape.hpp>

#include "catch.hpp"
#include "real_shapes.hpp"
#include "refusal.hpp"

#include <limits>

using namespace dhisparse;
using Catch::Matchers::ContainsSubstring;
using dhisparse_test::refusal;

namespace {

/// Layers 0 to 2: a group of one, a group of two.
model_shape good() {
    const source_shape row{.row_bytes = 576, .index_key_bytes = 132, .positions_per_row = 2};
    return dhisparse_test::shape_of(64, 256, {{row, 1}, {row, 2}});
}

/// What is said about the good shape after a change.
template <class Change>
std::string after(Change change) {
    auto shape = good();
    change(shape);
    return refusal([&] { validate(shape); });
}

constexpr std::int64_t too_much = std::int64_t{1} << 31;

} // namespace

TEST_CASE("a right shape is accepted", "[model_shape]") {
    CHECK(after([](model_shape&) {}).empty());
    CHECK(refusal([] { validate(dhisparse_test::glm_5_3(576)); }).empty());
    CHECK(refusal([] { validate(dhisparse_test::mixed_positions_per_row()); }).empty());
}

TEST_CASE("the number of layers is positive and covers what names layers", "[model_shape]") {
    CHECK(after([](auto& s) { s.layers = 0; }) == "layers is 0, permitted: 1 to 16777216");
    CHECK_THAT(after([](auto& s) { s.layers = -1; }), ContainsSubstring("layers is -1"));
    CHECK(after([](auto& s) { s.layers = 2; }) == "sources[2].layer is 2, permitted: 0 to 1");
}

TEST_CASE("k is positive", "[model_shape]") {
    CHECK(after([](auto& s) { s.k = 0; }) == "k is 0, permitted: 1 to 16777216");
}

TEST_CASE("page_positions is positive", "[model_shape]") {
    CHECK(after([](auto& s) { s.page_positions = 0; }) ==
          "page_positions is 0, permitted: 1 to 16777216");
    CHECK_THAT(after([](auto& s) { s.page_positions = 1 << 25; }),
               ContainsSubstring("page_positions is 33554432"));
}

TEST_CASE("there are sources, groups and announcements", "[model_shape]") {
    CHECK(after([](auto& s) { s.sources.clear(); }) == "sources is empty");
    CHECK(after([](auto& s) { s.groups.clear(); }) == "groups is empty");
    CHECK(after([](auto& s) { s.announcements.clear(); }) == "announcements is empty");
}

TEST_CASE("a source's layer exists and writes one source", "[model_shape]") {
    CHECK_THAT(after([](auto& s) { s.sources[1].layer = 3; }),
               ContainsSubstring("sources[1].layer is 3"));
    CHECK_THAT(after([](auto& s) { s.sources[1].layer = -1; }),
               ContainsSubstring("sources[1].layer is -1"));
    CHECK(after([](auto& s) { s.sources[2].layer = 1; }) ==
          "sources[2].layer 1 has a source already");
}

TEST_CASE("a source's row_bytes is positive", "[model_shape]") {
    CHECK(after([](auto& s) { s.sources[0].row_bytes = 0; }) ==
          "sources[0].row_bytes is 0, permitted: 1 to 2147483647");
    CHECK_THAT(after([](auto& s) { s.sources[0].row_bytes = too_much; }),
               ContainsSubstring("sources[0].row_bytes"));
}

TEST_CASE("a source's index_key_bytes is not negative", "[model_shape]") {
    CHECK_THAT(after([](auto& s) { s.sources[1].index_key_bytes = -1; }),
               ContainsSubstring("sources[1].index_key_bytes is -1"));
    CHECK_THAT(after([](auto& s) { s.sources[1].index_key_bytes = too_much; }),
               ContainsSubstring("sources[1].index_key_bytes"));
}

TEST_CASE("a source's boundary_bytes is not negative", "[model_shape]") {
    CHECK_THAT(after([](auto& s) { s.sources[1].boundary_bytes = -1; }),
               ContainsSubstring("sources[1].boundary_bytes is -1"));
}

TEST_CASE("a source's alignment_bytes is not negative", "[model_shape]") {
    CHECK_THAT(after([](auto& s) { s.sources[1].alignment_bytes = -1; }),
               ContainsSubstring("sources[1].alignment_bytes is -1"));
}

TEST_CASE("a source's positions_per_row divides the page", "[model_shape]") {
    CHECK_THAT(after([](auto& s) { s.sources[0].positions_per_row = 0; }),
               ContainsSubstring("sources[0].positions_per_row is 0"));
    CHECK_THAT(after([](auto& s) { s.sources[0].positions_per_row = 65; }),
               ContainsSubstring("sources[0].positions_per_row is 65"));
    CHECK(after([](auto& s) { s.sources[0].positions_per_row = 3; }) ==
          "sources[0].positions_per_row is 3, which does not divide page_positions 64");
}

TEST_CASE("a source's positions_per_index_key divides the page", "[model_shape]") {
    CHECK(after([](auto& s) { s.sources[0].positions_per_index_key = 4; }).empty());
    CHECK_THAT(after([](auto& s) { s.sources[0].positions_per_index_key = -4; }),
               ContainsSubstring("sources[0].positions_per_index_key is -4"));
    CHECK_THAT(after([](auto& s) { s.sources[0].positions_per_index_key = 5; }),
               ContainsSubstring("sources[0].positions_per_index_key is 5, which does not divide"));
}

TEST_CASE("an index key covers as many positions as a row unless said otherwise", "[model_shape]") {
    CHECK(source_shape{.positions_per_row = 4}.key_positions() == 4);
    CHECK(source_shape{.positions_per_row = 4, .positions_per_index_key = 1}.key_positions() == 1);
}

TEST_CASE("a row's runs hold the row, and have sizes that make sense", "[model_shape]") {
    const auto runs = [](std::vector<row_run> given) {
        return after([&](auto& s) { s.sources[0].runs = given; });
    };
    CHECK(runs({{0, 512, 512}, {32 * 512, 64, 64}}).empty());
    CHECK(runs({{0, 512, 512}}) == "sources[0].runs hold 512 bytes a row, row_bytes is 576");
    CHECK_THAT(runs({{0, 576, 0}}), ContainsSubstring("sources[0].runs: a run needs bytes > 0"));
    CHECK_THAT(runs({{0, 500, 576}}), ContainsSubstring("stride >= bytes"));
    CHECK_THAT(runs({{-16, 576, 576}}), ContainsSubstring("offset -16"));
    CHECK_THAT(runs({{0, 512, 512},
                     {10'000, 16, 16},
                     {20'000, 16, 16},
                     {30'000, 16, 16},
                     {40'000, 16, 16}}),
               ContainsSubstring("sources[0].runs: 5 runs, permitted: 1 to 4"));
}

TEST_CASE("runs of one block may not overlap", "[model_shape]") {
    const auto runs = [](std::vector<row_run> given) {
        return after([&](auto& s) { s.sources[0].runs = given; });
    };
    CHECK(runs({{0, 512, 512}, {32 * 512 - 1, 64, 64}}) ==
          "sources[0].runs: the run at 0 ends at 16384, inside the run at 16383");
    CHECK_THAT(runs({{32 * 512 - 1, 64, 64}, {0, 512, 512}}),
               ContainsSubstring("inside the run at 16383"));
    CHECK_THAT(runs({{0, 288, 288}, {0, 288, 288}}),
               ContainsSubstring("sources[0].runs: the run at 0")); // from one start
}

TEST_CASE("runs beyond 64 bits are refused", "[model_shape]") {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    const auto runs = [](std::vector<row_run> given) {
        auto shape = good();
        shape.sources[0].runs = std::move(given);
        return refusal<error>([&] { validate(shape); });
    };
    CHECK_FALSE(runs({{0, most / 2, 576}}).empty());
    CHECK_FALSE(runs({{most - 10, 576, 576}}).empty());
    CHECK_FALSE(runs({{0, most, most}, {0, most, most}}).empty());
}

TEST_CASE("a group names sources, each of them once", "[model_shape]") {
    CHECK(after([](auto& s) { s.groups[1].clear(); }) == "groups[1] has no layer");
    CHECK(after([](auto& s) { s.groups[1].push_back(9); }) ==
          "groups[1] names layer 9, which has no source");
    CHECK(after([](auto& s) { s.groups[1].push_back(0); }) ==
          "groups[1] names layer 0, which is in groups[0] already");
    CHECK(after([](auto& s) { s.groups[1] = {1}; }) == "sources[2] (layer 2) is in no group");
}

TEST_CASE("sources of a group have equal rows", "[model_shape]") {
    const auto differs = ContainsSubstring("groups[1]: layer 2 has other rows than layer 1");
    CHECK_THAT(after([](auto& s) { s.sources[2].row_bytes = 512; }), differs);
    CHECK_THAT(after([](auto& s) { s.sources[2].positions_per_row = 1; }), differs);
    CHECK_THAT(after([](auto& s) { s.sources[2].runs = {{0, 576, 576}}; }), differs);
    CHECK_THAT(after([](auto& s) { s.sources[2].partial_readable = true; }), differs);
    CHECK_THAT(after([](auto& s) { s.sources[2].alignment_bytes = 576; }), differs);
    CHECK(after([](auto& s) {
              s.sources[2].index_key_bytes = 64;
          }).empty()); // keys are a source's own
}

TEST_CASE("an announcement names a layer, a group and consumers", "[model_shape]") {
    CHECK(after([](auto& s) { s.announcements[1].layer = 3; }) ==
          "announcements[1].layer is 3, permitted: 0 to 2");
    CHECK(after([](auto& s) { s.announcements[1].group = 2; }) ==
          "announcements[1].group is 2, permitted: 0 to 1");
    CHECK(after([](auto& s) { s.announcements[1].consumers.clear(); }) ==
          "announcements[1].consumers is empty");
    CHECK(after([](auto& s) { s.announcements[1].consumers.push_back(s.announcements[1].consumers.back()); }).find(" more than once") != std::string::npos);
    CHECK_THAT(after([](auto& s) {
                   s.announcements[1].consumers = {1, 7};
               }),
               ContainsSubstring("announcements[1].consumers is 7"));
}

TEST_CASE("announcements come in layer order", "[model_shape]") {
    CHECK(after([](auto& s) { std::swap(s.announcements[0], s.announcements[1]); }) ==
          "announcements[1].layer is 0; announcements come in ascending layer order");
    CHECK_THAT(after([](auto& s) { s.announcements[1].layer = 0; }),
               ContainsSubstring("ascending"));
}

TEST_CASE("two announcements may choose from one group", "[model_shape]") {
    CHECK(after([](auto& s) { s.announcements.push_back({2, 1, {2}}); }).empty());
}

TEST_CASE("there is one pass a group, or none is named", "[model_shape]") {
    CHECK(after([](auto& s) { s.passes = {pass::target, pass::draft}; }).empty());
    CHECK(after([](auto& s) { s.passes = {pass::target}; }) ==
          "passes has 1 entries, groups has 2");
}

TEST_CASE("a consumer reads its own lane, or the first lane where it writes none of the group",
          "[model_shape]") {
    auto shape = good();
    shape.layers = 4; // layer 3 has no source: it reuses
    shape.announcements[1].consumers = {1, 2, 3};
    CHECK(source_read_by(shape, shape.announcements[1], 1) == 1);
    CHECK(source_read_by(shape, shape.announcements[1], 2) == 2);
    CHECK(source_read_by(shape, shape.announcements[1], 3) == 1);
    CHECK(source_of(shape, 3) == -1);
}
