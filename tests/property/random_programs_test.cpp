// Random programs on the host backend against the model: DESIGN.md's invariants after every operation.
#include "catch.hpp"
#include "random_program.hpp"

#include <chrono>

using namespace dhisparse_test;

namespace {

/// Runs program i of this seed; a failure says how to run it again.
std::uint64_t run_program(std::uint64_t i, int n_operations, program_options options = {}) {
    std::string log;
    try {
        random_program program(mix(seed()) + i, options);
        try {
            program.run(n_operations);
            return program.digest();
        } catch (const std::exception&) {
            log = program.log_tail();
            throw;
        }
    } catch (const std::exception& e) {
        FAIL("--seed " << seed() << ", program " << i << ": " << e.what() << "\n" << log);
    }
    return 0;
}

} // namespace

TEST_CASE("random programs agree with the model after every operation", "[property]") {
    CAPTURE(seed());
    for (std::uint64_t i = 0; i < 300; ++i) CHECK(run_program(i, 80) != 0);
}

TEST_CASE("the same program gives the same plans, locations and victims, whenever its copies happen", "[property]") {
    CAPTURE(seed());
    for (std::uint64_t i = 1000; i < 1030; ++i) {
        const auto once = run_program(i, 60), again = run_program(i, 60), at_once = run_program(i, 60, {.bytes_at_once = true});
        CHECK(once == again);
        CHECK(once == at_once);
    }
}

TEST_CASE("many more random programs agree with the model", "[property][slow]") {
    CAPTURE(seed());
    for (std::uint64_t i = 10'000; i < 14'000; ++i) CHECK(run_program(i, 120) != 0);
}
