// The command line: what is asked for, each number within its range.
#pragma once

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace decode {

enum class replacement { lru, fifo };
enum class backend { host, cuda };
enum class proposals { fixed, confidence };

struct options {
    static constexpr int all_pages = -1;

    std::filesystem::path model_dir, prompt_file;
    // As typed, since what is permitted depends on the file. No length: as much as there is, of
    // the story up to 6000 bytes.
    std::string offset = "0", length;
    bool own_prompt = false;       // not the story
    int tokens = 128;              // new bytes a request
    int hot_rows = 512;            // B
    int resident_pages = 0;        // optional history pages a request, or all_pages
    std::optional<int> pool_pages; // all GPU pages; none: what the above needs
    replacement policy = replacement::lru;
    int requests = 1;
    backend where = backend::host;
    std::optional<int> k_max; // K: queries a round; none: plain decoding
    proposals how_many = proposals::fixed;
    bool verify = false;
    bool json = false;
};

/// A message of one line for whoever typed the command.
struct usage_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};
/// --help was given; what() is the text.
struct help_wanted : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Throws usage_error: the thing, its value and what is permitted.
[[noreturn]] void refuse(std::string_view name, std::string_view value, std::string_view permitted);

/// The number in [low, high] that the text is. Throws usage_error, with the note behind the range.
int number(const char* name, const std::string& text, int low, int high,
           std::string_view note = "");

/// Throws usage_error naming the option and what it permits, and help_wanted.
options parse_options(int argc, const char* const* argv);

/// Whether --json is among the arguments, wherever and whatever else is wrong.
bool wants_json(int argc, const char* const* argv);

} // namespace decode
