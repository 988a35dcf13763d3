/// Runs dhisparse-decode and reads what it says.
#pragma once

#include "catch.hpp"
#include "run_program.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace decode_test {

using json = nlohmann::json;
using dhisparse_test::contents;
using dhisparse_test::run;
using dhisparse_test::said;
using dhisparse_test::scratch_folder;

/// The object that a run with --json prints, and nothing else on stdout.
inline json run_json(std::vector<std::string> arguments, int code = 0) {
    arguments.insert(arguments.begin(), "--json");
    const auto got = run(arguments);
    INFO("stdout: " << got.out << " stderr: " << got.err);
    REQUIRE(got.code == code);
    REQUIRE(std::count(got.out.begin(), got.out.end(), '\n') == 1);
    return json::parse(got.out);
}

/// The shortest golden prompt: its prefill takes a moment.
inline std::vector<std::string> short_prompt(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"--offset", "2310", "--length", "594"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
}

/// Bytes from a JSON text of one character a byte, U+0000 to U+00FF.
inline std::string bytes_of(const std::string& text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto c = static_cast<unsigned char>(text[i]);
        out += static_cast<char>(
            c < 0x80 ? c : ((c & 3) << 6) | (static_cast<unsigned char>(text[++i]) & 0x3F));
    }
    return out;
}

} // namespace decode_test
