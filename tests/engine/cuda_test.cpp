// dhisparse-engine on the GPU: a round is one CUDA graph, and every output is the one of the CPU.
#include "program.hpp"

using namespace dhisparse_test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("on the GPU outputs don't depend on the pool either", "[engine][gpu]") {
    const auto tried = run({"--backend", "cuda", "--made", "1"});
    if (tried.code != 0) {
        REQUIRE_THAT(tried.err, ContainsSubstring("--backend is cuda, permitted: host ("));
        dhisparse_test::skip("no CUDA device");
        return;
    }
    const scratch_folder folder;
    const auto lines = of_story(0, 630, 20) + of_story(1500, 630, 20, R"(,"arrival_step":1)") + of_story(3000, 300, 20, R"(,"arrival_step":2,"abort_after":9)") +
                       of_story(0, 450, 8, R"(,"arrival_step":20)");
    const auto file = written(folder, "four.jsonl", lines);
    const char* k = GENERATE("1", "4");
    for (const char* pool : {"200", "36", "16"}) {
        CAPTURE(pool, k);
        const auto got = served({"--requests", file, "--backend", "cuda", "--pool-pages", pool, "--speculate", k});
        CHECK(got.at("outputs_equal") == true);
        CHECK((number(got, "proposed") > 0) == (k == std::string("4")));
        CHECK(number(got, "finished") == 3);
        CHECK(number(got, "aborted") == 1);
        CHECK((number(got, "parks") > 0) == (pool == std::string("16")));
        CHECK((number(got, "reclaimed_pages") > 0) == (pool != std::string("200")));
    }
}
