// The CUDA backend gives the bytes of golden.json and of the host backend, and finds every selected
// row where the host backend finds it.
#include "golden.hpp"

using namespace decode_test;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Skips the test case where --backend cuda is refused for want of a GPU.
bool has_cuda() {
    const auto got = run(short_prompt({"--backend", "cuda", "--tokens", "1"}));
    if (got.code == 0) return true;
    REQUIRE_THAT(got.err, ContainsSubstring("--backend is cuda, permitted: host ("));
    dhisparse_test::skip("no CUDA device");
    return false;
}

/// What a run says of its rows and bytes, whatever the backend and its speed.
json results(std::vector<std::string> arguments, const std::string& backend) {
    arguments.insert(arguments.end(), {"--backend", backend});
    auto got = run_json(arguments);
    CHECK(got.at("backend") == backend);
    got.erase("backend");
    got.erase("tokens_per_s");
    return got;
}

json check_same(const std::vector<std::string>& arguments) {
    CAPTURE(arguments);
    const auto on_device = results(arguments, "cuda");
    CHECK(on_device.at("exact") == true);
    CHECK(on_device == results(arguments, "host"));
    return on_device;
}

} // namespace

TEST_CASE("the golden prompts give their bytes on the CUDA backend too", "[decode][gpu]") {
    if (!has_cuda()) return;
    for (std::size_t prompt = 0; prompt < 3; ++prompt) {
        const auto golden = golden_prompt(prompt);
        const auto got = check_same(golden.arguments({"--hot-rows", "256", "--verify"}));
        CHECK(bytes_of(got.at("text")) == golden.text);
        CHECK(got.at("host") > 0);
        CHECK(got.at("rows_verified") == got.at("selected"));
    }
}

TEST_CASE("both backends count the same, whatever the memory and the batch", "[decode][gpu]") {
    if (!has_cuda()) return;
    check_same(short_prompt({"--tokens", "24", "--resident", "3"}));
    check_same(short_prompt({"--tokens", "24", "--resident", "all", "--verify"}));
    check_same(short_prompt({"--tokens", "24", "--hot-rows", "320", "--replacement", "fifo"}));
    check_same(short_prompt({"--tokens", "24", "--hot-rows", "256", "--requests", "3"}));
    check_same({"--length", "630", "--tokens", "80", "--hot-rows", "256", "--requests", "2"});
    for (const std::string length : {"1", "63", "64", "65", "250"})
        check_same({"--length", length, "--tokens", "10", "--hot-rows", "256", "--verify"});
}

TEST_CASE("ST-07 speculative rounds on the device are those on the host, each one graph, the first one captured without a warm-up", "[decode][gpu]") {
    if (!has_cuda()) return;
    for (const std::string k : {"1", "4", "8"}) {
        const auto got = check_same(short_prompt({"--tokens", "40", "--speculate", k, "--hot-rows", "512", "--resident", "none", "--verify"}));
        CHECK(got.at("rows_verified") == got.at("selected"));
        CHECK((got.at("staged") > 0) == (got.at("union_max") > 512));
    }
    check_same(short_prompt({"--tokens", "24", "--speculate", "8", "--schedule", "confidence", "--requests", "3", "--hot-rows", "256", "--verify"}));
    const auto golden = golden_prompt(0);
    const auto got = check_same(golden.arguments({"--speculate", "8", "--hot-rows", "512", "--verify"}));
    CHECK(bytes_of(got.at("text")) == golden.text);
}
