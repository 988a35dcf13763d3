// dhisparse-replay: its figures on the generated trace, its files, its proof that nothing is lost, what it refuses.
#include "catch.hpp"
#include "run_program.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

using namespace dhisparse_test;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
using arguments = std::vector<std::string>;

namespace {

arguments with(arguments list, const arguments& more) {
    list.insert(list.end(), more.begin(), more.end());
    return list;
}

json replay(const std::string& mode, const arguments& more) {
    const auto got = run(with({"--json", "--mode", mode}, more));
    INFO("stdout: " << got.out << " stderr: " << got.err);
    REQUIRE(got.code == 0);
    CHECK(got.err.empty()); // no bar where stderr isn't a terminal
    const auto out = json::parse(got.out);
    CHECK(out.at("mode") == mode);
    CHECK(out.at("lost_rows") == 0);
    CHECK(out.at("budget_violations") == 0);
    CHECK(out.at("finished") == out.at("requests"));
    return out;
}
double number(const json& object, const char* key) { return object.at(key).get<double>(); }

void check_refused(const arguments& given, const std::string& message) {
    CAPTURE(given, message);
    const auto plain = run(given);
    CHECK(plain.code == 2);
    CHECK(plain.out.empty());
    CHECK(std::count(plain.err.begin(), plain.err.end(), '\n') == 1);
    CHECK_THAT(plain.err, ContainsSubstring("dhisparse-replay: ") && ContainsSubstring(message));
    const auto in_json = run(with({"--json"}, given));
    CHECK(in_json.code == 2);
    CHECK_THAT(json::parse(in_json.out).at("error").get<std::string>(), ContainsSubstring(message));
}

std::string written(const scratch_folder& folder, const char* name, const std::string& text) {
    const auto file = folder / name;
    std::ofstream(file) << text;
    return file.string();
}

/// Two groups of small rows, of 1 and of 4 positions, with index keys.
constexpr const char* small_shape = R"({"name":"small","layers":3,"k":16,"page_positions":16,
 "sources":[{"layer":0,"row_bytes":48,"index_key_bytes":16},{"layer":1,"row_bytes":48},{"layer":2,"row_bytes":48,"positions_per_row":4}],
 "groups":[[0,1],[2]],"announcements":[{"layer":0,"group":0,"consumers":[0,1]},{"layer":2,"group":1,"consumers":[2]}]})";

/// Of a mode's table of figures.
double figure(const std::string& table, const std::string& line) {
    const auto at = table.find("\n" + line + ' ');
    REQUIRE(at != std::string::npos);
    return std::stod(table.substr(at + 1 + line.size()));
}

/// A run with real rows that loses none, as its table.
std::string run_small(const std::string& shape, const arguments& more) {
    const auto got = run(with({"--model", shape, "--real-bytes", "--mode", "adaptive", "--hot-rows", "64", "--speed", "1000", "--metadata-gib", "0.01"}, more));
    INFO("stdout: " << got.out << " stderr: " << got.err);
    REQUIRE(got.code == 0);
    CHECK(figure(got.out, "finished") == figure(got.out, "requests"));
    CHECK(figure(got.out, "lost rows") == 0);
    CHECK(figure(got.out, "budget violations") == 0);
    return got.out;
}

/// Survival of the acceptance figures' mean.
constexpr const char* acceptance = R"({"records":[{"survival":[0.73,0.55,0.41,0.32,0.26,0.21,0.17]}]})";

const arguments as_published{"--row-bytes", "576", "--requests", "400"};
const arguments small_pool{"--pool-gib", "0.0005", "--host-gib", "0.01", "--hot-rows", "64", "--slots", "8", "--keep", "4", "--context-scale", "0.02"};

} // namespace

TEST_CASE("one JSON object has these keys and no others", "[replay]") {
    const auto got = replay("adaptive", {"--requests", "20"});
    std::set<std::string> keys;
    for (const auto& [key, value] : got.items()) keys.insert(key);
    CHECK(keys == std::set<std::string>{"mode", "requests", "finished", "lost_rows", "max_concurrent", "mean_concurrent", "wait_p50_s", "wait_p95_s", "tokens_per_s",
                                        "tpot_p50_ms", "reclaims", "reclaimed_pages", "refilled_pages", "budget_violations"});
    CHECK(got.at("requests") == 20);
}

