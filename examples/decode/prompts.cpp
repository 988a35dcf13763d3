#include "prompts.hpp"

#include <tiny_dsa/spec.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

namespace decode {
namespace {

constexpr int story_length = 6000;
constexpr std::size_t next_prompt = 100; // bytes further on: other rows at every position

bytes read_file(const std::filesystem::path& file) {
    const auto unreadable = [&](const char* why) {
        refuse("--prompt", file.string(), fmt::format("a file that can be read ({})", why));
    };
    std::ifstream in(file, std::ios::binary);
    if (!in) unreadable(std::strerror(errno));
    if (std::filesystem::is_directory(file)) unreadable("it is a folder");
    bytes all{std::istreambuf_iterator<char>(in), {}};
    if (all.empty()) unreadable("it is empty");
    return all;
}

/// The prompt's bytes in the file: both the file and the model's context must have room for them.
std::span<const std::uint8_t> prompt_in(const options& o, const bytes& file) {
    constexpr int context = tiny_dsa::max_positions;
    const auto name = o.prompt_file.filename().string();
    const auto file_bytes = static_cast<int>(std::min<std::size_t>(file.size(), 1 << 30));
    const int offset = number("--offset", o.offset, 0, file_bytes - 1,
                              fmt::format("({} has {} bytes)", name, file_bytes));
    const int in_file = file_bytes - offset, in_context = context - o.tokens;
    const int usual = o.own_prompt ? in_file : std::min(story_length, in_file);
    const auto why = fmt::format("({} has {} bytes from {} on; of the model's {} positions, "
                                 "{} new bytes leave {})",
                                 name, in_file, offset, context, o.tokens, in_context);
    const int length = number("--length", o.length.empty() ? std::to_string(usual) : o.length, 1,
                              std::min(in_file, in_context), why);
    return std::span(file).subspan(static_cast<std::size_t>(offset),
                                   static_cast<std::size_t>(length));
}

} // namespace

std::vector<bytes> read_prompts(const options& o) {
    const auto file = read_file(o.prompt_file);
    const auto first = prompt_in(o, file);
    auto at = static_cast<std::size_t>(first.data() - file.data());
    std::vector<bytes> prompts(static_cast<std::size_t>(o.requests));
    for (auto& prompt : prompts) {
        for (std::size_t i = 0; i < first.size(); ++i)
            prompt.push_back(file[(at + i) % file.size()]);
        at += next_prompt;
    }
    return prompts;
}

} // namespace decode
