// The planner gives the published figures to the last printed digit, and its allocation is the library's.
#include <dhisparse/hierarchy.hpp>
#include <dhisparse/layout/presets.hpp>
#include <dhisparse/ledger/ledger.hpp>
#include <dhisparse/plan/planner.hpp>

#include "catch.hpp"
#include "plan/printed.hpp"
#include "refusal.hpp"

#include <cstdio>

using namespace dhisparse;
using namespace dhisparse_test;
using Catch::Matchers::ContainsSubstring;
using dhisparse_test::refusal;

namespace {

constexpr drafter_shape dflash2() { return {"dflash2", 2048, 6, 12'288, 8}; }

/// GLM-5.3 with 576-byte rows at 100,000 positions, as published.
plan::request glm(bool speculates = false) {
    plan::request asked{.shape = plan::with_row_bytes(preset::named("glm-5.3"), 576)};
    if (speculates) asked.drafter = dflash2();
    return asked;
}

std::string gib(std::int64_t bytes, int decimals) { return printed(static_cast<double>(bytes) / static_cast<double>(GiB), decimals); }

} // namespace

// ---- FACTS section 4, figure by figure ------------------------------------------------

TEST_CASE("a session is 4.444 GiB resident, 4.469 with the drafter", "[plan]") {
    CHECK(gib(plan::bytes_of(glm()).resident(), 3) == "4.444");
    CHECK(gib(plan::bytes_of(glm(true)).resident(), 3) == "4.469");
}

TEST_CASE("index keys take 0.25825, the hot cache 0.17139, a tail page 0.00268 GiB", "[plan]") {
    const auto s = plan::bytes_of(glm());
    CHECK(gib(s.index, 5) == "0.25825");
    CHECK(gib(s.hot, 5) == "0.17139");
    CHECK(gib(s.tail, 5) == "0.00268");
    CHECK(s.ring + s.staging + s.unselected == 0);
}

TEST_CASE("a session requires 0.432 GiB, 0.492 with the drafter", "[plan]") {
    CHECK(gib(plan::bytes_of(glm()).required(), 3) == "0.432");
    CHECK(gib(plan::bytes_of(glm(true)).required(), 3) == "0.492");
}

TEST_CASE("the draft ring takes 0.0249 and staging 0.0352 GiB of a session", "[plan]") {
    const auto s = plan::bytes_of(glm(true));
    CHECK(gib(s.ring, 4) == "0.0249");
    CHECK(gib(s.staging, 4) == "0.0352");
}

TEST_CASE("resident is 10.3 times what is required, 9.1 times with the drafter", "[plan]") {
    const auto ratio = [](const plan::session_bytes& s) { return printed(static_cast<double>(s.resident()) / static_cast<double>(s.required()), 1); };
    CHECK(ratio(plan::bytes_of(glm())) == "10.3");
    CHECK(ratio(plan::bytes_of(glm(true))) == "9.1");
}

TEST_CASE("GPU figures are for 100,032 rows and host figures for 100,000", "[plan]") {
    const auto d = plan::make(glm());
    CHECK(d.positions == 100'032);
    CHECK(d.session.history == 100'032LL * 78 * 576);
    CHECK(d.host_session == 100'000LL * 78 * 576);
}

TEST_CASE("staging of 35 slots takes 24.0 GiB apart and 1.23 GiB shared, 19.5 times less", "[plan]") {
    const auto d = plan::make(glm(true));
    CHECK(d.slots() == 35);
    CHECK(gib(d.staging_dedicated, 1) == "24.0");
    CHECK(gib(d.staging_shared, 2) == "1.23");
    CHECK(printed(static_cast<double>(d.staging_dedicated) / static_cast<double>(d.staging_shared), 1) == "19.5");
}

TEST_CASE("the rings of 35 slots take 0.87 GiB, of 2,176 rows each", "[plan]") {
    const auto d = plan::make(glm(true));
    CHECK(d.ring_rows == 2'176);
    CHECK(gib(35 * d.session.ring, 2) == "0.87");
    for (const int k_max : {4, 6, 8}) CHECK(plan::ring_rows(64, 2048, k_max) == 2'176);
    CHECK(plan::ring_row(3, 2'177, 2'176) == 3 * 2'176 + 1);
}

TEST_CASE("208 sessions back up 0.9345 TB, and 4.3 TB hold 957", "[plan]") {
    auto asked = glm();
    asked.host_bytes = 4'300'000'000'000;
    const auto d = plan::make(asked);
    CHECK(printed(208 * static_cast<double>(d.host_session) / 1e12, 4) == "0.9345");
    CHECK(d.sessions_host == 957);
}

TEST_CASE("208 sessions fit 90 GiB for KV", "[plan]") {
    auto asked = glm();
    asked.hbm_bytes = 90 * GiB;
    CHECK(plan::make(asked).sessions_hbm == 208);
}

TEST_CASE("DeepSeek-V4.1-Flash reads about 80 times fewer host bytes a token", "[plan]") {
    const auto d = plan::make(glm());
    plan::request other{.shape = preset::named("deepseek-v4.1-flash")};
    const auto ratio = d.host_bytes_per_token / plan::make(other).host_bytes_per_token;
    CHECK(printed(ratio, 6) == printed(2048. / 512 * 21 / 8 * 576 / 288 * 78 / 21, 6));
    CHECK(printed(ratio / 10, 0) == "8");
    CHECK(printed(d.host_bytes_per_token, 0) == printed(0.0005 * 78 * 2048 * 576, 0));
}

TEST_CASE("140 of 208 sessions are 0.67: speculation pays at neither TPOT ratio once slots fill", "[plan]") {
    CHECK(printed(140. / 208, 2) == "0.67");
    CHECK_FALSE(plan::speculation_pays(140, 208, 0.77));
    CHECK_FALSE(plan::speculation_pays(140, 208, 0.71));
    CHECK(plan::speculation_pays(140, 208, 0.67));
    const auto d = plan::make(glm(true));
    CHECK(d.sessions_spec == 140);
    CHECK(d.sessions_plain == 208);
    CHECK_FALSE(d.speculation_pays);
    CHECK(plan::best_width(d.asked.tpot, d.widths, 128) == 4); // everyone is admitted: faster is better
    CHECK(plan::best_width(d.asked.tpot, d.widths, 256) == 1);
}

TEST_CASE("the published widths are 8 to 32 sessions, 6 at 64, 4 from 128", "[plan]") {
    CHECK(plan::published_width(1) == 8);
    CHECK(plan::published_width(32) == 8);
    CHECK(plan::published_width(33) == 6);
    CHECK(plan::published_width(64) == 6);
    CHECK(plan::published_width(127) == 6);
    CHECK(plan::published_width(128) == 4);
    CHECK(plan::published_width(4096) == 4);
}

// ---- Sessions and speculation ---------------------------------------------------------

TEST_CASE("the hierarchy pays from the first session that doesn't fit resident", "[plan]") {
    auto asked = glm();
    asked.hbm_bytes = 90 * GiB;
    CHECK(plan::make(asked).sessions_resident == 20);
    CHECK(plan::make(asked).break_even == 21);
    asked.context = 2'048; // shorter than the hot cache: nothing to gain
    CHECK_FALSE(plan::make(asked).break_even.has_value());
}

TEST_CASE("slots bound speculating sessions and leave the rest to optional history", "[plan]") {
    auto asked = glm(true);
    asked.hbm_bytes = 90 * GiB;
    auto d = plan::make(asked);
    CHECK(d.sessions_spec == 182); // by bytes alone it pays: 182/208 > 0.74
    CHECK(d.speculation_pays);
    asked.slots = 140;
    d = plan::make(asked);
    CHECK(d.sessions_spec == 140);
    CHECK_FALSE(d.speculation_pays);
    CHECK(d.optional_bytes == 90 * GiB - 140 * d.session.required());
}

TEST_CASE("a TPOT ratio between two measurements lies on the line, outside them at the nearest", "[plan]") {
    const std::vector<tpot_ratio> measured{{128, 4, 0.8}, {256, 4, 0.6}, {64, 8, 0.5}};
    CHECK(plan::tpot_at(measured, 4, 192).value() == Approx(0.7));
    CHECK(plan::tpot_at(measured, 4, 128).value() == 0.8);
    CHECK(plan::tpot_at(measured, 4, 1).value() == 0.8);
    CHECK(plan::tpot_at(measured, 4, 999).value() == 0.6);
    CHECK(plan::tpot_at(measured, 8, 999).value() == 0.5);
    CHECK_FALSE(plan::tpot_at(measured, 6, 64).has_value());
    const std::vector<plan::width_sessions> fits{{1, 200}, {4, 190}, {8, 100}};
    CHECK(plan::best_width(measured, fits, 50) == 8);
    CHECK(plan::best_width(measured, fits, 190) == 4); // 1/0.70 = 1.42; at 8 only 100 run: 100/190/0.5 = 1.05
    CHECK(plan::best_width(measured, fits, 1000) == 4);
}

TEST_CASE("PL-07 more host memory never admits fewer sessions", "[plan]") {
    std::int64_t before = 0;
    for (const int ratio : {1, 2, 4, 8, 10}) {
        auto asked = glm();
        asked.hbm_bytes = 90 * GiB;
        asked.host_bytes = ratio * asked.hbm_bytes;
        const auto d = plan::make(asked);
        const auto admitted = std::min(*d.sessions_hbm, *d.sessions_host);
        CHECK(admitted >= before);
        CHECK(admitted >= *d.sessions_resident);
        before = admitted;
    }
    CHECK(before == 208);
}

TEST_CASE("PL-07 little host memory bounds what the hierarchy admits, and whether it and speculation pay", "[plan]") {
    auto asked = glm(true);
    asked.hbm_bytes = 141 * GiB;
    asked.host_bytes = 50 * GiB;
    const auto d = plan::make(asked);
    CHECK(*d.sessions_host == 11);
    CHECK(*d.sessions_resident == 31);
    CHECK_FALSE(d.break_even.has_value());
    CHECK(d.sessions_plain == 11);
    CHECK(d.sessions_spec == 11);
    CHECK(d.tpot == 0.77);
    CHECK(d.speculation_pays); // the same sessions, faster
    asked.host_bytes = 133 * GiB; // 31 sessions
    CHECK_FALSE(plan::make(asked).break_even.has_value());
    asked.host_bytes = 134 * GiB;
    CHECK(plan::make(asked).break_even == 32);
}

TEST_CASE("whether speculation pays is told by what was measured nearest, or not at all", "[plan]") {
    auto asked = glm(true);
    asked.hbm_bytes = 90 * GiB; // 182 speculating sessions
    asked.tpot = {{16, 8, 0.4}, {64, 6, 0.6}, {128, 4, 0.95}};
    auto d = plan::make(asked);
    CHECK(d.tpot == 0.95);
    CHECK_FALSE(d.speculation_pays);
    CHECK(plan::best_width(d.asked.tpot, d.widths, 16) == 8);
    CHECK(plan::best_width(d.asked.tpot, d.widths, 64) == 6);
    CHECK(plan::best_width(d.asked.tpot, d.widths, 128) == 4);
    asked.tpot.clear();
    CHECK(plan::make(asked).speculation_known);
    asked.drafter->k_max = 2; // the published ratios are of wider rounds
    CHECK_FALSE(plan::make(asked).speculation_known);
    auto other = plan::request{.shape = preset::named("deepseek-v4.1-flash"), .drafter = preset::named("deepseek-v4.1-flash").drafter};
    CHECK_FALSE(plan::make(other).speculation_known); // nor are the published sessions its own
    other.hbm_bytes = 90 * GiB;
    CHECK(plan::make(other).speculation_known);
}

// ---- What is allocated ----------------------------------------------------------------

TEST_CASE("allocated pages and metadata are those that the ledger takes", "[plan]") {
    const int k_max = GENERATE(1, 2);
    const std::int64_t context = GENERATE(as<std::int64_t>{}, 1, 4'096, 100'000);
    for (const auto& name : preset::names()) {
        CAPTURE(name, k_max, context);
        plan::request asked{.shape = preset::named(name), .context = context, .slots = 1};
        if (k_max > 1) asked.drafter = {"d", 128, 1, 64, k_max};
        const auto d = plan::make(asked);
        CHECK(d.allocated.layout == std::string("page_major"));
        const auto ahead = positions_ahead(k_max, 1);
        const auto layout = page_layout::make<page_major>(asked.shape, {50'000, asked.hot_rows / asked.shape.page_positions, k_max});
        const auto sizes = slot_table_layout::make<dense>(layout, 1, 0);
        const auto run = sizes.run_bytes(sizes.pages_for(context + ahead));
        const auto tables = slot_table_layout::make<dense>(layout, 1, run);
        const ledger one(layout, tables, {.host_pages = 50'000});
        const auto& a = d.allocated;
        CHECK(a.page == layout.page_bytes());
        CHECK(a.hot_pages + a.tail_pages + a.index_pages == one.required_pages({context, ahead}));
        CHECK(a.metadata == tables.bytes());
        CHECK(one.fits({context, ahead}).answer == verdict::now);
        CHECK(one.fits({context, ahead + 8 * asked.shape.page_positions}).answer == verdict::never); // the metadata is no longer
    }
}

TEST_CASE("the pages, staging, tables and host bytes of a plan are those of the hierarchy's own configuration", "[plan]") {
    for (const auto& name : preset::names())
        for (const int k_max : {1, 4, 8}) {
            CAPTURE(name, k_max);
            constexpr std::int32_t slots = 35;
            plan::request asked{.shape = preset::named(name), .context = 4'096, .hot_rows = 16'384, .slots = slots};
            if (k_max > 1) asked.drafter = {"d", 128, 1, 64, k_max};
            const auto d = plan::make(asked);
            const auto& a = d.allocated;
            const auto n_pages = a.hot_pages + a.tail_pages + a.index_pages;
            const hierarchy_config config{.shape = asked.shape, .host_bytes = std::int64_t{1} << 44, .pool_pages = static_cast<std::int32_t>(slots * n_pages), .slots = slots,
                                          .hot_pages = static_cast<std::int32_t>(a.hot_pages), .k_max = k_max};
            const auto needed = hierarchy<>::bytes_needed(config);
            CHECK(needed.pool == slots * n_pages * a.page + needed.staging);
            CHECK(a.staging == ceil_div<std::int64_t>(needed.staging, slots));
            CHECK((k_max * asked.shape.k <= 16'384 / 4) <= (a.staging == 0)); // the hot cache holds every union
        }
}

TEST_CASE("a pool of as many sessions as were planned admits them all, and leases each what no selection covers", "[plan]") {
    model_shape shape{.name = "windows", .layers = 2, .k = 8, .page_positions = 16};
    shape.sources = {{.layer = 0, .row_bytes = 64, .index_key_bytes = 16}, {.layer = 1, .row_bytes = 64}};
    shape.groups = {{0, 1}};
    shape.announcements = {{0, 0, {0, 1}}};
    shape.unselected = {{.layer = 0, .row_bytes = 100, .window = 24}, {.layer = 1, .row_bytes = 4'000}};
    plan::request asked{.shape = shape, .context = 200, .hot_rows = 32, .slots = 3};
    const auto a = plan::make(asked).allocated;
    CHECK(a.leased_pages == ceil_div<std::int64_t>(24 * 100 + 208 * 4'000, a.page));
    const auto pages = static_cast<std::int32_t>(a.hot_pages + a.tail_pages + a.index_pages + a.leased_pages);
    hierarchy<> kv({.shape = shape, .pool_pages = 3 * pages, .host_pages = 100, .slots = 4, .hot_pages = static_cast<std::int32_t>(a.hot_pages)});
    for (int i = 0; i < 3; ++i) {
        CHECK(kv.fits({200}).answer == verdict::now);
        REQUIRE(kv.try_admit({200}));
        REQUIRE(kv.lease(static_cast<std::int32_t>(a.leased_pages)));
    }
    CHECK(kv.ledger().pages().free == 0);
    CHECK_FALSE(kv.try_admit({200}));
}

TEST_CASE("staging of GLM-5.3 at K = 8 takes 12,288 rows a slot, of 16,384 by (11)", "[plan]") {
    const auto d = plan::make(glm(true));
    CHECK(d.session.staging == 8 * 2'048 * 4 * 576);
    CHECK(d.allocated.staging >= (8 * 2'048 - 4'096) * 4 * 576);
    CHECK(d.allocated.staging <= (8 * 2'048 - 4'096) * 4 * 576 / 100 * 101);
    CHECK(plan::make(glm()).allocated.staging == 0);
}

TEST_CASE("PL-06 the parts of a session sum up to it, and nothing of the drafter is on the host", "[plan]") {
    for (const auto& name : preset::names()) {
        CAPTURE(name);
        plan::request asked{.shape = preset::named(name)};
        asked.shape.unselected = {{.layer = 0, .row_bytes = 1'000, .window = 128}};
        const auto plain = plan::make(asked);
        asked.drafter = {"d", 2048, 1, 4096, 4};
        const auto d = plan::make(asked);
        const auto& [s, a] = std::tie(d.session, d.allocated);
        CHECK(a.total == s.index + s.unselected + s.hot + a.tail + s.ring + a.staging + a.metadata + a.page_padding + a.index_padding);
        CHECK(a.page_padding >= 0);
        CHECK(a.index_padding >= 0);
        CHECK(a.total + s.staging - a.staging >= s.required()); // less is staged than (11) has it
        CHECK(a.staging <= s.staging + 1'000'000);
        CHECK(s.unselected == 128'000);
        CHECK(a.leased_pages == ceil_div<std::int64_t>(128'000, a.page));
        CHECK(d.host_session == plain.host_session);
        CHECK(d.session.required() - plain.session.required() == s.ring + s.staging);
    }
}

TEST_CASE("PL-14 the host tier holds finished rows only", "[plan]") {
    plan::request asked{.shape = preset::named("deepseek-v4-flash")}; // m = 4, 584-byte rows padded to 592
    for (const std::int64_t n : {1, 15, 16})
        for (const int more : {0, 1, 2, 3}) {
            asked.context = 4 * n + more;
            CHECK(plan::make(asked).host_session == n * 21 * 592);
        }
}

TEST_CASE("rows that no selection covers are required: windows, dense stores, fixed state", "[plan]") {
    auto asked = glm();
    const auto before = plan::bytes_of(asked);
    asked.shape.unselected = {{.layer = 0, .row_bytes = 10, .window = 128}, {.layer = 1, .row_bytes = 584, .positions_per_row = 128}, {.layer = 2, .row_bytes = 5'000, .window = 1}};
    const auto after = plan::bytes_of(asked);
    CHECK(after.unselected == 1'280 + 782 * 584 + 5'000); // 100,032 positions are 781.5 rows of 128
    CHECK(after.required() - before.required() == after.unselected);
    CHECK(after.resident() - before.resident() == after.unselected);
}

TEST_CASE("other pages and row widths move a block's runs with them", "[plan]") {
    const auto v4 = preset::named("deepseek-v4-flash");
    const auto small = plan::with_page_positions(v4, 64);
    CHECK(small.sources[0].runs == std::vector<row_run>{{0, 576, 576}, {16 * 576, 8, 8}});
    CHECK(plan::with_page_positions(small, 256) == v4);
    CHECK(refusal([&] { validate(plan::with_row_bytes(v4, 656)); }).empty());
    CHECK(plan::with_row_bytes(v4, 656).sources[3].runs.empty());
    auto gap = v4;
    gap.sources[0].runs[1].offset_bytes += 16;
    CHECK_THAT(refusal([&] { (void)plan::with_page_positions(gap, 64); }), ContainsSubstring("page_positions is 64, permitted: 256 (the runs of layer 2"));
}

TEST_CASE("what the planner is asked is refused by its name", "[plan]") {
    const auto with = [](auto change) {
        auto asked = glm(true);
        change(asked);
        return refusal([&] { (void)plan::make(asked); });
    };
    CHECK(with([](auto& a) { a.context = 0; }) == "context is 0, permitted: 1 to 1048576");
    CHECK(with([](auto& a) { a.context = 1'048'577; }) == "context is 1048577, permitted: 1 to 1048576");
    CHECK(with([](auto& a) { a.hot_rows = 4'095; }) == "hot_rows is 4095, permitted: multiples of the page's 64 positions");
    CHECK(with([](auto& a) { a.hot_rows = 1'984; }) == "hot_rows is 1984, which is 1984 rows of layer 0, permitted: at least k = 2048");
    CHECK_THAT(with([](auto& a) { a.hot_rows = 65'536; }), ContainsSubstring("permitted: up to 65534"));
    CHECK(with([](auto& a) { a.drafter->window = 0; }) == "drafter.window is 0, permitted: 1 to 16777216");
    CHECK(with([](auto& a) { a.slots = 0; }) == "slots is 0, permitted: 1 to 1048576");
    CHECK(with([](auto& a) { a.miss_rate = 2; }) == "miss_rate is 2, permitted: 0 to 1");
    CHECK(with([](auto& a) { a.tpot = {{128, 16, 0.5}}; }) == "there is no TPOT ratio for a width from 2 to K_max = 8");
    CHECK(with([](auto& a) { a.shape.k = 0; }) == "k is 0, permitted: 1 to 16777216");
}
