// Random programs of a ledger's calls with copies that fail: nothing lost, nothing leaked.
#undef DHISPARSE_CHECKS
#define DHISPARSE_CHECKS 1 // budget and grant rule after every operation
#include "catch.hpp"
#include "fault_program.hpp"

using namespace dhisparse_test;

namespace {

dh::ledger_counts total;

/// Runs program i of this seed; a failure says how to run it again.
void run_program(std::uint64_t i, int n_operations, fault_options options = {}) {
    std::string log;
    try {
        fault_program program(mix(seed()) + i, options);
        try {
            program.run(n_operations);
        } catch (const std::exception&) {
            log = program.log_tail();
            throw;
        }
        const auto& counts = program.counts();
        total.refilled_pages += counts.refilled_pages;
        total.reclaimed_pages += counts.reclaimed_pages;
        total.parked += counts.parked;
        total.resumed += counts.resumed;
        total.failed += counts.failed;
        total.stalls += counts.stalls;
        total.finished += counts.finished;
    } catch (const std::exception& e) {
        FAIL("--seed " << seed() << ", program " << i << ": " << e.what() << "\n" << log);
    }
}

} // namespace

TEST_CASE("random programs with failing copies lose no row and leak no page", "[ledger]") {
    CAPTURE(seed());
    total = {};
    for (std::uint64_t i = 0; i < 200; ++i) run_program(i, 400);
    for (std::uint64_t i = 0; i < 50; ++i) run_program(1000 + i, 400, {.faults = false});
    CHECK(total.refilled_pages > 200); // they get about
    CHECK(total.reclaimed_pages > 1000);
    CHECK(total.parked > 200);
    CHECK(total.resumed > 100);
    CHECK(total.failed > 50);
    CHECK(total.stalls > 100);
    CHECK(total.finished > 1000);
}

TEST_CASE("a million operations more", "[ledger][slow]") {
    CAPTURE(seed());
    for (std::uint64_t i = 0; i < 2000; ++i) run_program(10'000 + i, 600, {.faults = i % 4 != 0});
}
