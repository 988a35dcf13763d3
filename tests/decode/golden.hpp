/// The prompts of golden.json and the bytes that follow them.
#pragma once

#include "program.hpp"

namespace decode_test {

struct golden {
    int offset = 0, length = 0;
    std::string text;

    /// What makes the program decode the text.
    std::vector<std::string> arguments(const std::vector<std::string>& more) const {
        std::vector<std::string> out{"--offset", std::to_string(offset), "--length",
                                     std::to_string(length), "--tokens",
                                     std::to_string(text.size())};
        out.insert(out.end(), more.begin(), more.end());
        return out;
    }
};

inline golden golden_prompt(std::size_t i) {
    static const auto all = json::parse(contents(DHISPARSE_DATA_DIR "/golden.json"));
    const auto& prompt = all.at("prompts").at(i);
    const auto hex = prompt.at("generated_hex").get<std::string>();
    golden out{prompt.at("offset").get<int>(), prompt.at("length").get<int>(), {}};
    for (std::size_t at = 0; at < hex.size(); at += 2)
        out.text += static_cast<char>(std::stoi(hex.substr(at, 2), nullptr, 16));
    return out;
}

} // namespace decode_test
