// What the facade refuses at construction: each message names the field, its value and what is permitted.
#include "catch.hpp"
#include "engine.hpp"
#include "refusal.hpp"

using namespace dhisparse_test;

namespace {

/// The refusal of plain_config() with one change.
template <class Change>
std::string refused(Change change) {
    auto config = plain_config();
    change(config);
    const auto asked = refusal([&] { (void)dh::hierarchy<>::bytes_needed(config); });
    const auto made = refusal([&] { dh::hierarchy<> kv(config); });
    CHECK((asked.empty() || asked == made)); // known before anything is allocated
    return made;
}

using config = dh::hierarchy_config;

struct stages_nothing : dh::host_backend {
    static constexpr const char* name = "plain";
    static constexpr bool stages = false;
};

} // namespace

TEST_CASE("a field out of range is refused with its name, value and range", "[hierarchy]") {
    CHECK(refused([](config&) {}).empty());
    CHECK(refused([](config& c) { c.slots = 0; }) == "slots is 0, permitted: 1 to 1048576");
    CHECK(refused([](config& c) { c.hot_pages = -1; }) == "hot_pages is -1, permitted: 0 to 65534");
    CHECK(refused([](config& c) { c.k_max = 0; }) == "k_max is 0, permitted: 1 to 65534");
    CHECK(refused([](config& c) { c.steps_ahead = 65; }) == "steps_ahead is 65, permitted: 0 to 64");
    CHECK(refused([](config& c) { c.steps_ahead = -1; }) == "steps_ahead is -1, permitted: 0 to 64");
    CHECK(refused([](config& c) { c.reserve_pages = 65; }) == "reserve_pages is 65, permitted: 0 to 64");
    CHECK(refused([](config& c) { c.tail_pages = -1; }) == "tail_pages is -1, permitted: at least 1 for k_max 1 and steps_ahead 1 (0: 3)");
    CHECK(refused([](config& c) { c.pool_pages = -3; }) == "pool_pages is -3, permitted: 0 to 2147483647");
    CHECK(refused([](config& c) { c.pool_bytes = -3; }) == "pool_bytes is -3, permitted: 0 to 9223372036854775807");
    CHECK(refused([](config& c) { c.host_pages = -3; }) == "host_pages is -3, permitted: 0 to 2147483647");
    CHECK(refused([](config& c) { c.host_bytes = -3; }) == "host_bytes is -3, permitted: 0 to 9223372036854775807");
    CHECK(refused([](config& c) { c.max_requests = 1 << 20; c.k_max = 17; c.hot_pages = 17; }) == "max_requests x k_max is 17825792, permitted: 1 to 16777216");
    CHECK(refused([](config& c) { c.max_requests = -1; }) == "max_requests is -1, permitted: 0 to 1048576");
    CHECK(refused([](config& c) { c.metadata_bytes = -1; }) == "metadata_bytes is -1, permitted: 0 to 9223372036854775807");
    CHECK(refused([](config& c) { c.max_positions = -1; }) == "max_positions is -1, permitted: 0 to 1073741824");
}

TEST_CASE("tail pages fewer than the steps ahead need are refused", "[hierarchy]") {
    CHECK(refused([](config& c) { c.k_max = 4, c.hot_pages = 4, c.tail_pages = 1; }) == "tail_pages is 1, permitted: at least 2 for k_max 4 and steps_ahead 1 (0: 4)");
    CHECK(refused([](config& c) { c.k_max = 4, c.hot_pages = 4, c.tail_pages = 2; }).empty());
    CHECK(refused([](config& c) { c.steps_ahead = 0, c.tail_pages = 1; }).empty());
}

TEST_CASE("a pool or metadata that serve no request at all are refused", "[hierarchy]") {
    CHECK(refused([](config& c) { c.pool_pages = 3; }) == "the pool has 3 pages; one request needs at least 4 (1 hot, 3 tail, index keys)");
    CHECK(refused([](config& c) { c.pool_pages = 0; c.pool_bytes = 100; }) == "the pool has 100 bytes, less than one page of 512");
    CHECK(refused([](config& c) { c.metadata_bytes = 100; }).empty()); // rounded up to 128: page map, host map and index of 8 pages
    CHECK(refused([](config& c) { c.metadata_bytes = 128, c.shape.page_positions = 8, c.shape.k = 8; }) == "metadata holds 128 bytes; one request needs at least 192");
}

