/// Runs the program of an example's tests, and reads what it says.
#pragma once

#include "catch.hpp"

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

namespace dhisparse_test {

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
        (std::filesystem::temp_directory_path() / "dhisparse_test_XXXXXX").string();
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

} // namespace dhisparse_test
