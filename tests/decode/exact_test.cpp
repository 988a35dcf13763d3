// The main job with every size of hot cache and of optional history: exact, verified, and the
// counts add up.
#include "program.hpp"

using namespace decode_test;

namespace {

constexpr int n_short = 24, row_bytes = 256, page_bytes = 10 * 64 * row_bytes;

/// What holds of every exact run with --verify whose prompt is longer than k.
void check_counts(const json& got, int requests, int tokens) {
    CAPTURE(got.dump());
    CHECK(got.at("exact") == true);
    CHECK(got.at("backend") == "host");
    CHECK(got.at("requests") == requests);
    CHECK(got.at("new_tokens") == tokens);
    const auto n = [&](const char* name) { return got.at(name).get<std::int64_t>(); };
    CHECK(n("selected") == std::int64_t{4} * 256 * tokens * requests);
    CHECK(n("selected") == n("tail") + n("history") + n("hot") + n("host"));
    CHECK(n("rows_verified") == n("selected"));
    CHECK(got.at("miss_rate").get<double>() ==
          Approx(static_cast<double>(n("host")) / static_cast<double>(n("selected"))));
    CHECK(n("fast_bytes") % page_bytes == 0);
    CHECK(n("resident_bytes") % page_bytes == 0);
    CHECK(got.at("tokens_per_s") > 0);
    CHECK(bytes_of(got.at("text")).size() == static_cast<std::size_t>(tokens));
}

json run_short(const std::vector<std::string>& more) {
    auto arguments = short_prompt({"--tokens", std::to_string(n_short), "--verify"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_json(arguments);
}

} // namespace

TEST_CASE("decoding is exact with any hot cache and any optional history", "[decode]") {
    const auto [rows, pages] = GENERATE(table<std::string, std::string>({{"256", "none"}, {"256", "all"}, {"512", "3"}, {"1024", "none"}, {"1024", "3"}})); // all of them: below
    const auto got = run_short({"--hot-rows", rows, "--resident", pages});
    check_counts(got, 1, n_short);
    CHECK(got.at("prompt_tokens") == 594);
    const int index_pages = 1 + (594 + n_short > 640), prompt_pages = 10, tail_pages = 2;
    CHECK(got.at("resident_bytes") == (prompt_pages + index_pages) * page_bytes);
    const int required = std::stoi(rows) / 64 + tail_pages + index_pages;
    if (pages == "none") {
        CHECK(got.at("fast_bytes") == required * page_bytes);
        CHECK(got.at("history") == 0);
        CHECK(got.at("host") > 0);
        CHECK(got.at("host_bytes_per_token") > 0);
    } else if (pages == "3") {
        CHECK(got.at("fast_bytes") == (required + 3) * page_bytes);
        CHECK(got.at("history") > 0);
        CHECK(got.at("host") > 0);
    } else {
        CHECK(got.at("history") > 0);
        CHECK(got.at("hot") == 0);
        CHECK(got.at("host") == 0);
        CHECK(got.at("host_bytes_per_token") == 0);
    }
}

TEST_CASE("a larger hot cache misses less, and fifo more than lru", "[decode]") {
    const auto host = [](const std::vector<std::string>& more) {
        return run_short(more).at("host").get<int>();
    };
    const int lru = host({"--hot-rows", "320"});
    CHECK(host({"--hot-rows", "256"}) > lru);
    CHECK(host({"--hot-rows", "320", "--replacement", "fifo"}) > lru);
}

TEST_CASE("several requests decode in one batch, each as when it is alone", "[decode]") {
    const std::string pages = GENERATE("none", "2");
    const auto three = run_short({"--hot-rows", "256", "--requests", "3", "--resident", pages});
    check_counts(three, 3, n_short);
    const auto alone = run_short({"--hot-rows", "256", "--resident", pages});
    CHECK(three.at("text") == alone.at("text"));
    CHECK(three.at("fast_bytes") == 3 * alone.at("fast_bytes").get<int>());
    CHECK(three.at("resident_bytes") == 3 * alone.at("resident_bytes").get<int>());
}

TEST_CASE("pages and their index pages that are first needed while decoding are there",
          "[decode]") {
    const auto got = run_json(
        {"--length", "630", "--tokens", "80", "--hot-rows", "256", "--requests", "2", "--verify"});
    check_counts(got, 2, 80);
    CHECK(got.at("fast_bytes") == 2 * (4 + 2 + 2) * page_bytes);
}

TEST_CASE("a prompt shorter than k, a page or anything at all decodes", "[decode]") {
    const std::string length = GENERATE("1", "63", "64", "65", "250");
    const auto got =
        run_json({"--length", length, "--tokens", "10", "--hot-rows", "256", "--verify"});
    CAPTURE(got.dump());
    CHECK(got.at("exact") == true);
    CHECK(got.at("rows_verified") == got.at("selected"));
    const int n = std::stoi(length);
    int entries = 0;
    for (int t = n; t < n + 10; ++t)
        entries += 4 * std::min(t + 1, 256);
    CHECK(got.at("selected") == entries);
}

TEST_CASE("the pool may be given in pages", "[decode]") {
    CHECK(run_short({"--hot-rows", "256", "--pool-pages", "7"}).at("history") == 0);
    CHECK(run_short({"--hot-rows", "256", "--pool-pages", "8"}).at("history") > 0);
    CHECK(run_short({"--hot-rows", "256", "--pool-pages", "60"}).at("host") == 0);
}

TEST_CASE("the default run is exact with every hot cache and optional history", "[decode][slow]") {
    const std::string rows = GENERATE("256", "512", "1024");
    const std::string pages = GENERATE("none", "20", "all");
    const auto got = run_json({"--hot-rows", rows, "--resident", pages, "--verify"});
    check_counts(got, 1, 128);
    CHECK(got.at("prompt_tokens") == 6000);
    CHECK((got.at("history") > 0) == (pages != "none"));
    CHECK((got.at("host") > 0) == (pages != "all"));
}
