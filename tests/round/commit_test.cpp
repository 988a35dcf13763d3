// The accepted prefix becomes history, and the rows that it completes go to the host.
#include "catch.hpp"
#include "hand_made.hpp"
#include "real_shapes.hpp"

using namespace dhisparse;
using dhisparse_test::shape_of;
using list = std::vector<std::int32_t>;
using subject = dhisparse_test::hand_made<>;

namespace {

/// One request of 16-position pages that are all mapped (page i in GPU page i, host page i); row
/// r's tag is r.
struct one_request : subject {
    one_request(int positions_per_row, std::int32_t frontier, int k_max = 8,
                std::int32_t positions = 64)
        : subject(
              shape_of(16, 8, {{{.row_bytes = 128, .positions_per_row = positions_per_row}, 2}}),
              {.k_max = k_max}) {
        open(0, positions, frontier);
        for (std::int32_t page = 0; page < 4; ++page) {
            map(0, page, page);
            map_host(0, page, page);
        }
        for (std::int32_t row = 0; row < 64 / positions_per_row; ++row)
            write(0, location_of(row), row);
    }
    location location_of(std::int32_t row) const {
        const auto per_page = static_cast<std::int32_t>(layout.group(0).rows_per_page.divisor);
        return layout.group(0).at(gpu_page{row / per_page},
                                  static_cast<std::uint32_t>(row % per_page));
    }
    std::int32_t frontier() const { return tables().records[0].frontier; }
    /// Rows that the host holds.
    list on_host() const {
        const auto per_page = static_cast<std::int32_t>(layout.group(0).rows_per_page.divisor);
        list out;
        for (std::int32_t row = 0; row < 4 * per_page; ++row)
            if (host_holds(0, row / per_page, row % per_page, row)) out.push_back(row);
        return out;
    }
    /// The frontier after one round of that width.
    std::int32_t after(std::int32_t width, std::int32_t accepted) {
        commit(append({0}, {width}), list{accepted});
        return frontier();
    }
};

} // namespace

TEST_CASE("a round of four positions with two accepted moves the frontier by three", "[commit]") {
    one_request s(1, 20);
    CHECK(s.after(4, 2) == 23);
    CHECK(s.on_host() == list{20, 21, 22}); // the fourth is dropped
    const auto next = s.append({0}, {1});
    CHECK(next.query_positions[0] == 23); // the correction is the next anchor
}

TEST_CASE("the frontier moves by accepted + 1 for every width", "[commit]") {
    for (std::int32_t width = 1; width <= 8; ++width)
        for (std::int32_t accepted = 0; accepted < width; ++accepted) {
            one_request s(1, 11);
            CHECK(s.after(width, accepted) == 11 + accepted + 1);
            CHECK(s.counts.backed_up_rows == static_cast<std::uint64_t>(accepted + 1));
        }
}

TEST_CASE("a request without new positions keeps its frontier, whatever was accepted", "[commit]") {
    one_request s(1, 20);
    CHECK(s.after(0, 3) == 20);
    CHECK(s.on_host().empty());
    CHECK(s.count_of(violation::accepted_out_of_range) == 0);
}

TEST_CASE("without accepted counts every position is accepted", "[commit]") {
    one_request s(1, 20);
    s.commit(s.append({0}, {5}));
    CHECK(s.frontier() == 25);
    s.commit(s.append({0}));
    CHECK(s.frontier() == 26);
}

TEST_CASE("an accepted count out of range is taken as the nearest permitted one and counted",
          "[commit]") {
    one_request s(1, 20);
    CHECK(s.after(4, 4) == 24);
    CHECK(s.after(4, -1) == 25);
    CHECK(s.after(1, INT32_MAX) == 26);
    CHECK(s.after(1, INT32_MIN) == 27);
    CHECK(s.count_of(violation::accepted_out_of_range) == 4);
}

TEST_CASE("of two positions a row, those from 5 to 8 complete rows 2 and 3", "[commit]") {
    one_request s(2, 5);
    CHECK(s.after(3, 2) == 8);
    CHECK(s.on_host() == list{2, 3});
}

TEST_CASE("of four positions a row, those from 5 to 7 complete none", "[commit]") {
    one_request s(4, 5);
    CHECK(s.after(2, 1) == 7);
    CHECK(s.on_host().empty());
    CHECK(s.after(1, 0) == 8);
    CHECK(s.on_host() == list{1});
}

