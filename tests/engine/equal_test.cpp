// dhisparse-engine: every output is the one that its request has alone, whatever the memory and whatever others do.
#include "program.hpp"

using namespace dhisparse_test;

namespace {

/// Two whose index keys need another page soon after their prompts; a short one; one that begins as the first, later.
std::string four_requests() {
    return of_story(0, 630, 20) + of_story(1500, 630, 20, R"(,"arrival_step":1)") + R"({"prompt":"Once upon a time","tokens":12,"arrival_step":2})" "\n" +
           of_story(0, 450, 8, R"(,"arrival_step":20)");
}

} // namespace

TEST_CASE("outputs don't depend on the pool, nor on speculation", "[engine]") {
    const scratch_folder folder;
    const auto file = written(folder, "four.jsonl", four_requests());
    const auto roomy = served({"--requests", file, "--pool-pages", "200"});
    CHECK(roomy.at("outputs_equal") == true);
    CHECK(number(roomy, "finished") == 4);
    CHECK(number(roomy, "reclaimed_pages") == 0);
    CHECK(number(roomy, "wait_max_steps") == 0);
    CHECK(number(roomy, "parks") == 0);
    CHECK(number(roomy, "max_concurrent") == 3);
    const auto reclaims = served({"--requests", file, "--pool-pages", "36", "--no-compare"});
    CHECK(number(reclaims, "reclaimed_pages") > 0);
    CHECK(number(reclaims, "refilled_pages") > 0);
    CHECK(texts(reclaims) == texts(roomy));
    for (const char* k : {"1", "4"}) {
        const auto parks = served({"--requests", file, "--pool-pages", "16", "--no-compare", "--speculate", k});
        CAPTURE(k, parks.dump());
        CHECK(number(parks, "parks") > 0);
        CHECK(number(parks, "resumes") == number(parks, "parks"));
        CHECK(number(parks, "wait_max_steps") > 10);
        CHECK(number(parks, "host_rows") > 0);
        CHECK(texts(parks) == texts(roomy));
        CHECK((number(parks, "accepted") > 10) == (k != std::string("1")));
    }
}

TEST_CASE("outputs don't depend on the pool, for every number of queries", "[engine][slow]") {
    const scratch_folder folder;
    const auto file = written(folder, "four.jsonl", four_requests());
    for (int k = 1; k <= 8; ++k)
        for (const char* pool : {"14", "16", "17", "20", "36", "60"}) {
            CAPTURE(k, pool);
            const auto got = served({"--requests", file, "--pool-pages", pool, "--speculate", std::to_string(k)});
            CHECK(got.at("outputs_equal") == true);
            CHECK(number(got, "finished") == 4);
        }
}

TEST_CASE("a trace's requests are served in a small pool as they are alone", "[engine][slow]") {
    for (const char* seed : {"1", "2", "3"})
        for (const char* k : {"1", "5"}) {
            const auto got = served({"--made", "40", "--seed", seed, "--pool-pages", "30", "--host-pages", "70", "--speculate", k});
            CHECK(got.at("outputs_equal") == true);
            CHECK(number(got, "finished") + number(got, "aborted") == 40);
        }
}

TEST_CASE("a prefix that an earlier request has brought is not computed again", "[engine]") {
    const scratch_folder folder;
    const auto lines = of_story(0, 260, 16, R"(,"prefix":200)") + of_story(0, 180, 4, R"(,"arrival_step":12)") + of_story(0, 220, 4, R"(,"arrival_step":14)") +
                       of_story(0, 220, 4, R"(,"arrival_step":30)");
    const auto file = written(folder, "prefix.jsonl", lines);
    const auto alone = served({"--requests", file, "--pool-pages", "100", "--keep", "0"});
    CHECK(alone.at("outputs_equal") == true);
    for (const char* pool : {"100", "22"}) {
        const auto kept = served({"--requests", file, "--pool-pages", pool, "--no-compare"});
        CAPTURE(pool, kept.dump());
        CHECK(texts(kept) == texts(alone));
        CHECK(number(alone, "prefilled_positions") == 260 + 180 + 220 + 220);
        std::vector<int> shared;
        for (const auto& reply : kept.at("replies")) shared.push_back(reply.at("shared_positions"));
        CHECK(shared[0] == 0);
        CHECK(shared[1] >= 128); // 200 positions are kept, in three whole pages; of the last a part where the host tier has it all
        CHECK(shared[1] <= 179);
        CHECK(shared[2] == 192);
        CHECK(shared[3] >= 192); // what the third has kept, or the first
        CHECK(number(kept, "prefilled_positions") == 880 - shared[1] - shared[2] - shared[3]);
        CHECK(number(kept, "shared_prefix_pages") == shared[1] / 64 + 3 + shared[3] / 64);
    }
}

