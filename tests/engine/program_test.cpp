// dhisparse-engine: what it reads, prints and writes, and what it refuses.
#include "program.hpp"

#include <algorithm>
#include <set>

using namespace dhisparse_test;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::string hello = R"({"prompt":"Once upon a time there was","tokens":4})" "\n";

void check_refused(const arguments& given, const std::string& message) {
    CAPTURE(given, message);
    const auto plain = run(given);
    CHECK(plain.code == 2);
    CHECK(plain.out.empty());
    CHECK(std::count(plain.err.begin(), plain.err.end(), '\n') == 1);
    CHECK_THAT(plain.err, ContainsSubstring("dhisparse-engine: ") && ContainsSubstring(message));
    const auto in_json = run(with({"--json"}, given));
    CHECK(in_json.code == 2);
    CHECK_THAT(json::parse(in_json.out).at("error").get<std::string>(), ContainsSubstring(message));
}

} // namespace

TEST_CASE("one JSON object has these keys and no others", "[engine]") {
    const scratch_folder folder;
    const auto got = served({"--requests", written(folder, "one.jsonl", hello)});
    std::set<std::string> keys;
    for (const auto& [key, value] : got.items()) keys.insert(key);
    CHECK(keys == std::set<std::string>{"requests", "finished", "aborted", "refused", "failed", "outputs_equal", "tokens", "tokens_per_s", "seconds", "steps", "rounds",
                                        "max_concurrent", "wait_p50_steps", "wait_p95_steps", "wait_max_steps", "parks", "resumes", "restarts", "reclaims",
                                        "reclaimed_pages", "refilled_pages", "shared_prefix_pages", "prefilled_positions", "proposed", "accepted", "host_rows",
                                        "violations", "pool_pages", "host_pages", "missing_pages", "replies", "metrics"});
    CHECK(got.at("tokens") == 4);
    CHECK(got.at("metrics").contains("plans_total"));
    CHECK(served({"--requests", written(folder, "one.jsonl", hello), "--no-compare"}).at("outputs_equal").is_null());
}

TEST_CASE("made requests are served, and the same command gives the same run", "[engine]") {
    const arguments few{"--made", "1", "--no-compare"};
    const auto result = [&](const arguments& more) {
        auto got = served(with(few, more));
        got.erase("seconds");
        got.erase("tokens_per_s");
        return got;
    };
    const auto once = result({"--seed", "7"});
    CHECK(once == result({"--seed", "7"}));
    CHECK(texts(once) != texts(result({"--seed", "8"})));
}

TEST_CASE("requests come when their lines say", "[engine]") {
    const scratch_folder folder;
    const auto lines = R"({"prompt":"a b c","tokens":2,"arrival_s":2})" "\n\n" R"({"prompt":"d","tokens":1,"arrival_step":7})" "\r\n" + hello;
    const auto got = served({"--requests", written(folder, "three.jsonl", lines), "--step-ms", "40"});
    std::vector<int> arrived, ended;
    for (const auto& reply : got.at("replies")) arrived.push_back(reply.at("arrived_step")), ended.push_back(reply.at("ended_step"));
    CHECK(arrived == std::vector{50, 7, 0});
    CHECK(ended[2] < 12);
    CHECK(ended[1] > 7);
    CHECK(ended[1] < 50);
    CHECK(ended[0] > 50);
    CHECK(number(got, "steps") < 40); // those without anything to do are skipped
    CHECK(got.at("replies")[0].at("tokens") == 2);
    CHECK(got.at("outputs_equal") == true);
}

TEST_CASE("traces of either format are served, scaled; equal blocks are shared", "[engine]") {
    const scratch_folder folder;
    const auto csv = written(folder, "a.csv", "arrival_s,input_tokens,output_tokens\n0.5,3000,40\n1.0,600,60\n9,1,1\n");
    const auto got = served({"--trace", csv, "--length-scale", "0.1", "--limit", "2", "--pool-pages", "40"});
    CHECK(number(got, "requests") == 2);
    CHECK(number(got, "tokens") == 4 + 6);
    CHECK(number(got, "prefilled_positions") == 300 + 60);
    CHECK(got.at("replies")[1].at("arrived_step") == 50);
    CHECK(got.at("outputs_equal") == true);
    const auto jsonl = written(folder, "a.jsonl", "{\"timestamp\": 0, \"input_length\": 1400, \"output_length\": 80, \"hash_ids\": [1, 2, 3]}\n"
                                                  "{\"timestamp\": 400, \"input_length\": 1500, \"output_length\": 8, \"hash_ids\": [1, 2, 4]}\n");
    const auto blocks = served({"--trace", jsonl, "--length-scale", "0.25", "--no-compare"});
    CHECK(number(blocks, "shared_prefix_pages") == 4); // two blocks of 128 positions
}

