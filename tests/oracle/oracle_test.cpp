// What tests compare with: rows addressed and made without the library, of which no two are alike.
#include "catch.hpp"
#include "engine.hpp"
#include "tagged_rows.hpp"

#include <cstring>

using namespace dhisparse_test;

TEST_CASE("OB-01 rows that are read with another layer's offset, or a row further on, are found wrong in either tier", "[oracle]") {
    engine e(plain_config({.lanes = 3}));
    const auto slot = e.start(40, 20);
    e.it->reclaim(10);
    for (int i = 0; i < 3; ++i) e.advance();
    const std::vector<std::int32_t> rows{0, 9, 22, 31};
    const auto at = e.look_up(slot, rows); // out of the host tier; compared with the oracle, every lane
    const auto& shape = e.it->layout().shape();
    std::vector<std::byte> got(128);
    for (int lane = 0; lane < 3; ++lane)
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const auto wanted = e.row_bytes(slot, 0, lane, rows[i]);
            for (int seen = 0; seen < 3; ++seen) {
                row_window({e.it->view(seen)}, shape.sources[static_cast<std::size_t>(seen)]).read(at[i], got);
                CHECK((got == wanted) == (seen == lane));
            }
            row_window({e.it->view(lane)}, shape.sources[static_cast<std::size_t>(lane)]).read(at[i] == 0 ? 1 : at[i] - 1, got);
            CHECK(got != wanted);
        }
    CHECK(e.host_row_is_there(slot, 22));
    e.it->tiers().host[e.it->layout().group(0).host_offset(dh::host_page{e.host_map(slot, 5)}, e.it->layout().host_page_bytes(), 2)] ^= std::byte{1};
    CHECK_FALSE(e.host_row_is_there(slot, 22));
}

TEST_CASE("OB-12 every row, layer and column of the test data has bytes of its own, scales too", "[oracle]") {
    constexpr int n_rows = 128, n_layers = 4;
    constexpr std::size_t row_bytes = 656, scale = 4;
    std::set<std::vector<std::byte>> scales, words, tagged;
    std::vector<std::byte> row(row_bytes);
    std::size_t n_words = 0;
    for (int r = 0; r < n_rows; ++r)
        for (int layer = 0; layer < n_layers; ++layer) {
            const token of = mix(static_cast<std::uint64_t>(r) + 1) | 1;
            make_row({&of, 1}, layer, row);
            scales.insert({row.end() - scale, row.end()});
            for (auto word = row.begin(); word < row.end(); word += 8, ++n_words) words.insert({word, word + 8});
            std::vector<std::byte> tag;
            for (std::size_t i = row_bytes - 2 * scale; i < row_bytes; ++i) tag.push_back(tagged_byte(r, layer, static_cast<std::int64_t>(i)));
            tagged.insert(tag);
        }
    CHECK(scales.size() == n_rows * n_layers);
    CHECK(words.size() == n_words);
    CHECK(tagged.size() == n_rows * n_layers);
}

TEST_CASE("OB-12 two rows whose scales are exchanged are found wrong", "[oracle]") {
    auto config = plain_config({.page_positions = 8, .row_bytes = 68});
    config.shape.sources[0].runs = {{0, 64, 64}, {8 * 64, 4, 4}}; // all values of a block, then all scales
    engine e(config);
    const auto slot = e.start(16, 8);
    const auto at = e.look_up(slot, {2, 5});
    const row_window window(e.it->view(0), config.shape.sources[0]);
    std::vector<std::byte> got(68);
    const auto right = [&] {
        window.read(at[0], got);
        return got == e.row_bytes(slot, 0, 0, 2);
    };
    REQUIRE(right());
    std::swap_ranges(window.at(at[0], 1), window.at(at[0], 1) + 4, window.at(at[1], 1));
    CHECK_FALSE(right());
}
