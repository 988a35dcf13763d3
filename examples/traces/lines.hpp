// A text file, line by line, and what is wrong in which of them.
#pragma once

#include <dhisparse/core/error.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace traces {

class lines {
public:
    /// Throws dhisparse::invalid_argument, naming the option, where the file can't be read.
    lines(const char* option, const std::string& file, const char* permitted) : file_(file), in_(file, std::ios::binary) {
        std::error_code failed;
        bytes_ = static_cast<double>(std::filesystem::file_size(file, failed));
        dhisparse::require(in_.good() && !failed, option, " is ", file, ", permitted: ", permitted);
    }
    bool next() {
        if (!std::getline(in_, line_)) return false;
        read_ += static_cast<double>(line_.size() + 1);
        if (!line_.empty() && line_.back() == '\r') line_.pop_back();
        ++number_;
        return true;
    }
    const std::string& line() const { return line_; }
    /// Share that has been read, 0 to 1.
    double progress() const { return bytes_ > 0 ? std::min(1.0, read_ / bytes_) : 1; }
    /// Throws dhisparse::invalid_argument with the file and the line.
    template <class... Parts>
    void require(bool ok, const Parts&... parts) const {
        if (!ok) throw dhisparse::invalid_argument(dhisparse::text(file_, ":", number_, ": ", parts...));
    }

private:
    std::string file_, line_;
    std::ifstream in_;
    double bytes_ = 0, read_ = 0;
    std::int64_t number_ = 0;
};

} // namespace traces
