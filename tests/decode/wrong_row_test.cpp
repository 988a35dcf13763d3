// A wrong row in the host tier is found: by the check of rows, and by comparing logits.
#include "catch.hpp"

#include <decode/compare.hpp>
#include <decode/copy_history.hpp>
#include <decode/machine.hpp>

#include <fstream>
#include <iterator>
#include <limits>

using namespace decode;

namespace {

constexpr int n_prompt = 400, n_few = 3;
constexpr dh::demand each{n_prompt, n_few};
using host_session = session<host_machine, dh::default_policies>;

dh::hierarchy_config config(std::int32_t pool_pages, std::int32_t host_pages) {
    dh::hierarchy_config out;
    out.shape = tiny_shape();
    out.pool_pages = pool_pages;
    out.host_pages = host_pages;
    out.hot_pages = host_pages > 0 ? 4 : 0;
    out.steps_ahead = 0;
    return out;
}

bytes prompt() {
    std::ifstream in(DHISPARSE_DATA_DIR "/story.txt");
    bytes all{std::istreambuf_iterator<char>(in), {}};
    all.resize(n_prompt);
    return all;
}

/// Two sessions with the same prompt, the second one's history in the host tier.
struct pair {
    tiny_dsa::model model = tiny_dsa::model::load(DHISPARSE_DATA_DIR);
    host_session resident{config(10, 0), each}, tiered{config(4 + 2 + 1, 7), each};
    bytes first = prefill(resident, model, std::vector<bytes>(1, prompt()), [](int) {});

    pair() { copy_history(resident, tiered); }

    /// Changes the lowest bit of the last byte of each host row of a group, in its last lane.
    void spoil(int g) {
        auto& kv = tiered.kv();
        const auto& group = kv.layout().group(g);
        for (int t = 0; t < n_prompt / page_positions * page_positions; ++t) {
            const auto page = dh::host_page{kv.tables().host_map(0)[t / page_positions]};
            const auto row = group.host_offset(page, kv.layout().host_page_bytes(),
                                               static_cast<std::uint32_t>(t % page_positions));
            kv.tiers().host[row + group.host_row_bytes - 1] ^= std::byte{1};
        }
    }
};

} // namespace

TEST_CASE("a wrong byte in the host tier is found", "[decode]") {
    pair both;
    const int spoiled = GENERATE(-1, 0, 2, 3);
    if (spoiled >= 0) both.spoil(spoiled);
    const auto nothing = [](std::span<const std::uint8_t>) {};
    const auto expected =
        decode_bytes(both.resident, both.model, both.first, n_few, nullptr, nothing);
    const resident_map map(both.resident, n_prompt + n_few);
    row_check check([&](int layer, int request, int t) {
        return both.resident.row(layer, map.at(layer, request, t));
    });
    const auto got = decode_bytes(both.tiered, both.model, both.first, n_few, &check, nothing);
    CHECK(check.n_verified() + check.n_wrong() == 4 * 256 * n_few);
    CHECK((check.n_wrong() > 0) == (spoiled >= 0));
    CHECK(first_difference(expected, got, &check).empty() == (spoiled < 0));
    CHECK(first_difference(expected, got, nullptr).empty() == (spoiled < 0));
}

TEST_CASE("what differs is said", "[decode]") {
    decoded expected;
    expected.texts = {{1, 2}};
    expected.logits.assign(512, 0.0f);
    auto got = expected;
    CHECK(first_difference(expected, got, nullptr).empty());
    got.counts.count(dh::violation::row_unreachable, 3);
    CHECK(first_difference(expected, got, nullptr) == "3 broken preconditions of kind 1");
    got.logits[300] = -0.0f;
    CHECK(first_difference(expected, got, nullptr) == "a logit of step 1 is -0, resident: 0");
    got.texts[0][1] = 3;
    CHECK(first_difference(expected, got, nullptr) == "new byte 1 of request 0 is 3, resident: 2");
}

TEST_CASE("OB-13 a logit that is no number differs from every number, and not from itself", "[decode]") {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const auto of = [](float logit) {
        decoded out;
        out.texts = {{1}};
        out.logits.assign(256, logit);
        return out;
    };
    CHECK_FALSE(first_difference(of(nan), of(1.0f), nullptr).empty());
    CHECK_FALSE(first_difference(of(1.0f), of(nan), nullptr).empty());
    CHECK(first_difference(of(nan), of(nan), nullptr).empty()); // bit for bit
    CHECK_FALSE(first_difference(of(nan), of(-nan), nullptr).empty());
}