TEST_CASE("a hot cache smaller than what a round selects is refused by a backend that stages nothing", "[hierarchy]") {
    const auto refused_without = [](auto change) {
        auto c = plain_config();
        change(c);
        CHECK(refusal([&] { (void)dh::hierarchy<>::bytes_needed(c); }).empty()); // staged instead
        return refusal([&] { (void)dh::hierarchy<stages_nothing>::bytes_needed(c); });
    };
    const std::string what = "the hot cache of group 0 has ", permitted = " entries, permitted on backend plain: at least k_max x k = ";
    CHECK(refused_without([](config& c) { c.hot_pages = 0; }) == what + "0" + permitted + "4");
    CHECK(refused_without([](config& c) { c.k_max = 3; c.hot_pages = 2; }) == what + "8" + permitted + "12");
    CHECK(refused_without([](config& c) { c.shape.k = 5; }) == what + "4" + permitted + "5");
    CHECK(refused_without([](config& c) { c.hot_pages = 0; c.host_pages = 0; }).empty()); // nothing is ever missing
    CHECK(refused_without([](config& c) { c.hot_pages = 1; c.shape.sources[0].positions_per_row = 2; }) == what + "2" + permitted + "4");
}

TEST_CASE("more hot entries and selected rows than codes are refused with the sum", "[hierarchy]") {
    CHECK(refused([](config& c) { c.hot_pages = 16'383; c.pool_pages = 20'000; }) == "group 0 needs hot entries + k_max x k = 65532 + 1 x 4 = 65536, permitted: up to 65534");
}

TEST_CASE("a wrong shape is refused with the field's name", "[hierarchy]") {
    CHECK(refused([](config& c) { c.shape.k = 0; }) == "k is 0, permitted: 1 to 16777216");
    CHECK(refused([](config& c) { c.shape.sources[0].row_bytes = 0; }) == "sources[0].row_bytes is 0, permitted: 1 to 2147483647");
    CHECK(refused([](config& c) { c.shape.announcements[0].group = 1; }) == "announcements[0].group is 1, permitted: 0 to 0");
}

TEST_CASE("calls with a layer, a group or a width that is not there are refused", "[hierarchy]") {
    engine e(plain_config());
    const auto slot = e.start(5, 5);
    const auto round = e.append(slot, 1);
    std::vector<std::int32_t> rows(16), at(128);
    const auto said = e.it->layout().shape().announcements[0];
    const auto resolve = [&](const dh::announcement_shape& a, const dh::selection_ref& s, const dh::locations_ref& out) { return refusal([&] { e.it->resolve(round, a, s, out); }); };
    CHECK(resolve(said, {rows.data(), 4, 0}, {at.data(), 64}) == "k of a selection is 0, permitted: 1 to 4");
    CHECK(resolve(said, {rows.data(), 5, 5}, {at.data(), 64}) == "k of a selection is 5, permitted: 1 to 4");
    CHECK(resolve(said, {rows.data(), 3, 4}, {at.data(), 64}) == "selection stride is 3, permitted: at least k = 4");
    CHECK(resolve(said, {rows.data(), 4, 4}, {at.data(), 63}) == "location stride is 63, permitted: at least k_padded = 64");
    CHECK(resolve(said, {rows.data(), 4, 4}, {at.data(), 64, 3}) == "k_padded is 3, permitted: at least k = 4");
    CHECK(resolve({.layer = 0, .group = 1}, {rows.data(), 4, 4}, {at.data(), 64}) == "group is 1, permitted: 0 to 0");
    CHECK(refusal([&] { (void)e.it->view(1); }) == "layer is 1, permitted: 0 to 0");
    CHECK(refusal([&] { (void)e.it->row(1, 0, 0); }) == "layer 1 writes no source of this shape");
    CHECK(refusal([&] { (void)e.it->append({nullptr, nullptr, 5}); }) == "requests of a batch is 5, permitted: 0 to 4");
}
