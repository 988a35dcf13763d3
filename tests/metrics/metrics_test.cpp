// What is counted, and how it is told.
#include "catch.hpp"
#include "engine.hpp"

#include <dhisparse/metrics_of.hpp>

#include <nlohmann/json.hpp>

using namespace dhisparse_test;

namespace {

/// Value of a line of Prometheus text; -1: there is none.
std::int64_t value_of(const std::string& text, const std::string& name) {
    const auto at = text.find("\n" + name + " ");
    return at == std::string::npos ? -1 : std::stoll(text.substr(at + name.size() + 2));
}

} // namespace

TEST_CASE("OB-02 requests that are asked about again and again are counted once, as they are admitted", "[metrics]") {
    auto config = plain_config();
    config.slots = 1;
    engine e(config);
    const auto first = e.start(8, 4);
    for (int i = 0; i < 5; ++i) CHECK_FALSE(e.it->try_admit({8, 4}));
    e.finish(first);
    const auto second = e.start(8, 4);
    e.look_up(second, {0, 3, 5, 7});
    const auto text = e.it->prometheus();
    CHECK(value_of(text, "dhisparse_requests_total{event=\"admitted\"}") == 2);
    CHECK(value_of(text, "dhisparse_rows_total{found=\"history\"}") == 4);
}

TEST_CASE("OB-03 OB-07 rows are counted by place and their sum is what was selected; both directions are counted in bytes", "[metrics]") {
    auto config = plain_config();
    config.refill_pages_per_step = 4;
    engine e(config);
    const auto slot = e.start(40, 20);
    e.it->reclaim(10);
    for (int i = 0; i < 3; ++i) e.advance();
    e.look_up(slot, {0, 9, 22, 31}); // four fetches
    e.look_up(slot, {0, 9, 22, 31}); // four hits
    e.it->reclaim(0);
    e.advance();
    e.advance(); // four pages are back, four more begin
    const auto text = e.it->prometheus();
    const auto rows = [&](const char* found) { return value_of(text, std::string("dhisparse_rows_total{found=\"") + found + "\"}"); };
    CHECK(rows("host") == 4);
    CHECK(rows("hot") == 4);
    CHECK(rows("tail") + rows("history") + rows("hot") + rows("host") == 8);
    CHECK(value_of(text, "dhisparse_host_rows_total") == 4);
    CHECK(value_of(text, "dhisparse_host_bytes_total") == 4 * 128);
    CHECK(value_of(text, "dhisparse_backed_up_pages_total") == 10);
    CHECK(value_of(text, "dhisparse_refilled_pages_total") == 4);
    CHECK(value_of(text, "dhisparse_refilled_bytes_total") == 4 * e.it->layout().host_page_bytes());
    CHECK(value_of(text, "dhisparse_reclaimed_pages_total") == 10);
    const auto pages = [&](const char* of) { return value_of(text, std::string("dhisparse_pages{class=\"") + of + "\"}"); };
    CHECK(pages("required") + pages("promised") + pages("optional") + pages("leaving") + pages("free") == 64);
}

TEST_CASE("rows that no hot entry could take are counted, and those that took one later", "[metrics]") {
    auto config = plain_config();
    config.k_max = 4; // a union of 4 · k rows, B = k entries
    engine e(config);
    const auto slot = e.start(40, 20);
    e.it->reclaim(10);
    for (int i = 0; i < 3; ++i) e.advance();
    const auto round = e.append(slot, 3);
    const std::vector<std::int32_t> rows{0, 3, 7, 9, 12, 17, 22, 31, 12, 17, 22, 31};
    std::vector<dh::location> at(rows.size());
    e.it->resolve(round, e.it->layout().shape().announcements[0], {rows.data(), 4, 4}, {at.data(), 4, 4});
    const std::int32_t accepted = 0;
    e.it->commit(round, &accepted);
    CHECK(value_of(e.it->prometheus(), "dhisparse_host_rows_total") == 8);
    CHECK(value_of(e.it->prometheus(), "dhisparse_staged_rows_total") == 4);
    CHECK(value_of(e.it->prometheus(), "dhisparse_promoted_rows_total") == 4); // selected twice, the hot ones once
}

