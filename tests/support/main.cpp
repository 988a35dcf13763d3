// The runner of every test program, compiled once: Catch2's own, plus --seed and skipped tests.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_session.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
#else
#define CATCH_CONFIG_RUNNER
#endif
#include "catch.hpp"

#include <charconv>
#include <cstdio>
#include <string_view>
#include <vector>

namespace {

std::uint64_t chosen_seed = 20'240'229;
std::size_t n_skipped = 0;
std::size_t n_run = 0;

#if __has_include(<catch2/catch_all.hpp>)
using listener_base = Catch::EventListenerBase;
#else
using listener_base = Catch::TestEventListenerBase;
#endif

struct count_tests : listener_base {
    using listener_base::listener_base;
    void testCaseEnded(const Catch::TestCaseStats& /*stats*/) override { ++n_run; }
};
CATCH_REGISTER_LISTENER(count_tests)

bool parse_seed(std::string_view text) {
    const auto end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, chosen_seed);
    return result.ec == std::errc{} && result.ptr == end;
}

} // namespace

std::uint64_t dhisparse_test::seed() { return chosen_seed; }

void dhisparse_test::skip(const char* reason) {
    ++n_skipped;
    WARN("skipped: " << reason);
}

int main(int argc, char** argv) {
    std::vector<char*> rest; // Catch2 refuses options that it does not know
    for (int i = 0; i < argc; ++i) {
        if (std::string_view(argv[i]) != "--seed") {
            rest.push_back(argv[i]);
        } else if (++i == argc || !parse_seed(argv[i])) {
            std::fputs("--seed needs a number in [0, 2^64)\n", stderr);
            return 2;
        }
    }
    const int failed = Catch::Session().run(static_cast<int>(rest.size()), rest.data());
    constexpr int skipped = 77; // SKIP_RETURN_CODE in CMake
    if (failed != 0) return failed;
    return n_run > 0 && n_skipped >= n_run ? skipped : 0;
}
