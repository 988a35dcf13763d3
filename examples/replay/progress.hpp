// A bar on stderr where that is a terminal, and nothing elsewhere.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

#include <unistd.h>

namespace replay {

class progress_bar {
public:
    explicit progress_bar(std::string label) : label_(std::move(label)), terminal_(isatty(STDERR_FILENO) != 0) {}
    ~progress_bar() {
        if (drawn_) std::fprintf(stderr, "\r%*s\r", width + 32, "");
    }
    progress_bar(const progress_bar&) = delete;
    progress_bar& operator=(const progress_bar&) = delete;
    /// share: 0 to 1. A run of less than a second shows nothing.
    void show(double share) {
        const auto now = std::chrono::steady_clock::now();
        if (!terminal_ || now - shown_ < std::chrono::milliseconds(drawn_ ? 200 : 1000)) return;
        shown_ = now;
        drawn_ = true;
        const auto n = static_cast<int>(share * width);
        std::fprintf(stderr, "\r%-10s [%s%s] %3d %%", label_.c_str(), std::string(static_cast<std::size_t>(n), '#').c_str(),
                     std::string(static_cast<std::size_t>(width - n), ' ').c_str(), static_cast<int>(share * 100));
    }

private:
    static constexpr int width = 40;
    std::string label_;
    bool terminal_, drawn_ = false;
    std::chrono::steady_clock::time_point shown_ = std::chrono::steady_clock::now();
};

} // namespace replay
