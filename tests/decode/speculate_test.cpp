// Speculative rounds: the bytes of plain decoding, the rounds of golden.json, and what is counted.
#include "golden.hpp"

#include <decode/copy_history.hpp>
#include <decode/machine.hpp>
#include <decode/speculate.hpp>

#include <cmath>
#include <fstream>

using namespace decode_test;

namespace {

std::int64_t number(const json& object, const char* name) {
    return object.at(name).get<std::int64_t>();
}

/// Through the program with a hot cache that holds every union, so that all rows are compared.
json speculate(const std::string& k, std::vector<std::string> more) {
    more.insert(more.end(), {"--speculate", k, "--verify"});
    if (std::find(more.begin(), more.end(), "--hot-rows") == more.end())
        more.insert(more.end(), {"--hot-rows", std::to_string(256 * std::stoi(k))});
    return run_json(more);
}

/// What holds of every exact run whose prompts are longer than k.
void check_counts(const json& got, int k_max) {
    CAPTURE(got.dump());
    CHECK(got.at("exact") == true);
    CHECK(got.at("k_max") == k_max);
    const auto rounds = number(got, "rounds"), queries = rounds + number(got, "proposed");
    CHECK(number(got, "selected") == 4 * 256 * queries);
    CHECK(number(got, "rows_verified") == number(got, "selected"));
    CHECK(number(got, "host") == number(got, "host_rows_selected"));
    CHECK(number(got, "host_rows_distinct") <= number(got, "host_rows_selected"));
    CHECK(number(got, "proposed") <= (k_max - 1) * rounds);
    CHECK(number(got, "accepted") <= number(got, "proposed"));
    CHECK(got.at("mean_accepted").get<double>() ==
          Approx(static_cast<double>(number(got, "accepted")) / static_cast<double>(rounds)));
    CHECK(got.at("union_mean").get<double>() >= 256);
    CHECK(got.at("union_mean").get<double>() <= static_cast<double>(number(got, "union_max")));
    CHECK(number(got, "union_max") <= 256 * k_max);
    CHECK(number(got, "ring_rows") == (k_max == 1 ? 320 : 384)); // 64 * ceil((256 + K + 63) / 64)
    const auto bytes = number(got, "new_tokens") * number(got, "requests");
    CHECK(rounds + number(got, "accepted") >= bytes); // those behind the last wanted one are cut
    CHECK(rounds <= bytes);
}

json golden_rounds(std::size_t prompt) {
    const auto all = json::parse(contents(DHISPARSE_DATA_DIR "/golden.json"));
    return all.at("prompts").at(prompt).at("rounds_k8");
}

/// As many new bytes as all golden rounds of the prompt make.
int golden_bytes(std::size_t prompt) {
    int n = 0;
    for (const auto& round : golden_rounds(prompt))
        n += round.at("accepted").get<int>() + 1;
    return n;
}

void check_golden_counts(std::size_t prompt) {
    auto golden = golden_prompt(prompt);
    golden.text.resize(static_cast<std::size_t>(golden_bytes(prompt)));
    const auto got = speculate("8", golden.arguments({}));
    check_counts(got, 8);
    const auto rounds = static_cast<int>(golden_rounds(prompt).size());
    CHECK(got.at("rounds") == rounds);
    CHECK(got.at("proposed") == 7 * rounds);
    CHECK(got.at("accepted") == golden_bytes(prompt) - rounds);
    CHECK(bytes_of(got.at("text")) == golden.text);
}

} // namespace

TEST_CASE("any K gives the bytes of plain decoding", "[decode]") {
    const auto plain = run_json(short_prompt({"--tokens", "64", "--hot-rows", "256"}));
    std::int64_t rounds = 65;
    for (const std::string k : {"1", "3", "8"}) {
        const auto got = speculate(k, short_prompt({"--tokens", "64"}));
        check_counts(got, std::stoi(k));
        CHECK(got.at("text") == plain.at("text"));
        CHECK(number(got, "rounds") < rounds);
        rounds = number(got, "rounds");
        if (k != "1") continue;
        CHECK(got.at("accepted") == 0);
        for (const char* name : {"selected", "tail", "history", "hot", "host", "miss_rate",
                                 "host_bytes_per_token", "resident_bytes"})
            CHECK(got.at(name) == plain.at(name));
        const std::int64_t ring_bytes = 2 * 2 * 320 * 512; // layers, K and V, rows
        CHECK(number(got, "fast_bytes") >= number(plain, "fast_bytes") + ring_bytes);
        CHECK(number(got, "fast_bytes") < number(plain, "fast_bytes") + ring_bytes + 1024 +
                                              number(got, "staging_bytes"));
    }
}

TEST_CASE("a union larger than the hot cache is staged, whatever B", "[decode]") {
    for (const std::string hot_rows : {"256", "512", "1024"}) {
        const auto got = speculate("8", short_prompt({"--tokens", "24", "--hot-rows", hot_rows, "--resident", "none"}));
        check_counts(got, 8);
        CHECK((number(got, "staged") > 0) == (number(got, "union_max") > std::stoi(hot_rows)));
        CHECK(number(got, "promoted") <= number(got, "staged"));
        CHECK(number(got, "staging_bytes") > 0);
    }
}

TEST_CASE("requests accept different lengths, and the faster ones wait in the end", "[decode]") {
    const auto three = speculate("4", short_prompt({"--tokens", "40", "--requests", "3"}));
    check_counts(three, 4);
    const auto alone = speculate("4", short_prompt({"--tokens", "40"}));
    CHECK(three.at("text") == alone.at("text"));
    CHECK(number(three, "rounds") > 2 * number(alone, "rounds"));
}

