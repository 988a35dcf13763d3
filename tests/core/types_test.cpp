// The numbers that name things, the exceptions, and the version.
#include <dhisparse/core/config.hpp>
#include <dhisparse/core/error.hpp>
#include <dhisparse/core/types.hpp>

#include "catch.hpp"
#include "refusal.hpp"

#include <concepts>
#include <type_traits>

using namespace dhisparse;
using dhisparse_test::refusal;

TEST_CASE("RM-07: GPU pages, host pages and integers don't mix", "[types]") {
    STATIC_REQUIRE_FALSE(std::is_convertible_v<gpu_page, host_page>);
    STATIC_REQUIRE_FALSE(std::is_convertible_v<host_page, gpu_page>);
    STATIC_REQUIRE_FALSE(std::is_convertible_v<gpu_page, std::int32_t>);
    STATIC_REQUIRE_FALSE(std::is_convertible_v<std::int32_t, host_page>);
    STATIC_REQUIRE_FALSE(std::equality_comparable_with<gpu_page, host_page>);
    CHECK(number(gpu_page{7}) == 7);
    CHECK(number(host_page{9}) == 9);
}

TEST_CASE("no page and no location are -1, so that 0 is an ordinary one", "[types]") {
    CHECK(number(gpu_page::none) == -1);
    CHECK(number(host_page::none) == -1);
    CHECK(no_location == -1);
    STATIC_REQUIRE(sizeof(location) == 4);
}

TEST_CASE("a slot of another generation is another slot", "[types]") {
    CHECK(slot_id{3, 1} == slot_id{3, 1});
    CHECK_FALSE(slot_id{3, 1} == slot_id{3, 2});
    CHECK_FALSE(slot_id{3, 1} == slot_id{2, 1});
    CHECK(slot_id{}.index == -1);
}

TEST_CASE("every exception is a dhisparse error, and no two are the same", "[error]") {
    CHECK_THROWS_AS(require(false, "x"), error);
    CHECK_THROWS_AS(require<out_of_capacity>(false, "x"), error);
    CHECK_THROWS_AS(require<cuda_error>(false, "x"), error);
    CHECK_THROWS_AS(require<copy_error>(false, "x"), error);
    STATIC_REQUIRE_FALSE(std::derived_from<invalid_argument, out_of_capacity>);
    STATIC_REQUIRE_FALSE(std::derived_from<out_of_capacity, invalid_argument>);
    STATIC_REQUIRE(std::derived_from<error, std::runtime_error>);
}

TEST_CASE("a refusal names the thing, its value and the limits", "[error]") {
    CHECK(refusal([] { require_in(9, 1, 8, "k_max"); }) == "k_max is 9, permitted: 1 to 8");
    CHECK(refusal([] { require_in(0, 1, 8, "k_max"); }) == "k_max is 0, permitted: 1 to 8");
    CHECK(refusal([] { require_in(1, 1, 8, "k_max"); }).empty());
    CHECK(refusal([] { require_in(8, 1, 8, "k_max"); }).empty());
    CHECK(refusal([] { require(false, "page ", 3, " is free"); }) == "page 3 is free");
    CHECK(text("a", 1, 'b', 2.5) == "a1b2.5");
}

TEST_CASE("BI-10: the compiled library has the version of the headers", "[types]") {
    CHECK(version() == "dhisparse " DHISPARSE_VERSION);
}