TEST_CASE("where everything fits adaptive is as fast as resident", "[replay]") {
    const arguments few{"--speed", "100", "--service", "azure-code"};
    const auto adaptive = replay("adaptive", with(as_published, few)), resident = replay("resident", with(as_published, few));
    CHECK(adaptive.at("reclaimed_pages") == 0);
    CHECK(number(adaptive, "tokens_per_s") >= 0.98 * number(resident, "tokens_per_s"));
    CHECK(number(adaptive, "tpot_p50_ms") > number(resident, "tpot_p50_ms")); // it resolves
}

TEST_CASE("where requests wait adaptive is as good as the better of the fixed modes", "[replay]") {
    for (const char* speed : {"1", "1000"}) {
        const auto more = with(as_published, {"--speed", speed});
        const auto adaptive = replay("adaptive", more), resident = replay("resident", more), hot_only = replay("hot-only", more);
        CAPTURE(speed, adaptive.dump(), resident.dump(), hot_only.dump());
        CHECK(number(adaptive, "tokens_per_s") >= 0.99 * std::max(number(resident, "tokens_per_s"), number(hot_only, "tokens_per_s")));
        const bool waits = number(resident, "wait_p50_s") > 1;
        CHECK(waits == (std::string(speed) == "1000"));
    }
}

TEST_CASE("at 100 K contexts adaptive has five times resident's sessions", "[replay]") {
    const arguments more{"--row-bytes", "576", "--context", "100000", "--output", "800", "--requests", "260", "--speed", "1000", "--pool-gib", "90"};
    const auto adaptive = replay("adaptive", more), resident = replay("resident", more);
    CHECK(number(resident, "max_concurrent") >= 18);
    CHECK(number(resident, "max_concurrent") <= 21);
    CHECK(number(adaptive, "max_concurrent") >= 5 * number(resident, "max_concurrent"));
    CHECK(number(adaptive, "mean_concurrent") >= 5 * number(resident, "mean_concurrent"));
    CHECK(number(adaptive, "tokens_per_s") >= 3 * number(resident, "tokens_per_s"));
    CHECK(number(adaptive, "reclaims") > 0);
}

TEST_CASE("real rows: adaptive has five times resident's sessions where outputs are long", "[replay]") {
    const scratch_folder folder;
    const auto shape = written(folder, "small.json", small_shape);
    const arguments more{"--pool-gib", "0.002", "--host-gib", "0.05", "--slots", "64", "--context", "4096", "--output", "800", "--requests", "60"};
    const auto adaptive = run_small(shape, more);
    const auto resident = replay("resident", with(more, {"--model", shape, "--hot-rows", "64", "--speed", "1000", "--metadata-gib", "0.01"}));
    CHECK(resident.at("max_concurrent") == 3);
    CHECK(figure(adaptive, "concurrent sessions, mean") >= 5 * number(resident, "mean_concurrent"));
    CHECK(figure(adaptive, "tokens/s") >= 5 * number(resident, "tokens_per_s"));
}

TEST_CASE("requests whose index keys outgrow the pool are parked, or restarted where the host tier is full", "[replay]") {
    const scratch_folder folder;
    const auto shape = written(folder, "small.json", small_shape);
    const arguments grows{"--pool-gib", "0.0002", "--slots", "8", "--context", "100", "--output", "1600", "--requests", "24"};
    const auto parked = run_small(shape, with(grows, {"--host-gib", "0.01"}));
    CHECK(figure(parked, "requests parked") > 0);
    CHECK(figure(parked, "requests restarted") == 0);
    CHECK(figure(parked, "concurrent sessions, most") == 8);
    const auto restarted = run_small(shape, with(grows, {"--host-gib", "0.0005"}));
    CHECK(figure(restarted, "requests restarted") > 0);
    CHECK(figure(restarted, "tokens/s") < figure(parked, "tokens/s")); // what was generated is generated again
}

