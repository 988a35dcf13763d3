// What is shown while the program works: progress on stderr, the text on stdout.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace decode {

/// A bar where stderr is a terminal, else dots.
class progress_bar {
public:
    progress_bar(std::string label, int total);
    ~progress_bar(); // ends the line
    void add(int n);

private:
    void draw() const;
    std::string label_;
    int total_, done_ = 0, shown_ = 0;
    bool terminal_;
};

/// Bytes of text, at once; what is not printable as \xNN.
void show(std::span<const std::uint8_t> text);

/// Where the prompt ends and the new text begins.
void show_start(std::span<const std::uint8_t> prompt);

} // namespace decode