TEST_CASE("a prefix that a waiting request will share is not dropped for another", "[engine]") {
    const scratch_folder folder;
    const auto lines = of_story(0, 200, 24) + of_story(2000, 200, 24, R"(,"arrival_step":4)") + of_story(0, 180, 4, R"(,"arrival_step":5)");
    const auto got = served({"--requests", written(folder, "three.jsonl", lines), "--slots", "2", "--keep", "1", "--no-compare"});
    CHECK(got.at("replies")[2].at("admitted_step") > 20); // both slots are taken
    CHECK(got.at("replies")[2].at("shared_positions") >= 128);
    CHECK(number(got, "finished") == 3);
}

TEST_CASE("requests are given up in any state, and nobody else notices", "[engine]") {
    const scratch_folder folder;
    const auto others = of_story(0, 150, 24) + of_story(1500, 200, 24, R"(,"arrival_step":1)");
    const auto whole = texts(served({"--requests", written(folder, "two.jsonl", others), "--pool-pages", "200", "--no-compare"}));
    const auto check = [&](const std::string& more, const arguments& how) {
        const auto file = written(folder, "more.jsonl", others + of_story(3000, 300, 20, ",\"arrival_step\":2" + more));
        const auto got = served(with({"--requests", file, "--no-compare"}, how));
        CAPTURE(more, got.dump());
        CHECK(number(got, "finished") == 2);
        CHECK(number(got, "aborted") == 1);
        CHECK(texts(got)[0] == whole[0]);
        CHECK(texts(got)[1] == whole[1]);
        return got.at("replies")[2];
    };
    const arguments roomy{"--pool-pages", "100"}, tight{"--pool-pages", "16", "--speculate", "4"};
    CHECK(check(R"(,"abort_step":2)", roomy).at("admitted_step").is_null());   // in the step in which it comes
    CHECK(check(R"(,"abort_step":4)", roomy).at("tokens") == 0);               // its prompt is being computed
    CHECK(check(R"(,"abort_step":5)", tight).at("admitted_step").is_null());   // it waits for room
    const auto decoding = check(R"(,"abort_step":14)", roomy);
    CHECK(decoding.at("tokens") > 0);
    CHECK(decoding.at("tokens") < 20);
    const auto after = check(R"(,"abort_after":7)", roomy);
    CHECK(after.at("tokens") == 7);
}

TEST_CASE("a parked request is given up", "[engine]") {
    const scratch_folder folder;
    const auto two = of_story(0, 630, 20) + of_story(1500, 630, 20, R"(,"arrival_step":1,"abort_step":ABORT)");
    const auto with_abort = [&](const std::string& step) {
        auto text = two;
        text.replace(text.find("ABORT"), 5, step);
        return served({"--requests", written(folder, "two.jsonl", text), "--pool-pages", "16", "--no-compare"});
    };
    const auto undisturbed = with_abort("1000");
    REQUIRE(number(undisturbed, "parks") == 1);
    const auto ended = undisturbed.at("replies")[0].at("ended_step").get<int>();
    const auto got = with_abort(std::to_string(ended - 2)); // the other is parked until this one has ended
    CHECK(texts(got)[0] == texts(undisturbed)[0]);
    CHECK(texts(undisturbed)[1].starts_with(texts(got)[1]));
    CHECK(number(got, "parks") == 1);
    CHECK(number(got, "resumes") == 0);
    CHECK(number(got, "aborted") == 1);
}

TEST_CASE("kept prefixes give way where the host tier is short", "[engine]") {
    const scratch_folder folder;
    std::string lines;
    for (int i = 0; i < 4; ++i) lines += of_story(1000 * i, 150, 3, ",\"arrival_step\":" + std::to_string(6 * i));
    const auto got = served({"--requests", written(folder, "four.jsonl", lines), "--host-pages", "4", "--pool-pages", "60"});
    CHECK(got.at("outputs_equal") == true);
    CHECK(number(got, "finished") == 4);
}

TEST_CASE("a request larger than the memory is refused, and holds nobody up", "[engine]") {
    const scratch_folder folder;
    const auto lines = of_story(0, 3000, 3) + of_story(0, 100, 3);
    const auto got = served({"--requests", written(folder, "two.jsonl", lines), "--host-pages", "20", "--pool-pages", "60"});
    CHECK(number(got, "refused") == 1);
    CHECK(number(got, "finished") == 1);
    CHECK(got.at("replies")[0].at("ending") == "refused");
    CHECK(got.at("outputs_equal") == true);
}
