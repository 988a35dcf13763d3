/// Catch2 2 and 3 behind one name, and what the project's runner (main.cpp) offers to tests.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_approx.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <catch2/matchers/catch_matchers_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
namespace Catch::Matchers {
inline auto ContainsSubstring(const std::string& part) { return Contains(part); } // its name in 3
} // namespace Catch::Matchers
#endif

#include <cstdint>
#include <string>

namespace dhisparse_test {

/// The seed of random tests: --seed N on the command line, else always the same number. A test
/// does CAPTURE(dhisparse_test::seed()), so that a failure prints it.
std::uint64_t seed();

/// Called by a test that cannot run here (no GPU), which then returns. CTest shows the program as
/// skipped if every test that ran was.
void skip(const char* reason);

} // namespace dhisparse_test
