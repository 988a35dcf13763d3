// Through the hierarchy with a small hot cache, the bytes of golden.json.
#include "program.hpp"

using namespace decode_test;

namespace {

std::string from_hex(const std::string& hex) {
    std::string out;
    for (std::size_t i = 0; i < hex.size(); i += 2)
        out += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    return out;
}

void check_prompt(std::size_t prompt) {
    const auto golden =
        json::parse(contents(DHISPARSE_DATA_DIR "/golden.json")).at("prompts").at(prompt);
    const auto expected = from_hex(golden.at("generated_hex"));
    const auto got =
        run_json({"--offset", std::to_string(golden.at("offset").get<int>()), "--length",
                  std::to_string(golden.at("length").get<int>()), "--tokens",
                  std::to_string(expected.size()), "--hot-rows", "256", "--verify"});
    CHECK(got.at("exact") == true);
    CHECK(got.at("host") > 0);
    CHECK(bytes_of(got.at("text")) == expected);
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