TEST_CASE("CR-04 a confident prefix leaves out proposals, of which nothing is left", "[decode]") {
    const auto fixed = speculate("8", short_prompt({"--tokens", "64", "--schedule", "fixed"}));
    const auto sure = speculate("8", short_prompt({"--tokens", "64", "--schedule", "confidence"}));
    check_counts(sure, 8);
    CHECK(sure.at("text") == fixed.at("text"));
    CHECK(number(sure, "proposed") < number(fixed, "proposed"));
    CHECK(number(sure, "proposed") > 0);
    const auto hits = [](const json& run) {
        return static_cast<double>(number(run, "accepted")) / static_cast<double>(number(run, "proposed"));
    };
    CHECK(hits(sure) > hits(fixed));
}

TEST_CASE("a schedule takes the whole block, or what the drafter is sure of", "[decode]") {
    std::vector<float> logits(4 * 256, 0); // K = 4; slot 0 means nothing
    const auto sure_of = [&](std::size_t slot, double probability) { // of byte 7, the rest alike
        logits[slot * 256 + 7] = static_cast<float>(std::log(probability * 255 / (1 - probability)));
    };
    sure_of(1, 0.9);
    sure_of(2, 0.8);
    sure_of(3, 0.5);
    CHECK(decode::fixed_block(logits) == 3);
    CHECK(decode::confident_prefix{0.91}(logits) == 0);
    CHECK(decode::confident_prefix{0.89}(logits) == 1);
    CHECK(decode::confident_prefix{0.73}(logits) == 1);
    CHECK(decode::confident_prefix{0.71}(logits) == 2);
    CHECK(decode::confident_prefix{0.35}(logits) == 3);
}

TEST_CASE("a union counts each row once", "[decode]") {
    decode::union_counts counts;
    const std::vector<std::int32_t> two{5, 9, -1, 5, -1, 9}, three{9, 8, 7, 7};
    counts.add(two);
    counts.add(three);
    CHECK(counts.mean() == 2.5);
    CHECK(counts.max() == 3);
}

TEST_CASE("prompts that are shorter than the drafter's window decode", "[decode]") {
    for (const std::string length : {"1", "64", "250"}) {
        const auto got = speculate("4", {"--length", length, "--tokens", "12"});
        CAPTURE(got.dump());
        CHECK(got.at("exact") == true);
        CHECK(got.at("rows_verified") == got.at("selected"));
    }
}

TEST_CASE("rounds of prompt 1 are the golden ones, proposal by proposal", "[decode]") {
    using session = decode::session<decode::host_machine, decode::dh::default_policies>;
    const auto golden = golden_prompt(0);
    const auto rounds = golden_rounds(0);
    const int n_tokens = golden_bytes(0);
    const decode::dh::demand each{golden.length, n_tokens + 7};
    decode::dh::hierarchy_config config{.shape = decode::tiny_shape(), .pool_pages = 24, .steps_ahead = 0};
    auto tiered_config = config;
    tiered_config.host_pages = 12;
    tiered_config.hot_pages = 32;
    tiered_config.pool_pages = 40;
    tiered_config.k_max = 8;
    session resident(config, each), tiered(tiered_config, each);
    auto model = tiny_dsa::model::load(DHISPARSE_DATA_DIR);
    decode::block_drafting drafting(tiny_dsa::drafter::load(DHISPARSE_DATA_DIR, model), 1, 8, decode::fixed_block);
    const auto story = contents(DHISPARSE_DATA_DIR "/story.txt").substr(static_cast<std::size_t>(golden.offset), static_cast<std::size_t>(golden.length));
    const std::vector<decode::bytes> prompts{{story.begin(), story.end()}};
    const auto first = decode::prefill(resident, model, prompts, [](int) {},
                                       [&](auto tokens, auto features) { drafting.fill(tokens, features); });
    decode::copy_history(resident, tiered);
    std::size_t i = 0;
    decode::host_verifier verifier(tiered, model, nullptr);
    decode::speculative_decoder decoder(tiered, verifier, drafting, [&](const decode::round_seen& seen) {
        REQUIRE(i < rounds.size());
        const auto& expected = rounds.at(i++);
        CHECK(seen.anchor.position == expected.at("position"));
        CHECK(seen.anchor.byte == expected.at("anchor"));
        CHECK(decode::bytes(seen.proposed.begin(), seen.proposed.end()) == expected.at("proposed").get<decode::bytes>());
        CHECK(decode::bytes(seen.target.begin(), seen.target.end()) == expected.at("target").get<decode::bytes>());
        CHECK(seen.accepted == expected.at("accepted"));
    });
    decoder.decode(first, n_tokens, [](std::span<const std::uint8_t>) {});
    CHECK(i == rounds.size());
}

TEST_CASE("prompt 2 speculates as the golden rounds do", "[decode][slow]") { check_golden_counts(1); }
TEST_CASE("prompt 3 speculates as the golden rounds do", "[decode][slow]") { check_golden_counts(2); }

TEST_CASE("rounds get narrower where the context ends", "[decode][slow]") {
    const scratch_folder folder;
    const auto file = (folder / "prompt").string();
    const auto story = contents(DHISPARSE_DATA_DIR "/story.txt");
    std::ofstream(file) << (story + story).substr(0, 8172);
    const auto got = speculate("8", {"--prompt", file, "--tokens", "20"});
    check_counts(got, 8);
    CHECK(number(got, "proposed") < 7 * number(got, "rounds"));
}
