// Reads bf16 tensors from a safetensors file and says clearly what is wrong with it.
#pragma once

#include "floats.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace tiny_dsa {

class safetensors {
public:
    /// Reads the whole file.  Throws load_error if it is missing, truncated or has a bad header.
    explicit safetensors(const std::filesystem::path& file);

    /// The tensor widened to fp32, row-major.  Throws load_error if it is absent or has another
    /// dtype or shape.
    floats read(const std::string& name, const std::vector<std::size_t>& shape) const;

private:
    struct entry {
        std::string dtype;
        std::vector<std::size_t> shape;
        std::size_t begin, end; // bytes from the start of the data
    };

    void read_file();
    void read_header();
    void parse_header(const char* begin, const char* end);
    void check(const std::string& name, const entry& found,
               const std::vector<std::size_t>& shape) const;
    [[noreturn]] void fail(const std::string& why) const;

    std::filesystem::path file_;
    std::vector<char> bytes_;
    std::size_t data_ = 0; // offset of the data in bytes_
    std::map<std::string, entry> entries_;
};

} // namespace tiny_dsa
