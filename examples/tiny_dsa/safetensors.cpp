#include "safetensors.hpp"

#include "bf16.hpp"
#include "load_error.hpp"

#include <nlohmann/json.hpp>

#include <bit>
#include <cstring>
#include <fstream>
#include <functional>
#include <numeric>

namespace tiny_dsa {

static_assert(std::endian::native == std::endian::little,
              "the file is little-endian and is copied as it is");

namespace {

constexpr std::size_t length_bytes = 8; // the header's length, in front of it

std::string text(const std::vector<std::size_t>& shape) {
    std::string out = "[";
    for (const std::size_t n : shape) {
        out += (out.size() > 1 ? ", " : "") + std::to_string(n);
    }
    return out + "]";
}

std::size_t product(const std::vector<std::size_t>& shape) {
    return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

} // namespace

safetensors::safetensors(const std::filesystem::path& file) : file_(file) {
    read_file();
    read_header();
}

void safetensors::fail(const std::string& why) const {
    throw load_error(file_.string() + ": " + why);
}

void safetensors::read_file() {
    std::ifstream in(file_, std::ios::binary | std::ios::ate);
    if (!in || !std::filesystem::is_regular_file(file_)) {
        fail("cannot open the file");
    }
    bytes_.resize(static_cast<std::size_t>(in.tellg()));
    in.seekg(0);
    if (!in.read(bytes_.data(), static_cast<std::streamsize>(bytes_.size()))) {
        fail("cannot read the file");
    }
}

void safetensors::read_header() {
    std::uint64_t length = 0;
    if (bytes_.size() < length_bytes) {
        fail("truncated: " + std::to_string(bytes_.size()) +
             " bytes, but the header's length takes 8");
    }
    std::memcpy(&length, bytes_.data(), length_bytes);
    if (length > bytes_.size() - length_bytes) {
        fail("truncated: the header takes " + std::to_string(length) +
             " bytes from byte 8, the file has " + std::to_string(bytes_.size()));
    }
    data_ = length_bytes + length;
    parse_header(bytes_.data() + length_bytes, bytes_.data() + data_);
}

void safetensors::parse_header(const char* begin, const char* end) {
    std::string name;
    try {
        const auto header = nlohmann::json::parse(begin, end);
        for (const auto& item : header.items()) {
            name = item.key();
            if (name != "__metadata__") {
                const auto& value = item.value();
                const auto& range = value.at("data_offsets");
                entries_[name] = {value.at("dtype"), value.at("shape"), range.at(0), range.at(1)};
            }
        }
    } catch (const nlohmann::json::parse_error& e) {
        fail("bad header: no valid JSON at byte " + std::to_string(length_bytes + e.byte));
    } catch (const nlohmann::json::exception&) {
        fail("bad header: tensor " + name + " lacks a valid dtype, shape or data_offsets");
    }
}

void safetensors::check(const std::string& name, const entry& found,
                        const std::vector<std::size_t>& shape) const {
    if (found.dtype != "BF16") {
        fail("tensor " + name + ": dtype " + found.dtype + ", expected BF16");
    }
    if (found.shape != shape) {
        fail("tensor " + name + ": shape " + text(found.shape) + ", expected " + text(shape));
    }
    if (found.begin > found.end || found.end - found.begin != 2 * product(shape)) {
        fail("tensor " + name + ": bytes [" + std::to_string(found.begin) + ", " +
             std::to_string(found.end) + ") of the data, expected " +
             std::to_string(2 * product(shape)) + " bytes");
    }
    if (found.end > bytes_.size() - data_) {
        fail("truncated: tensor " + name + " ends at byte " + std::to_string(data_ + found.end) +
             ", the file has " + std::to_string(bytes_.size()));
    }
}

floats safetensors::read(const std::string& name, const std::vector<std::size_t>& shape) const {
    const auto found = entries_.find(name);
    if (found == entries_.end()) {
        fail("tensor " + name + " is missing, expected BF16 " + text(shape));
    }
    check(name, found->second, shape);
    floats out(product(shape));
    const char* const from = bytes_.data() + data_ + found->second.begin;
    for (std::size_t i = 0; i < out.size(); ++i) {
        std::uint16_t bits;
        std::memcpy(&bits, from + 2 * i, 2);
        out[i] = widen(bits);
    }
    return out;
}

} // namespace tiny_dsa
