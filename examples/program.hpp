// What the programs that answer on one command line share: help, errors in one line, files.
#pragma once

#include <dhisparse/core/error.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace program {

inline constexpr int could_not_run = 2;

/// --help was given; what() is the text.
struct help_wanted : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A text as JSON.
inline std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c < ' ' || c > '~' ? '?' : c;
    }
    return out + '"';
}

/// Throws dhisparse::invalid_argument that names the option.
inline void write_file(const char* option, const std::string& file, const std::string& text) {
    std::ofstream out(file, std::ios::binary);
    out << text << std::flush;
    dhisparse::require(out.good(), option, " is ", file, ", permitted: a file that can be written");
}

inline void print(const std::string& text) {
    dhisparse::require(std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0, "stdout cannot be written");
}

/// Runs run() and returns the exit code: 0, or could_not_run with one line on stderr; with --json one object on stdout.
template <class Run>
int main_of(const char* name, int argc, char** argv, Run run) {
    try {
        run();
        return 0;
    } catch (const help_wanted& help) {
        std::fputs(help.what(), stdout);
        return 0;
    } catch (const std::exception& e) {
        const bool json = std::find(argv, argv + argc, std::string_view("--json")) != argv + argc;
        const auto line = json ? "{\"error\": " + quoted(e.what()) + "}" : name + std::string(": ") + e.what();
        std::fprintf(json ? stdout : stderr, "%s\n", line.c_str());
        return could_not_run;
    }
}

} // namespace program