TEST_CASE("OB-04 unused entries and requests that pad a batch count nothing", "[metrics]") {
    engine e(plain_config({.k = 8}));
    const auto slot = e.start(40, 20);
    e.it->reclaim(10);
    for (int i = 0; i < 3; ++i) e.advance();
    e.look_up(slot, {0, 9, 22});
    const auto before = e.it->counts();
    e.look_up(slot, {0, -1, 9, 31, -1, 22, -1, 17});
    const auto& now = e.it->counts();
    CHECK(now.selected - before.selected == 5);
    CHECK(now.hot - before.hot == 3);
    CHECK(now.host - before.host == 2);
    const std::vector<std::int32_t> padding{-1, -1}, rows(16, 3);
    std::vector<dh::location> at(16);
    const auto round = e.it->append({padding.data(), nullptr, 2});
    e.it->resolve(round, e.it->layout().shape().announcements[0], {rows.data(), 8, 8}, {at.data(), 8, 8});
    CHECK(at == std::vector<dh::location>(16, -1));
    CHECK(e.it->counts().selected - before.selected == 5);
    for (const auto n : e.it->counts().violations) CHECK(n == 0);
}

TEST_CASE("OB-05 a miss is one miss, of one row, however many queries select it", "[metrics]") {
    auto config = plain_config();
    config.k_max = 2;
    engine e(config);
    const auto slot = e.start(40, 20);
    e.it->reclaim(10);
    for (int i = 0; i < 3; ++i) e.advance();
    const auto round = e.append(slot, 2);
    const std::vector<std::int32_t> rows{5, -1, -1, -1, 9, 5, -1, -1};
    std::vector<dh::location> at(rows.size());
    e.it->resolve(round, e.it->layout().shape().announcements[0], {rows.data(), 4, 4}, {at.data(), 4, 4});
    CHECK(at[0] == at[5]);
    CHECK(e.it->counts().host == 3); // entries brought back
    CHECK(e.it->counts().host_rows == 2);
    CHECK(e.it->counts().hot == 0);
    CHECK(e.it->counts().selected == 3);
}

TEST_CASE("OB-06 pages that their own request lets go of are not counted as reclaimed", "[metrics]") {
    engine e(plain_config());
    const auto slot = e.start(40, 4);
    e.finish(slot);
    for (int i = 0; i < 3; ++i) e.advance();
    CHECK(e.ledger().counts().reclaimed_pages == 0);
    CHECK(e.ledger().counts().reclaims == 0);
}

TEST_CASE("OB-08 counters are read without an advance, never fall, and agree when all is idle", "[metrics]") {
    engine e(plain_config());
    const auto slot = e.start(12, 40);
    std::int64_t last = 0;
    for (int i = 0; i < 30; ++i) {
        e.round(slot);
        const auto now = value_of(e.it->prometheus(), "dhisparse_backed_up_rows_total");
        CHECK(now >= last);
        last = now;
        e.advance();
    }
    CHECK(last == 30);
    CHECK(e.ledger().counts().watermark_lag.n >= 30);
}

TEST_CASE("OB-09 a second run of the same seed finds nothing of the first one, and says where its rows were", "[metrics]") {
    auto config = plain_config();
    engine e(config);
    const auto shares = [&](engine& of) {
        const auto before = of.it->counts();
        const auto slot = of.start(40, 20);
        of.it->reclaim(10);
        for (int i = 0; i < 3; ++i) of.advance();
        for (const int first : {0, 4, 2, 8}) of.look_up(slot, {first, first + 1, first + 2, first + 3});
        const auto now = of.it->counts();
        return std::vector<std::uint64_t>{now.tail - before.tail, now.history - before.history, now.hot - before.hot, now.host - before.host};
    };
    const auto first = shares(e);
    CHECK(first[3] > 0);
    e.it->reset();
    for (int i = 0; i < 3; ++i) e.advance({}, {});
    e.advance(e.completed(), {});
    engine other(config);
    CHECK(shares(other) == first);
    CHECK(shares(e) == first);
}