TEST_CASE("the last request may be one that is refused", "[replay]") {
    const scratch_folder folder;
    const auto csv = written(folder, "a.csv", "arrival_s,input_tokens,output_tokens\n0,100,10\n1,200000000,10\n");
    const auto got = run({"--json", "--trace", csv});
    REQUIRE(got.code == 0);
    CHECK(json::parse(got.out).at("finished") == 1);
}

TEST_CASE("OB-10 twice the host bytes a row make a step slower", "[replay]") {
    const arguments once_row{"--host-row-bytes", "2304"}, twice_row{"--host-row-bytes", "4608"};
    const auto calm = with(as_published, {"--speed", "5"}), more = with(as_published, {"--speed", "1000"});
    CHECK(number(replay("hot-only", with(calm, twice_row)), "tpot_p50_ms") > 1.01 * number(replay("hot-only", with(calm, once_row)), "tpot_p50_ms"));
    for (const char* mode : {"adaptive", "hot-only"})
        CHECK(number(replay(mode, with(more, twice_row)), "tokens_per_s") < 0.99 * number(replay(mode, with(more, once_row)), "tokens_per_s"));
    const auto once = replay("resident", with(more, {"--host-row-bytes", "2304"})), twice = replay("resident", with(more, {"--host-row-bytes", "4608"}));
    CHECK(once == twice);
}

TEST_CASE("real rows survive reclaim, refill, growth and shared prefixes", "[replay]") {
    const scratch_folder folder;
    const auto shape = written(folder, "small.json", small_shape);
    for (const char* mode : {"adaptive", "hot-only", "resident"})
        for (const char* k : {"1", "3"}) {
            const auto got = replay(mode, with(small_pool, {"--real-bytes", "--model", shape, "--speculate", k, "--speed", "10", "--requests", "60"}));
            CAPTURE(got.dump());
            if (std::string(mode) == "adaptive") CHECK((number(got, "reclaimed_pages") > 0 && number(got, "refilled_pages") > 0));
        }
}

TEST_CASE("the same command gives the same figures", "[replay]") {
    const auto once = replay("adaptive", {"--requests", "60", "--seed", "7"});
    CHECK(once == replay("adaptive", {"--requests", "60", "--seed", "7"}));
    CHECK(once != replay("adaptive", {"--requests", "60", "--seed", "8"}));
}

TEST_CASE("accepted proposals make tokens faster", "[replay]") {
    const scratch_folder folder;
    const auto none = written(folder, "none.json", R"({"records":[{"survival":[0]}]})");
    const auto all = written(folder, "all.json", R"({"records":[{"conditional":[1]},{"method":"without rates"}]})");
    const arguments few{"--requests", "60", "--speed", "100", "--service", "azure-conversation"};
    const auto plain = replay("adaptive", few);
    const auto with_none = replay("adaptive", with(few, {"--speculate", "4", "--acceptance", none}));
    const auto with_all = replay("adaptive", with(few, {"--speculate", "4", "--acceptance", all}));
    CHECK(number(with_none, "tpot_p50_ms") > number(plain, "tpot_p50_ms"));
    CHECK(number(with_all, "tpot_p50_ms") < 0.35 * number(with_none, "tpot_p50_ms"));
}

TEST_CASE("online is within 3 % of the best fixed width at every load, and above the published schedule", "[replay]") {
    const scratch_folder folder;
    const auto rates = written(folder, "rates.json", acceptance);
    double overall = 1;
    for (const char* speed : {"5", "30", "1000"}) {
        const auto at = [&](const char* k) {
            return number(replay("adaptive", with(as_published, {"--speed", speed, "--service", "azure-conversation", "--slots", "200", "--speculate", k, "--acceptance", rates})), "tokens_per_s");
        };
        const auto online = at("online"), scheduled = at("schedule");
        double best = 0;
        for (const char* k : {"2", "4", "5", "6", "7", "8"}) best = std::max(best, at(k));
        CAPTURE(speed, online, scheduled, best);
        CHECK(online >= 0.97 * best);
        overall *= online / scheduled;
    }
    CHECK(overall > 1);
}

