// dhisparse-engine run on a few requests, and what it says.
#pragma once

#include "catch.hpp"
#include "run_program.hpp"

#include <nlohmann/json.hpp>

#include <fstream>
#include <string>
#include <vector>

namespace dhisparse_test {

using nlohmann::json;
using arguments = std::vector<std::string>;

inline arguments with(arguments list, const arguments& more) {
    list.insert(list.end(), more.begin(), more.end());
    return list;
}

inline std::string written(const scratch_folder& folder, const char* name, const std::string& text) {
    const auto file = folder / name;
    std::ofstream(file) << text;
    return file.string();
}

/// A request for a part of the story; more: further fields, each with a comma before it.
inline std::string of_story(int offset, int length, int tokens, const std::string& more = "") {
    return R"({"file":")" DHISPARSE_DATA_DIR R"(/story.txt","offset":)" + std::to_string(offset) + ",\"length\":" + std::to_string(length) + ",\"tokens\":" + std::to_string(tokens) +
           more + "}\n";
}

/// Runs it, and checks what has to hold whatever it was asked.
inline json served(const arguments& more) {
    const auto got = run(with({"--json"}, more));
    INFO("stdout: " << got.out << " stderr: " << got.err);
    REQUIRE(got.code == 0);
    CHECK(got.err.empty());
    auto out = json::parse(got.out);
    CHECK(out.at("violations") == 0);
    CHECK(out.at("missing_pages") == 0);
    CHECK(out.at("failed") == 0);
    return out;
}
inline int number(const json& object, const char* key) { return object.at(key).get<int>(); }

inline std::vector<std::string> texts(const json& from) {
    std::vector<std::string> out;
    for (const auto& reply : from.at("replies")) out.push_back(reply.at("text"));
    return out;
}

} // namespace dhisparse_test
