/// Runs dhisparse-decode and reads what it says.
#pragma once

#include "catch.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace decode_test {

using json = nlohmann::json;

/// A folder of its own, removed at the end.
class scratch_folder {
public:
    scratch_folder() { REQUIRE(mkdtemp(path_.data()) != nullptr); }
    ~scratch_folder() { std::filesystem::remove_all(path_); }
    scratch_folder(const scratch_folder&) = delete;
    scratch_folder& operator=(const scratch_folder&) = delete;
    std::filesystem::path operator/(const std::string& name) const {
        return std::filesystem::path(path_) / name;
    }

private:
    std::string path_ =
        (std::filesystem::temp_directory_path() / "dhisparse_decode_XXXXXX").string();
};

inline std::string contents(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

struct said {
    int code = -1; // exit code; -1: it did not exit by itself
    std::string out, err;
};

/// directory: where the program runs.
inline said run(std::vector<std::string> arguments, const char* directory = "/") {
    const scratch_folder folder;
    const auto out = (folder / "out").string(), err = (folder / "err").string();
    arguments.insert(arguments.begin(), DHISPARSE_PROGRAM);
    std::vector<char*> argv;
    for (auto& argument : arguments)
        argv.push_back(argument.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addchdir_np(&actions, directory);
    pid_t child = 0;
    REQUIRE(posix_spawn(&child, DHISPARSE_PROGRAM, &actions, nullptr, argv.data(), environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(out), contents(err)};
}

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
