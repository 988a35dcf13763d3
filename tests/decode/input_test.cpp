// Bad input: one line that names the thing and what is permitted, exit code 2, nothing else on
// stdout.
#include "program.hpp"

using namespace decode_test;
using Catch::Matchers::ContainsSubstring;

namespace {

/// With and without --json: the same message, all of which is `message` or contains it.
void check_refused(std::vector<std::string> arguments, const std::string& message) {
    CAPTURE(arguments, message);
    const auto plain = run(arguments);
    CHECK(plain.code == 2);
    CHECK(plain.out.empty());
    CHECK(std::count(plain.err.begin(), plain.err.end(), '\n') == 1);
    CHECK_THAT(plain.err, ContainsSubstring("dhisparse-decode: ") && ContainsSubstring(message));

    const auto object = run_json(arguments, 2);
    CHECK(object.size() == 1);
    CHECK_THAT(object.at("error").get<std::string>(), ContainsSubstring(message));
}

/// The weights with one word of the header replaced by another of the same length.
void write_weights(const std::filesystem::path& folder, const std::string& word,
                   const std::string& other) {
    auto all = contents(DHISPARSE_DATA_DIR "/tiny_dsa.safetensors");
    const auto at = all.find(word, all.find("\"layers.3.attn.wo.weight\""));
    REQUIRE(at != std::string::npos);
    all.replace(at, word.size(), other);
    std::ofstream(folder / "tiny_dsa.safetensors", std::ios::binary) << all;
}

} // namespace

TEST_CASE("bad weights are refused", "[decode]") {
    const scratch_folder folder;
    const auto dir = folder / "model";
    std::filesystem::create_directory(dir);
    std::string message;
    SECTION("missing") {
        message = "tiny_dsa.safetensors: cannot open the file";
    }
    SECTION("truncated") {
        std::ofstream(dir / "tiny_dsa.safetensors", std::ios::binary)
            << contents(DHISPARSE_DATA_DIR "/tiny_dsa.safetensors").substr(0, 1 << 20);
        message = "tiny_dsa.safetensors: truncated: ";
    }
    SECTION("wrong shape") {
        write_weights(dir, "256]", "255]");
        message = "layers.3.attn.wo.weight: shape [256, 255], expected [256, 256]";
    }
    SECTION("wrong dtype") {
        write_weights(dir, "BF16", "FP16");
        message = "layers.3.attn.wo.weight: dtype FP16, expected BF16";
    }
    check_refused({"--model", dir.string()}, message);
}

TEST_CASE("a prompt that can't be read or doesn't fit is refused", "[decode]") {
    const scratch_folder folder;
    const auto file = (folder / "prompt").string();
    std::ofstream(file) << std::string(9000, 'a');
    check_refused({"--prompt", "/no/such/file"},
                  "--prompt is /no/such/file, permitted: a file that can be read");
    check_refused({"--prompt", "/"}, "--prompt is /, permitted: a file that can be read");
    check_refused({"--prompt", file}, "--length is 9000, permitted: 1 to 8064 (prompt");
    check_refused({"--prompt", file, "--length", "8065"}, "--length is 8065, permitted: 1 to 8064");
    check_refused({"--prompt", file, "--tokens", "8000", "--length", "193"},
                  "--length is 193, permitted: 1 to 192");
    check_refused(
        {"--length", "7006"},
        "--length is 7006, permitted: 1 to 7005 (story.txt has 7005 bytes from 0 on; of ");
    check_refused({"--length", "0"}, "--length is 0, permitted: 1 to 7005");
    check_refused({"--offset", "7005"},
                  "--offset is 7005, permitted: 0 to 7004 (story.txt has 7005 bytes)");
    check_refused({"--offset", "-1"}, "--offset is -1, permitted: 0 to 7004");
    check_refused({"--offset", "x"}, "--offset is x, permitted: 0 to 7004");
}

TEST_CASE("a cache or pool that can't work is refused", "[decode]") {
    const std::string permitted =
        ", permitted: multiples of 64 from 256 (k, the rows that a query selects) to 8192";
    for (const std::string rows : {"0", "192", "255", "257", "8256", "many", "-512"})
        check_refused({"--hot-rows", rows}, "--hot-rows is " + rows + permitted);
    check_refused({"--pool-pages", "19"}, "--pool-pages is 19, permitted: 20 or more (1 request of "
                                          "8 hot, 2 tail and 10 index pages)");
    check_refused(short_prompt({"--pool-pages", "35", "--requests", "3"}),
                  "permitted: 36 or more (3 requests of 8 hot, 2 tail and 2 index pages)");
    check_refused({"--pool-pages", "0"}, "--pool-pages is 0, permitted: 1 to ");
    for (const std::string pages : {"some", "-1", "129"})
        check_refused({"--resident", pages},
                      "--resident is " + pages + ", permitted: all, none, or 0 to 128 pages");
}

TEST_CASE("other options out of range are refused", "[decode]") {
    check_refused({"--tokens", "0"}, "--tokens is 0, permitted: 1 to 8191");
    check_refused({"--tokens", "8192"}, "--tokens is 8192, permitted: 1 to 8191");
    check_refused({"--tokens", "12x"}, "--tokens is 12x, permitted: 1 to 8191");
    check_refused({"--tokens", "99999999999"}, "--tokens is 99999999999, permitted: 1 to 8191");
    check_refused({"--requests", "0"}, "--requests is 0, permitted: 1 to 64");
    check_refused({"--replacement", "random"}, "--replacement is random, permitted: lru, fifo");
    check_refused({"--backend", "tpu"}, "--backend is tpu, permitted: host, cuda");
    if (run(short_prompt({"--backend", "cuda", "--tokens", "1"})).code != 0)
        check_refused({"--backend", "cuda"}, "--backend is cuda, permitted: host (");
}

TEST_CASE("speculative rounds that can't be are refused", "[decode]") {
    for (const std::string k : {"0", "9", "-1", "some"})
        check_refused({"--speculate", k}, "--speculate is " + k + ", permitted: 1 to 8");
    check_refused({"--speculate", "8", "--schedule", "sometimes"},
                  "--schedule is sometimes, permitted: fixed, confidence");
    check_refused({"--schedule", "fixed"}, "--schedule is fixed, permitted: only with --speculate");
}

TEST_CASE("what is no option, or lacks its value, is refused", "[decode]") {
    check_refused({"--nonsense"}, "option is --nonsense, permitted: --help, --model, ");
    check_refused({"--nonsense=3", "--tokens", "3"}, "option is --nonsense=3, permitted: --help");
    check_refused({"stray"}, "option is stray, permitted: ");
    check_refused({"-q"}, "option is -q, permitted: ");
    check_refused({"--verify=3"}, "verify");
    check_refused({"--tokens"}, "--tokens: ");
}