TEST_CASE("CR-07: the rows that go to the host are those from ⌊n/m⌋ to ⌊n'/m⌋, for every offset "
          "and prefix",
          "[commit]") {
    for (std::int32_t n = 12; n < 16; ++n)
        for (std::int32_t accepted = 0; accepted <= 4; ++accepted) {
            CAPTURE(n, accepted);
            one_request s(4, n);
            const auto next = s.after(5, accepted);
            CHECK(next == n + accepted + 1);
            list expected;
            for (auto row = n / 4; row < next / 4; ++row)
                expected.push_back(row);
            CHECK(s.on_host() == expected);
        }
}

TEST_CASE("all lanes of a completed row go to the host, over a page's edge too", "[commit]") {
    one_request s(1, 14);
    s.after(4, 3);
    CHECK(s.on_host() == list{14, 15, 16, 17});
    CHECK(s.counts.backed_up_rows == 4);
}

TEST_CASE("the reserved length bounds the frontier", "[commit]") {
    one_request s(1, 20, 8, 22);
    CHECK(s.after(4, 3) == 22);
    CHECK(s.on_host() == list{20, 21});
    CHECK(s.after(2, 1) == 22);
    one_request shrunk(1, 20, 8, 10); // shorter than what is committed
    CHECK(shrunk.after(2, 1) == 20);
}

TEST_CASE("a row whose page has no host page stays on the GPU alone", "[commit]") {
    one_request s(1, 14);
    s.map_host(0, 1, -1);
    CHECK(s.after(4, 3) == 18);
    CHECK(s.on_host() == list{14, 15});
    CHECK(s.counts.backed_up_rows == 2);
}

TEST_CASE("the frontier stops at the first position that has no place in a mapped page",
          "[commit]") {
    one_request s(1, 14);
    s.map(0, 1, -1);
    CHECK(s.after(4, 3) == 16);
    CHECK(s.on_host() == list{14, 15});
    CHECK(s.after(2, 1) == 16); // not one further
    s.map(0, 1, 1);
    CHECK(s.after(2, 1) == 18);
}

TEST_CASE("PP-09: committing padding writes neither tier nor tables", "[commit]") {
    one_request s(1, 14);
    const std::vector<std::byte> slab(s.slab().begin(), s.slab().end()),
        host(s.host().begin(), s.host().end());
    s.commit(s.append({-1, -1, -1}, {4, 4, 0}), {3, 0, 0});
    CHECK(s.frontier() == 14);
    CHECK(std::equal(slab.begin(), slab.end(), s.slab().begin()));
    CHECK(std::equal(host.begin(), host.end(), s.host().begin()));
}

TEST_CASE("requests of one batch commit their own prefixes", "[commit]") {
    one_request s(1, 14);
    s.open(1, 64, 30);
    s.map(1, 1, 8);
    s.map_host(1, 1, 8);
    s.commit(s.append({1, -1, 0}, {2, 2, 3}), {0, 1, 2});
    CHECK(s.tables().records[1].frontier == 31);
    CHECK(s.tables().records[0].frontier == 17);
    CHECK(s.counts.backed_up_rows == 4);
}

TEST_CASE("groups of unlike positions a row complete their own rows", "[commit]") {
    subject s(
        shape_of(16, 8, {{{.row_bytes = 128}, 1}, {{.row_bytes = 128, .positions_per_row = 4}, 1}}),
        {.k_max = 4});
    s.open(0, 64, 6);
    s.map(0, 0, 3);
    s.map_host(0, 0, 2);
    for (std::int32_t row = 0; row < 16; ++row)
        s.write(0, s.layout.group(0).at(gpu_page{3}, static_cast<std::uint32_t>(row)), row);
    for (std::int32_t row = 0; row < 4; ++row)
        s.write(1, s.layout.group(1).at(gpu_page{3}, static_cast<std::uint32_t>(row)), 100 + row);
    s.commit(s.append({0}, {3}), {2});
    CHECK(s.counts.backed_up_rows == 3 + 1);
    for (const int row : {6, 7, 8})
        CHECK(s.host_holds(0, 2, row, row));
    CHECK(s.host_holds(1, 2, 1, 101));
    CHECK_FALSE(s.host_holds(1, 2, 2, 102)); // positions 8 to 11
}

