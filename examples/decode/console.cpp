#include "console.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <utility>

#include <unistd.h>

namespace decode {

namespace {
constexpr int width = 40;
}

progress_bar::progress_bar(std::string label, int total)
    : label_(std::move(label)), total_(total), terminal_(isatty(STDERR_FILENO) != 0) {
    if (terminal_)
        draw();
    else
        fmt::print(stderr, "{} ", label_);
}

progress_bar::~progress_bar() {
    std::fputc('\n', stderr);
}

void progress_bar::add(int n) {
    done_ += n;
    const auto reached = static_cast<int>(std::int64_t{width} * done_ / total_);
    if (reached == shown_ && done_ < total_) return;
    if (!terminal_) fmt::print(stderr, "{:.<{}}", "", reached - shown_);
    shown_ = reached;
    if (terminal_) draw();
}

void progress_bar::draw() const {
    fmt::print(stderr, "\r{} [{:#<{}}{:<{}}] {}/{} bytes", label_, "", shown_, "", width - shown_,
               done_, total_);
}

void show(std::span<const std::uint8_t> text) {
    for (const auto byte : text) {
        if (std::isprint(byte) || byte == '\n' || byte == '\t')
            std::putchar(byte);
        else
            fmt::print("\\x{:02x}", byte);
    }
    std::fflush(stdout);
}

void show_start(std::span<const std::uint8_t> prompt) {
    constexpr std::size_t shown_bytes = 72;
    fmt::print("--- prompt: {} bytes, the last of them\n", prompt.size());
    show(prompt.last(std::min(prompt.size(), shown_bytes)));
    fmt::print("\n--- new text\n");
}

} // namespace decode