TEST_CASE("a round is as wide as the schedule has it, and rings and staging come off the pool", "[replay]") {
    const auto plain = run(with(as_published, {"--mode", "adaptive", "--speed", "5"}));
    const auto few = run(with(as_published, {"--mode", "adaptive", "--service", "azure-code", "--speculate", "schedule"}));
    const auto many = run(with(as_published, {"--mode", "adaptive", "--speed", "1000", "--speculate", "schedule"}));
    CHECK(figure(plain.out, "queries a round, mean") == 1);
    CHECK(figure(few.out, "queries a round, mean") == 8);
    CHECK(figure(many.out, "queries a round, mean") < 5);
    CHECK_THAT(plain.out, ContainsSubstring("33447 pages") && ContainsSubstring("K = 1\n"));
    // 256 x (2,176 ring rows of 12,288 bytes + (8 x 2,048 - 4,096) staged rows in four lanes of 576)
    CHECK_THAT(many.out, ContainsSubstring("K = by schedule, at most 8; rings and staging 13.12 GiB of the pool") && ContainsSubstring("28569 pages"));
}

TEST_CASE("widths are compared at each speed, in a table and a figure", "[replay]") {
    const scratch_folder folder;
    const auto svg = (folder / "out.svg").string();
    const auto got = run({"--mode", "adaptive", "--requests", "40", "--widths", "1,100", "--plot", svg, "--query-ms", "0.045", "--draft-ms", "1.5"});
    INFO(got.err);
    REQUIRE(got.code == 0);
    for (const char* text : {"K = 1", "K = 8", "schedule", "online", "o/best", "\n       1", "\n     100", "Overall", "--query-ms 0.045", "--draft-ms 1.5"}) CHECK_THAT(got.out, ContainsSubstring(text));
    for (const char* text : {"mooncake-conversation: tokens a second", "of the best fixed width", "time of a token", ">K = 8<", ">online<"}) CHECK_THAT(contents(svg), ContainsSubstring(text));
}

TEST_CASE("traces come from files of either format", "[replay]") {
    const scratch_folder folder;
    const auto csv = written(folder, "a.csv", "arrival_s,input_tokens,output_tokens\n0.5,100,10\r\n10.5,2000,20\n");
    const auto jsonl = written(folder, "a.jsonl", "{\"timestamp\": 500, \"input_length\": 100, \"output_length\": 10, \"hash_ids\": [1]}\n"
                                                  "{\"timestamp\": 10500, \"input_length\": 2000, \"output_length\": 20, \"hash_ids\": [1, 2, 3, 4]}\n");
    for (const auto& file : {csv, jsonl}) {
        const auto got = replay("resident", {"--trace", file});
        CHECK(got.at("requests") == 2);
        const double step_s = 0.018 + 0.00006;
        CHECK(number(got, "tokens_per_s") == Approx(30 / (10 + 20 * step_s)).epsilon(1e-6));
        CHECK(number(got, "mean_concurrent") == Approx(30 * step_s / (10 + 20 * step_s)).epsilon(1e-6));
        const auto faster = replay("resident", {"--trace", file, "--speed", "2"});
        CHECK(number(faster, "tokens_per_s") == Approx(30 / (5 + 20 * step_s)).epsilon(1e-6));
    }
}

TEST_CASE("a request larger than the memory is refused, and holds nobody up", "[replay]") {
    const scratch_folder folder;
    const auto csv = written(folder, "a.csv", "arrival_s,input_tokens,output_tokens\n0,200000000,10\n1,100,10\n");
    const auto got = run({"--json", "--trace", csv});
    REQUIRE(got.code == 0);
    CHECK(json::parse(got.out).at("requests") == 2);
    CHECK(json::parse(got.out).at("finished") == 1);
}