TEST_CASE("OB-11 a bad index is told of by the counters of the step that had it: what was wrong; the answers say where", "[metrics]") {
    engine e(plain_config());
    const auto a = e.start(16, 20), b = e.start(16, 20);
    const std::vector<std::int32_t> slots{a.index, b.index};
    const auto step = [&](std::int32_t bad) {
        const auto round = e.it->append({slots.data(), nullptr, 2});
        const std::vector<std::int32_t> rows{0, 3, 5, 7, 1, 2, bad, 4};
        std::vector<dh::location> at(rows.size());
        std::vector<std::int32_t> valid(2);
        e.it->resolve(round, e.it->layout().shape().announcements[0], {rows.data(), 4, 4}, {at.data(), 4, 4, valid.data()});
        for (std::size_t i = 0; i < at.size(); ++i) CHECK((at[i] == -1) == (i == 6 && bad != 6));
        CHECK(valid == std::vector<std::int32_t>{4, bad == 6 ? 4 : 3});
        return e.it->counts().count_of(dh::violation::row_out_of_range);
    };
    CHECK(step(6) == 0);
    CHECK(step(1'000'000) == 1);
    CHECK(step(6) == 1);
    CHECK(step(-2) == 2);
    const auto text = e.it->prometheus();
    CHECK(value_of(text, "dhisparse_violations_total{what=\"row_out_of_range\"}") == 2);
    CHECK(value_of(text, "dhisparse_violations_total{what=\"row_unreachable\"}") == 0);
}

TEST_CASE("OB-14 what nobody counted is absent, not zero", "[metrics]") {
    engine e(plain_config());
    dh::metric_list list;
    dh::add_metrics(list, e.ledger(), e.it->layout());
    const auto text = list.prometheus();
    CHECK(text.find("rows_total{") == std::string::npos);
    CHECK(value_of(text, "dhisparse_pages{class=\"free\"}") == 64);
}

TEST_CASE("OB-15 a miss counts the bytes of every lane", "[metrics]") {
    engine e(plain_config({.page_positions = 64, .k = 16, .lanes = 4, .row_bytes = 656}));
    const auto slot = e.start(640, 4);
    e.it->reclaim(10);
    for (int i = 0; i < 3; ++i) e.advance();
    e.look_up(slot, {1, 70, 140, 200, 260, 330, 400, 450, 520, 600});
    CHECK(value_of(e.it->prometheus(), "dhisparse_host_bytes_total") == 26'240);
}

TEST_CASE("both texts hold the same numbers", "[metrics]") {
    dh::metric_list list;
    dh::histogram values;
    for (const auto v : {0, 1, 1, 5, 900}) values.add(static_cast<std::uint64_t>(v));
    list.counter("things_total", "Things \"of\" a\nkind", 7, {{"kind", "a\\b\"c"}});
    list.counter("things_total", "Things \"of\" a\nkind", 8, {{"kind", "d"}});
    list.gauge("level", "A level", -3);
    list.distribution("spread", "Values", values);
    const auto text = list.prometheus();
    CHECK(text.find("# HELP dhisparse_things_total Things \"of\" a\\nkind\n# TYPE dhisparse_things_total counter\ndhisparse_things_total{kind=\"a\\\\b\\\"c\"} 7\ndhisparse_things_total{kind=\"d\"} 8\n") == 0);
    CHECK(value_of(text, "dhisparse_level") == -3);
    CHECK(value_of(text, "dhisparse_spread_bucket{le=\"0\"}") == 1);
    CHECK(value_of(text, "dhisparse_spread_bucket{le=\"1\"}") == 3);
    CHECK(value_of(text, "dhisparse_spread_bucket{le=\"7\"}") == 4);
    CHECK(value_of(text, "dhisparse_spread_bucket{le=\"+Inf\"}") == 5);
    CHECK(value_of(text, "dhisparse_spread_sum") == 907);
    const auto json = nlohmann::json::parse(list.json());
    CHECK(json.at("level") == -3);
    CHECK(json.at("things_total{kind=\"d\"}") == 8);
    CHECK(json.at("spread").at("buckets").at("1023") == 1);
    CHECK(json.at("spread").at("sum") == 907);
    CHECK(nlohmann::json::parse(dh::metric_list().json()).empty());
}

TEST_CASE("every violation has a name of its own", "[metrics]") {
    std::set<std::string> names;
    for (int v = 0; v < dh::n_violations; ++v) names.insert(dh::name_of(static_cast<dh::violation>(v)));
    CHECK(names.size() == static_cast<std::size_t>(dh::n_violations));
    CHECK_FALSE(names.contains("unnamed"));
}