namespace {

/// Two groups of one page each, the second computed by a drafter's own pass; row r's tags are r and 100 + r.
struct two_passes : subject {
    two_passes() : subject(shape(), {.k_max = 4}) {
        open(0, 64, 8);
        tables().passes[0].draft_frontier = 8;
        map(0, 0, 3);
        map_host(0, 0, 2);
        for (std::int32_t row = 0; row < 16; ++row) write_rows(row, 0);
    }
    static dhisparse::model_shape shape() {
        auto out = shape_of(16, 8, {{{.row_bytes = 128}, 1}, {{.row_bytes = 256}, 2}});
        out.passes = {pass::target, pass::draft};
        return out;
    }
    void write_rows(std::int32_t row, std::int32_t more) {
        for (const int g : {0, 1}) write(g, layout.group(g).at(gpu_page{3}, static_cast<std::uint32_t>(row)), 100 * g + row + more);
    }
    void commit_pass(const round_ref& round, std::int32_t accepted, std::int32_t unsettled, pass of) {
        release(round);
        dhisparse::commit(step(), round, &accepted, unsettled, of);
    }
    std::int32_t frontier_of() const { return tables().frontier(0, pass::target); }
    list on_host(int g, std::int32_t more = 0) const {
        list out;
        for (std::int32_t row = 0; row < 16; ++row)
            if (host_holds(g, 2, row, 100 * g + row + more)) out.push_back(row);
        return out;
    }
};

} // namespace

TEST_CASE("each pass has its own frontier, and its commit backs up its own groups' rows", "[commit]") {
    two_passes s;
    const auto round = s.append({0}, {4});
    s.commit_pass(round, 2, 0, pass::target);
    CHECK(s.tables().frontier(0, pass::target) == 11);
    CHECK(s.tables().frontier(0, pass::draft) == 8);
    CHECK(s.on_host(0) == list{8, 9, 10});
    CHECK(s.on_host(1).empty());
    s.commit_pass(round, 1, 0, pass::draft);
    CHECK(s.tables().frontier(0, pass::target) == 11);
    CHECK(s.tables().frontier(0, pass::draft) == 10);
    CHECK(s.on_host(1) == list{8, 9});
    CHECK(s.on_host(0) == list{8, 9, 10});
}

TEST_CASE("a drafter that rewrites its rows after the target's commit leaves the rewritten bytes on the host", "[commit]") {
    two_passes s;
    const auto round = s.append({0}, {4});
    s.commit_pass(round, 2, 0, pass::target);
    for (const int row : {8, 9, 10}) s.write(1, round.group_locations(1)[row - 8], 500 + row);
    s.commit_pass(round, 2, 0, pass::draft);
    for (const int row : {8, 9, 10}) {
        CHECK(s.host_holds(1, 2, row, 500 + row));
        CHECK(s.host_holds(0, 2, row, row));
    }
}

TEST_CASE("a round of the draft pass starts at the draft pass's frontier", "[commit]") {
    two_passes s;
    s.tables().passes[0].draft_frontier = 5;
    const std::int32_t slot = 0, width = 3;
    dhisparse::round_arrays arrays(1, 4, 2, 0, 2);
    const auto round = dhisparse::append(s.step(), arrays, {.slots = &slot, .widths = &width, .n_requests = 1, .of = pass::draft});
    CHECK(list(round.query_positions, round.query_positions + 3) == list{5, 6, 7});
    CHECK(round.group_locations(1)[0] == s.layout.group(1).at(gpu_page{3}, 5));
    s.commit_pass(round, 2, 0, pass::draft);
    CHECK(s.tables().frontier(0, pass::draft) == 8);
    CHECK(s.tables().frontier(0, pass::target) == 8);
    CHECK(s.on_host(1) == list{5, 6, 7});
}

TEST_CASE("unsettled positions go to the host with the commit that settles them, as they are then", "[commit]") {
    two_passes s;
    s.commit_pass(s.append({0}, {4}), 3, 2, pass::target);
    CHECK(s.frontier_of() == 12);
    CHECK(s.on_host(0) == list{8, 9});
    CHECK(s.tables().passes[0].unsettled[0] == 2);
    for (const int row : {10, 11}) s.write_rows(row, 700);
    s.commit_pass(s.append({0}, {1}), 0, 3, pass::target); // more stay open than before, but none is taken back
    CHECK(s.on_host(0) == list{8, 9});
    CHECK(s.tables().passes[0].unsettled[0] == 3);
    s.commit_pass(s.append({0}, {0}), 0, 1, pass::target); // no new position: only settles
    CHECK(s.frontier_of() == 13);
    CHECK(s.on_host(0) == list{8, 9});
    CHECK(s.on_host(0, 700) == list{10, 11});
    CHECK(s.counts.backed_up_rows == 4);
    s.commit_pass(s.append({0}, {2}), 0, 4, pass::target); // settled positions stay settled
    CHECK(s.tables().passes[0].unsettled[0] == 2);
    CHECK(s.counts.backed_up_rows == 4);
    s.commit_pass(s.append({0}, {0}), 0, 0, pass::target);
    CHECK(s.on_host(0) == list{8, 9, 12, 13});
}
