// What the program prints: text and census, one JSON object, help.
#include "program.hpp"

using namespace decode_test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("the text comes first, then a census", "[decode]") {
    const auto got =
        run(short_prompt({"--tokens", "20", "--hot-rows", "256", "--verify", "--requests", "2"}));
    CHECK(got.code == 0);
    const auto object = run_json(short_prompt({"--tokens", "20"}));
    const auto text = got.out.find(bytes_of(object.at("text"))),
               census = got.out.find("--- census");
    CHECK(text < census);
    for (const char* part :
         {"--- prompt: 594 bytes", "--- new text of request 2", "tail", "optional history",
          "hot cache", "host (misses)", "miss rate", "host bytes a token", "fast memory",
          "tokens/s", "rows verified", "exact: yes"})
        CHECK_THAT(got.out, ContainsSubstring(part));
    CHECK_THAT(got.err, ContainsSubstring("prefill"));
}

TEST_CASE("the JSON object has the promised members, and progress is not on stdout", "[decode]") {
    const auto got = run_json(short_prompt({"--tokens", "2"}));
    std::vector<std::string> names;
    for (const auto& item : got.items())
        names.push_back(item.key());
    CHECK(names == std::vector<std::string>{"backend", "exact", "fast_bytes", "history", "host",
                                            "host_bytes_per_token", "hot", "miss_rate",
                                            "new_tokens", "prompt_tokens", "requests",
                                            "resident_bytes", "rows_verified", "selected", "tail",
                                            "text", "tokens_per_s"});
    CHECK(got.at("rows_verified") == 0); // not asked for
    auto with_rounds = run_json(short_prompt({"--tokens", "2", "--speculate", "1"}));
    for (const char* name :
         {"k_max", "rounds", "proposed", "accepted", "mean_accepted", "union_mean", "union_max",
          "staged", "promoted", "host_rows_distinct", "host_rows_selected", "ring_rows",
          "staging_bytes"})
        CHECK(with_rounds.erase(name) == 1);
    CHECK(with_rounds.size() == names.size());
}

TEST_CASE("the census says how rounds went", "[decode]") {
    const auto got = run(short_prompt({"--tokens", "9", "--speculate", "2", "--requests", "2"}));
    CHECK(got.code == 0);
    for (const char* part : {"rounds", "of up to 2 queries", "accepted", "union of a round",
                             "staged", "draft ring", "384 rows a request", "exact: yes"})
        CHECK_THAT(got.out, ContainsSubstring(part));
    const auto object = run_json(short_prompt({"--tokens", "9", "--speculate", "2"}));
    CHECK_THAT(got.out, ContainsSubstring(bytes_of(object.at("text"))));
}

TEST_CASE("a prompt file of one's own is taken whole, and need not be text", "[decode]") {
    const scratch_folder folder;
    const auto file = (folder / "prompt").string();
    std::string all;
    for (int i = 0; i < 300; ++i)
        all += static_cast<char>(255 - i % 256);
    std::ofstream(file, std::ios::binary) << all;
    const auto got = run_json({"--prompt", file, "--tokens", "30", "--verify"});
    CHECK(got.at("prompt_tokens") == 300);
    CHECK(got.at("exact") == true);
    CHECK(bytes_of(got.at("text")).size() == 30);
}

TEST_CASE("help names every option and the exit codes", "[decode]") {
    const auto got = run({"--help"});
    CHECK(got.code == 0);
    CHECK(got.err.empty());
    for (const char* part : {"--model", "--prompt", "--offset", "--length", "--tokens",
                             "--hot-rows", "--resident", "--pool-pages", "--replacement",
                             "--requests", "--backend", "--speculate", "--schedule", "--verify", "--json", "Exit code"})
        CHECK_THAT(got.out, ContainsSubstring(part));
}

TEST_CASE("a full disk is an error", "[decode]") {
    const scratch_folder folder;
    const auto err = (folder / "err").string();
    const auto command =
        std::string(DHISPARSE_PROGRAM) + " --length 10 --tokens 2 --json >/dev/full 2>" + err;
    CHECK(WEXITSTATUS(std::system(command.c_str())) == 2);
}