TEST_CASE("the table, the tokens as they come, a figure and metrics", "[engine]") {
    const scratch_folder folder;
    const auto svg = (folder / "out.svg").string(), metrics = (folder / "metrics.txt").string();
    const auto got = run({"--requests", written(folder, "one.jsonl", hello), "--stream", "--plot", svg, "--metrics", metrics, "--speculate", "2"});
    REQUIRE(got.code == 0);
    CHECK(got.err.empty());
    for (const char* text : {"[0] \"", "finished", "each is the one that its request has alone", "proposals accepted", "waits for admission"}) CHECK_THAT(got.out, ContainsSubstring(text));
    for (const char* text : {"<svg", "Pages by class", "optional history", "waiting or parked"}) CHECK_THAT(contents(svg), ContainsSubstring(text));
    CHECK_THAT(contents(metrics), ContainsSubstring("dhisparse_requests_total{event=\"finished\"} 1"));
}

TEST_CASE("help says what a line of requests may have", "[engine]") {
    const auto got = run({"--help"});
    CHECK(got.code == 0);
    for (const char* text : {"--requests", "--trace", "--pool-pages", "--backend", "--speculate", "arrival_step", "abort_after", "Exit code"}) CHECK_THAT(got.out, ContainsSubstring(text));
}

TEST_CASE("wrong input is refused in one line", "[engine]") {
    const scratch_folder folder;
    check_refused({"--pool-pages", "0"}, "--pool-pages is 0, permitted: 1 to");
    check_refused({"--pool-pages", "5", "--made", "1"}, "the pool has 5 pages; one request needs at least");
    check_refused({"--speculate", "9"}, "--speculate is 9, permitted: 1 to 8");
    check_refused({"--hot-rows", "300"}, "--hot-rows is 300, permitted: multiples of 64");
    check_refused({"--backend", "tpu"}, "--backend is tpu, permitted: host, cuda");
    check_refused({"--requests", "/nowhere"}, "--requests is /nowhere");
    check_refused({"--trace", "/nowhere.csv"}, "--trace is /nowhere.csv");
    check_refused({"--trace", "a.csv", "--requests", "b"}, "--trace is a.csv, permitted: only without --requests");
    check_refused({"--model", "/nowhere", "--made", "1"}, "/nowhere");
    check_refused({"--made", "x"}, "--made is x");
    check_refused({"--quick"}, "--quick");
    const std::pair<const char*, std::string> lines[] = {
        {"1: not a JSON object", "hello\n"},
        {"2: not a JSON object", hello + "[1]\n"},
        {"1: \"token\", permitted:", R"({"prompt":"a","token":1})"},
        {"1: no tokens", R"({"prompt":"a"})"},
        {"1: tokens is 0, permitted: 1 to 8191", R"({"prompt":"a","tokens":0})"},
        {"1: tokens is 8192, permitted: 1 to 8191", R"({"prompt":"a","tokens":8192})"},
        {"1: tokens is 1.5", R"({"prompt":"a","tokens":1.5})"},
        {"1: tokens is 18446744073709551615", R"({"prompt":"a","tokens":18446744073709551615})"},
        {"1: prompt of 0 bytes", R"({"prompt":"","tokens":1})"},
        {"1: prompt is not a text", R"({"prompt":7,"tokens":1})"},
        {"1: permitted: either prompt or file", R"({"tokens":1})"},
        {"1: permitted: either prompt or file", R"({"prompt":"a","file":"b","tokens":1})"},
        {"1: offset and length", R"({"prompt":"a","offset":1,"tokens":1})"},
        {"nowhere, permitted: a file", R"({"file":"nowhere","tokens":1})"},
        {"1: length is 9000", of_story(0, 9000, 1)},
        {"1: arrival_step and arrival_s", R"({"prompt":"a","tokens":1,"arrival_s":1,"arrival_step":1})"},
        {"1: arrival_s is -1", R"({"prompt":"a","tokens":1,"arrival_s":-1})"},
        {"1: arrival_step is \"now\"", R"({"prompt":"a","tokens":1,"arrival_step":"now"})"},
        {"1: abort_after is 0", R"({"prompt":"a","tokens":1,"abort_after":0})"},
        {"1: abort_step is 3, permitted: 5", R"({"prompt":"a","tokens":1,"arrival_step":5,"abort_step":3})"},
        {"1: prefix is 2, permitted: 0 to 1", R"({"prompt":"a","tokens":1,"prefix":2})"},
        {"one request at least", "\n"}};
    for (const auto& [message, text] : lines) check_refused({"--requests", written(folder, "w.jsonl", text)}, message);
    check_refused({"--trace", written(folder, "w.csv", "a,b\n")}, "w.csv:1: the first line");
    check_refused({"--requests", written(folder, "one.jsonl", hello), "--plot", "/nowhere/out.svg"}, "--plot is /nowhere/out.svg");
}
