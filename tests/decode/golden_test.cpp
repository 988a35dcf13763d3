// Through the hierarchy with a small hot cache, the bytes of golden.json.
#include "golden.hpp"

using namespace decode_test;

namespace {

void check_prompt(std::size_t prompt) {
    const auto golden = golden_prompt(prompt);
    const auto got = run_json(golden.arguments({"--hot-rows", "256", "--verify"}));
    CHECK(got.at("exact") == true);
    CHECK(got.at("host") > 0);
    CHECK(bytes_of(got.at("text")) == golden.text);
}

} // namespace

TEST_CASE("prompt 1 gives its golden bytes through the hierarchy", "[decode]") {
    check_prompt(0);
}
TEST_CASE("prompt 2 gives its golden bytes through the hierarchy", "[decode][slow]") {
    check_prompt(1);
}
TEST_CASE("prompt 3 gives its golden bytes through the hierarchy", "[decode][slow]") {
    check_prompt(2);
}