TEST_CASE("the table has all modes side by side, the costs, and a figure", "[replay]") {
    const scratch_folder folder;
    const auto svg = (folder / "out.svg").string();
    const auto got = run({"--requests", "40", "--plot", svg, "--warm-miss", "0.003"});
    REQUIRE(got.code == 0);
    for (const char* text : {"adaptive", "resident", "hot-only", "--step-ms 18", "--warm-miss 0.003", "--link-gb-s 50", "tokens/s", "p99"}) CHECK_THAT(got.out, ContainsSubstring(text));
    for (const char* text : {"<svg", "Pages by class, adaptive", "Pages by class, hot-only", "optional history", "free", "Sessions"}) CHECK_THAT(contents(svg), ContainsSubstring(text));
}

TEST_CASE("wrong input is refused in one line", "[replay]") {
    const scratch_folder folder;
    check_refused({"--mode", "fast"}, "--mode is fast, permitted: adaptive, resident, hot-only");
    check_refused({"--model", "glm-9"}, "--model is glm-9");
    check_refused({"--pool-gib", "-1"}, "--pool-gib is -1");
    check_refused({"--pool-gib", "0.001"}, "less than one page");
    check_refused({"--speed", "nan"}, "--speed is nan");
    check_refused({"--hot-rows", "100"}, "multiples of 64");
    check_refused({"--speculate", "0"}, "--speculate is 0, permitted: 1 to 64");
    check_refused({"--speculate", "offline"}, "--speculate is offline, permitted: 1 to 64, schedule, online");
    check_refused({"--metadata-gib", "0"}, "--metadata-gib is 0");
    check_refused({"--acceptance", "x"}, "only with --speculate");
    check_refused({"--speculate", "2", "--acceptance", "/nowhere"}, "--acceptance is /nowhere");
    check_refused({"--warm-miss", "2"}, "--warm-miss is 2, permitted: 0 to 1");
    check_refused({"--service", "x"}, "--service is x");
    check_refused({"--requests", "0"}, "--requests is 0");
    check_refused({"--real-bytes"}, "--real-bytes: both tiers together");
    check_refused({"--trace", "/nowhere.csv"}, "--trace is /nowhere.csv");
    check_refused({"--trace", "trace.txt"}, ".csv or .jsonl");
    check_refused({"--trace", "a.csv", "--context", "5"}, "only without --trace");
    check_refused({"--requests", "1", "--pool-gib", "12", "--speculate", "8"}, "bytes beside what speculation takes");
    check_refused({"--requests", "1", "--plot", "/nowhere/out.svg"}, "--plot is /nowhere/out.svg");
    check_refused({"--sped", "2"}, "--sped");
    CHECK_THAT(run({"--widths", "1,x"}).err, ContainsSubstring("--widths is x"));
    CHECK_THAT(run({"--widths", "1", "--speculate", "4"}).err, ContainsSubstring("only without --speculate"));
    CHECK(run({"--widths", "1", "--json"}).code == 2);
    const std::string header = "arrival_s,input_tokens,output_tokens\n";
    const std::pair<const char*, std::string> files[] = {
        {"1: the first line", "a,b,c\n"},           {"2: not three numbers", header + "0,1\n"},     {"2: not three numbers", header + "0,1,2,3\n"},
        {"3: arrival at", header + "5,1,1\n4,1,1\n"}, {"2: input of 0", header + "0,0,1\n"}, {"2: output of -1", header + "0,1,-1\n"}, {"2: arrival at", header + "nan,1,1\n"}};
    for (const auto& [message, text] : files) check_refused({"--trace", written(folder, "w.csv", text)}, std::string("w.csv:") + message);
    const std::pair<const char*, std::string> objects[] = {
        {"1: not a JSON object", "[]\n"},
        {"1: no number timestamp", "{\"input_length\": 1, \"output_length\": 1}\n"},
        {"1: input_length is not a whole", "{\"timestamp\": 0, \"input_length\": 1.5, \"output_length\": 1}\n"},
        {"1: hash_ids has 1 ids", "{\"timestamp\": 0, \"input_length\": 600, \"output_length\": 1, \"hash_ids\": [1]}\n"}};
    for (const auto& [message, text] : objects) check_refused({"--trace", written(folder, "w.jsonl", text)}, std::string("w.jsonl:") + message);
}
