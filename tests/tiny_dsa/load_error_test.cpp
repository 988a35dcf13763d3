// A bad weight file is refused with one line that says what is wrong with it.
#include "session.hpp"

#include "catch.hpp"

#include <nlohmann/json.hpp>

#include <unistd.h>

#include <array>

namespace {

using namespace tiny_dsa_test;
using Catch::Matchers::ContainsSubstring;

/// A folder with its own weight file; removed at the end.
class temporary_model {
public:
    temporary_model()
        : dir_(std::filesystem::temp_directory_path() /
               ("tiny_dsa_test_" + std::to_string(getpid()))) {
        std::filesystem::create_directories(dir_);
    }
    ~temporary_model() { std::filesystem::remove_all(dir_); }

    void write(std::span<const std::uint8_t> content) const {
        std::ofstream out(dir_ / "tiny_dsa.safetensors", std::ios::binary);
        out.write(reinterpret_cast<const char*>(content.data()),
                  static_cast<std::streamsize>(content.size()));
    }

    /// The message of the error that loading gives.
    std::string error() const {
        try {
            const auto target = tiny_dsa::model::load(dir_, {.n_threads = 1});
            tiny_dsa::drafter::load(dir_, target);
        } catch (const tiny_dsa::load_error& e) {
            return e.what();
        }
        return "no error";
    }

private:
    std::filesystem::path dir_;
};

struct parts {
    nlohmann::json header;
    bytes data;
};

parts split(const bytes& file) {
    const std::size_t n = file[0] + 256u * file[1] + 65536u * file[2];
    const auto end = file.begin() + 8 + static_cast<std::ptrdiff_t>(n);
    return {nlohmann::json::parse(file.begin() + 8, end), {end, file.end()}};
}

bytes join(const std::string& header, const bytes& data) {
    bytes file(8 + header.size() + data.size());
    for (std::size_t i = 0; i < 8; ++i) {
        file[i] = static_cast<std::uint8_t>(header.size() >> (8 * i));
    }
    std::copy(data.begin(), data.end(), std::copy(header.begin(), header.end(), file.begin() + 8));
    return file;
}

void check_message(const std::string& message, const std::string& expected) {
    CHECK_THAT(message, ContainsSubstring("tiny_dsa.safetensors: "));
    CHECK_THAT(message, ContainsSubstring(expected));
    CHECK(message.find('\n') == std::string::npos);
}

} // namespace

TEST_CASE("a file that cannot be read as a whole is refused with one clear line", "[tiny_dsa]") {
    const bytes good = read_bytes(data_dir() / "tiny_dsa.safetensors");
    const temporary_model broken;
    std::string expected;
    SECTION("missing") {
        expected = "cannot open the file";
    }
    SECTION("empty") {
        broken.write({});
        expected = "truncated: 0 bytes";
    }
    SECTION("cut in the header") {
        broken.write(std::span(good).first(1000));
        expected = "truncated: the header takes 14320 bytes from byte 8, the file has 1000";
    }
    SECTION("cut in the data") {
        broken.write(std::span(good).first(good.size() - 1));
        expected = "the file has " + std::to_string(good.size() - 1);
    }
    SECTION("header is no JSON") {
        broken.write(join("{\"a\": nonsense}", {}));
        expected = "bad header: no valid JSON at byte";
    }
    check_message(broken.error(), expected);
}

TEST_CASE("a wrong tensor is refused with one clear line", "[tiny_dsa]") {
    parts p = split(read_bytes(data_dir() / "tiny_dsa.safetensors"));
    const std::string name = GENERATE("layers.3.attn.wo.weight", "draft.fuse.weight");
    auto& entry = p.header[name];
    std::string expected = "tensor " + name;
    SECTION("no offsets") {
        entry.erase("data_offsets");
        expected += " lacks a valid";
    }
    SECTION("absent") {
        p.header.erase(name);
        expected += " is missing, expected BF16 [256, ";
    }
    SECTION("wrong dtype") {
        entry["dtype"] = "F32";
        expected += ": dtype F32, expected BF16";
    }
    SECTION("wrong shape") {
        entry["shape"] = {256, 255};
        expected += ": shape [256, 255], expected [256, ";
    }
    SECTION("wrong number of bytes") {
        entry["data_offsets"] = {0, 4};
        expected += ": bytes [0, 4) of the data, expected ";
    }
    SECTION("data behind the end of the file") {
        const auto range = entry["data_offsets"].get<std::array<std::size_t, 2>>();
        entry["data_offsets"] = {p.data.size(), p.data.size() + range[1] - range[0]};
        expected += " ends at byte";
    }
    const temporary_model broken;
    broken.write(join(p.header.dump(), p.data));
    check_message(broken.error(), expected);
}

TEST_CASE("arguments that do not fit are refused", "[tiny_dsa]") {
    session s(64);
    std::vector<float> floats(2 * 256);
    const tiny_dsa::token good{0, 0, 'a'}, late{0, 8192, 'a'}, early{0, -1, 'a'},
        anchor{0, 8190, 'a'};
    s.store().begin({&good, 1});
    CHECK_THROWS_AS(s.model().forward({&late, 1}, s.store(), {}), std::invalid_argument);
    CHECK_THROWS_AS(s.model().forward({&early, 1}, s.store(), {}), std::invalid_argument);
    CHECK_THROWS_AS(s.model().forward({&good, 1}, s.store(), {.logits = floats}),
                    std::invalid_argument);
    CHECK_THROWS_AS(s.model().forward({&good, 1}, s.store(), {.features = floats}),
                    std::invalid_argument);
    CHECK_THROWS_AS(s.drafter().extend({&good, 1}, floats, s.draft_store()), std::invalid_argument);
    CHECK_THROWS_AS(s.propose(good, 9), std::invalid_argument);
    CHECK_THROWS_AS(s.propose(anchor, 3), std::invalid_argument);
    CHECK_NOTHROW(s.model().forward({}, s.store(), {}));
}
