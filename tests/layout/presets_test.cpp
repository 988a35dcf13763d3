// Presets load, are the data that they come from, and make pages that stock kernels take; a pipeline stage
// is a slice of one.
#include <dhisparse/layout/page_layout.hpp>
#include <dhisparse/layout/shape_json.hpp>
#include <dhisparse/plan/planner.hpp>
#include <dhisparse/policy/layout/page_major.hpp>
#include <dhisparse/policy/layout/source_planes.hpp>
#include <dhisparse/preset/models.hpp>
#include <dhisparse/memory/buffer.hpp>
#include <dhisparse/resolve/resolve_args.hpp>

#include "catch.hpp"
#include "real_shapes.hpp"
#include "refusal.hpp"

#include <filesystem>
#include <map>
#include <set>

using namespace dhisparse;
using Catch::Matchers::ContainsSubstring;
using dhisparse_test::refusal;

namespace {

/// The bytes from a block's start to the end of its last row.
std::int64_t block_bytes(const source_placement& lane) {
    std::int64_t end = 0;
    for (int i = 0; i < lane.n_runs; ++i)
        end = std::max(end, lane.runs[i].offset_bytes + (lane.rows_per_block.divisor - 1) * lane.runs[i].stride_bytes + lane.runs[i].bytes);
    return end;
}

template <class Check>
void for_each_preset(Check check) {
    std::vector<model_shape> shapes;
    for (const auto& name : preset::names()) shapes.push_back(preset::named(name));
    shapes.push_back(dhisparse_test::v4_1_in_528_bytes(preset::deepseek_v4_1_flash()));
    for (const auto& shape : shapes) {
        const auto& name = shape.name;
        const auto hot_pages = 4096 / shape.page_positions;
        for (const bool planes : {false, true}) {
            CAPTURE(name, planes);
            check(shape, [&](std::int64_t pages) {
                const layout_limits limits{pages, hot_pages, 1};
                return planes ? page_layout::make<source_planes>(shape, limits) : page_layout::make<page_major>(shape, limits);
            });
        }
    }
}

/// Pages with which group g's last location exceeds `at`, and its place in the slab 32 bits.
std::int64_t pages_beyond(const page_layout& layout, int g, std::int64_t at) {
    const auto& lane = layout.lanes()[static_cast<std::size_t>(layout.group(g).first_lane)];
    const auto a_page = lane.offset_bytes(layout.group(g).at(gpu_page{1}, 0), 0) - lane.offset_bytes(layout.group(g).at(gpu_page{0}, 0), 0);
    return std::max(at / layout.group(g).locations_per_page, (std::int64_t{1} << 32) / a_page) + 2;
}

} // namespace

TEST_CASE("PL-13 the list of announcing layers is the model's own, and covers every layer with rows", "[presets]") {
    const auto shape = preset::glm_5_3();
    std::vector<int> leaders;
    for (const auto& said : shape.announcements) leaders.push_back(said.layer);
    REQUIRE(leaders.size() == 21);
    CHECK(std::vector(leaders.begin(), leaders.begin() + 5) == std::vector{0, 1, 2, 6, 10});
    for (int layer = 0; layer < 78; ++layer) {
        const auto leader = *(std::upper_bound(leaders.begin(), leaders.end(), layer) - 1);
        std::vector<int> readers;
        for (const auto& said : shape.announcements)
            if (std::count(said.consumers.begin(), said.consumers.end(), layer)) readers.push_back(said.layer);
        CHECK(readers == std::vector{leader});
    }
    auto headless = shape;
    headless.announcements.erase(headless.announcements.begin());
    CHECK(refusal([&] { validate(headless); }) == "groups[0]: layer 0 is among the consumers of no announcement for this group");
    auto forgetful = shape;
    forgetful.announcements[2].consumers = {2, 3, 5};
    CHECK(refusal([&] { validate(forgetful); }) == "groups[2]: layer 4 is among the consumers of no announcement for this group");
}

TEST_CASE("presets are the data that they come from", "[presets]") {
    const std::filesystem::path data = DHISPARSE_DATA_DIR "/../../../shared/models";
    CHECK(preset::names().size() >= 10);
    CHECK(preset::glm_5_3() == preset::named("glm-5.3"));
    CHECK_THAT(refusal([] { (void)preset::named("glm-6"); }), ContainsSubstring("model is glm-6, permitted: deepseek-v3.2"));
    if (!std::filesystem::exists(data)) return dhisparse_test::skip("no ../shared/models here");
    for (const auto& name : preset::names()) {
        CAPTURE(name);
        auto shape = preset::named(name);
        CHECK(shape.name == name);
        shape.max_positions = 0; // not in the data, but in the tables of models.md
        const auto from = data / (name + ".json");
        if (std::filesystem::exists(from)) CHECK(shape == load_shape(from.string())); // a model of one's own has none
    }
}

TEST_CASE("PL-03 rows have their packed width and pages hold little else", "[presets]") {
    const std::map<std::string, std::int64_t> widths{
        {"deepseek-v3.2-indexcache4", 656}, {"deepseek-v3.2", 656}, {"deepseek-v4-flash", 584}, {"deepseek-v4-pro", 584},     {"deepseek-v4.1-flash", 288},
        {"glm-5.1", 656},                   {"glm-5.3-flash", 528}, {"glm-5.3", 656},           {"minimax-m3-kvhead", 65536}, {"qwen3.8-flash-next", 8192}};
    for_each_preset([&](const model_shape& shape, auto make) {
        const auto layout = make(16);
        std::int64_t bytes = 0;
        for (const auto& source : shape.sources) {
            const auto known = widths.find(shape.name);
            if (known != widths.end()) CHECK(source.row_bytes == known->second);
            bytes += shape.page_positions / source.positions_per_row * source.row_bytes;
        }
        CHECK(layout.payload_bytes() == bytes);
        CHECK(layout.page_bytes() - layout.payload_bytes() <= layout.payload_bytes() / 50);
    });
}

TEST_CASE("stock kernels can read the rows of every preset", "[presets]") {
    for_each_preset([](const model_shape& shape, auto make) {
        const auto layout = make(7);
        const buffer<host_resource> slab({}, layout.slab_bytes(), 128, {}, "slab");
        for (std::size_t i = 0; i < layout.lanes().size(); ++i) {
            const auto& lane = layout.lanes()[i];
            const auto view = layout.view(slab.data(), static_cast<int>(i));
            CHECK(reinterpret_cast<std::uintptr_t>(view.base) % 16 == 0);
            const auto base = view.base - slab.data();
            CHECK(lane.runs[0].stride_bytes == lane.runs[0].bytes); // packed
            CHECK(base + (view.n_blocks - 1) * view.block_stride_bytes + block_bytes(lane) <= layout.slab_bytes());
            CHECK((view.rows - 1) / view.rows_per_block < view.n_blocks);
            const auto& source = shape.sources[i];
            REQUIRE(layout.lane_of_layer(source.layer) == static_cast<int>(i));
            const bool packed = source.runs.empty();
            CHECK(view.block_stride_bytes % (packed ? source.row_bytes : std::max<std::int64_t>(source.alignment_bytes, 16)) == 0);
            const auto& group = layout.group(static_cast<int>(std::distance(shape.groups.begin(), std::find_if(shape.groups.begin(), shape.groups.end(), [&](const auto& g) { return std::count(g.begin(), g.end(), source.layer) > 0; }))));
            const auto from_page_to_page = lane.offset_bytes(group.at(gpu_page{3}, 0), 0) - lane.offset_bytes(group.at(gpu_page{2}, 0), 0);
            CHECK(from_page_to_page % (packed ? source.row_bytes : view.block_stride_bytes) == 0);
        }
    });
}

TEST_CASE("stock kernels find the strides that they ask for, by number", "[presets]") {
    const std::map<std::string, std::int64_t> multiples{{"deepseek-v3.2", 656}, {"deepseek-v4-flash", 576}, {"deepseek-v4-pro", 576}, {"deepseek-v4.1-flash", 288}, {"deepseek-v4.1-flash, rows of 528 bytes", 512},
                                                        {"glm-5.1", 656},       {"glm-5.3", 656},           {"glm-5.3-flash", 528}};
    std::size_t seen = 0;
    for_each_preset([&](const model_shape& shape, auto make) {
        const auto wanted = multiples.find(shape.name);
        if (wanted == multiples.end()) return;
        ++seen;
        const auto layout = make(7);
        for (const auto& lane : layout.lanes()) CHECK(lane.block_stride_bytes % wanted->second == 0);
    });
    CHECK(seen == 2 * multiples.size());
}

TEST_CASE("locations are padded to whole 64s", "[presets]") {
    const std::map<std::string, std::int32_t> padded{{"deepseek-v3.2", 2048}, {"deepseek-v3.2-indexcache4", 2048}, {"deepseek-v4-flash", 512}, {"deepseek-v4-pro", 1024},
                                                     {"deepseek-v4.1-flash", 512}, {"glm-5.1", 2048}, {"glm-5.3", 2048}, {"glm-5.3-flash", 2112}, {"minimax-m3-kvhead", 64}, {"qwen3.8-flash-next", 576}};
    for (const auto& name : preset::names()) {
        CAPTURE(name);
        const auto width = padded.at(std::string(name));
        const auto k = preset::named(name).k;
        CHECK(padded_width({nullptr, k, k}, {nullptr, width}) == width);
        CHECK(refusal([&, k = k, width = width] { (void)padded_width({nullptr, k, k}, {nullptr, width - 1}); }) == text("location stride is ", width - 1, ", permitted: at least k_padded = ", width));
    }
}

TEST_CASE("index blocks of every preset are reached by one linear id", "[presets]") {
    for_each_preset([](const model_shape& shape, auto make) {
        const auto layout = make(7);
        const auto& index = layout.index();
        CHECK(index.pitch_bytes % 16 == 0);
        for (const auto& source : shape.sources) {
            const auto keys = shape.page_positions / source.key_positions();
            CHECK(keys * source.index_key_bytes <= index.pitch_bytes); // values of all keys, then scales of all keys
            if (source.index_key_bytes == 132) CHECK(keys * 128 % 4 == 0); // so that the scales behind the values are aligned
        }
        std::set<std::int32_t> ids;
        for (std::int32_t page = 0; page < 7; ++page)
            for (std::int32_t i = 0; i < index.blocks_per_page; ++i) ids.insert(layout.index_block(gpu_page{page}, i));
        CHECK(ids.size() == static_cast<std::size_t>(7 * index.blocks_per_page));
        CHECK(*ids.begin() >= 0);
        CHECK((std::int64_t{*ids.rbegin()} + 1) * index.pitch_bytes <= layout.slab_bytes());
    });
}

TEST_CASE("every preset's rows above location 3,728,270 are addressed in 64 bits", "[presets]") {
    for_each_preset([](const model_shape&, auto make) {
        const auto small = make(2);
        for (int g = 0; g < small.n_groups(); ++g) {
            const auto pages = pages_beyond(small, g, 3'728'270);
            const auto layout = make(pages);
            const auto& group = layout.group(g);
            const auto last = group.at(gpu_page{static_cast<std::int32_t>(pages - 1)}, group.rows_per_page.divisor - 1);
            CHECK(last > 3'728'270);
            CHECK(layout.lanes()[static_cast<std::size_t>(group.first_lane)].offset_bytes(last, 0) > std::int64_t{1} << 32);
            for (int i = group.first_lane; i < group.first_lane + group.n_lanes; ++i) {
                const auto& lane = layout.lanes()[static_cast<std::size_t>(i)];
                CHECK(last < lane.rows);
                for (int run = 0; run < lane.n_runs; ++run) {
                    const auto block = last / static_cast<std::int32_t>(lane.rows_per_block.divisor), row = last % static_cast<std::int32_t>(lane.rows_per_block.divisor);
                    const auto wanted = static_cast<__int128>(lane.base_bytes) + static_cast<__int128>(block) * lane.block_stride_bytes +
                                        lane.runs[run].offset_bytes + static_cast<__int128>(row) * lane.runs[run].stride_bytes;
                    CHECK((lane.offset_bytes(last, run) == wanted && lane.offset_bytes(last, run) + lane.runs[run].bytes <= layout.slab_bytes()));
                }
            }
        }
    });
}

TEST_CASE("PL-04 groups of one head size and other positions a row keep their own rows a page", "[presets]") {
    const auto row = [](int m) { return dhisparse_test::row_with_scales(256, m, 576); };
    const auto shape = dhisparse_test::shape_of(256, 64, {{row(1), 1}, {row(4), 1}, {row(128), 1}});
    const auto layout = page_layout::make<page_major>(shape, {8, 1, 1});
    REQUIRE(layout.n_groups() == 3);
    CHECK(layout.group(0).rows_per_page.divisor == 256);
    CHECK(layout.group(1).rows_per_page.divisor == 64);
    CHECK(layout.group(2).rows_per_page.divisor == 2);
    CHECK(layout.page_bytes() - layout.payload_bytes() <= layout.payload_bytes() / 50);
    auto mixed = shape;
    mixed.groups = {{0, 1}, {2}};
    mixed.announcements = {{0, 0, {0, 1}}, {2, 1, {2}}};
    CHECK_THAT(refusal([&] { validate(mixed); }), ContainsSubstring("groups[0]: layer 1 has other rows than layer 0"));
}

TEST_CASE("PL-12 a pipeline stage keeps the model's layer numbers and holds its own layers only", "[presets]") {
    const auto whole = plan::with_row_bytes(preset::glm_5_3(), 16);
    const auto stage = whole.slice({30, 30});
    CHECK(stage.layers == 78);
    CHECK(stage.sources.size() == 30);
    CHECK(stage.groups.front() == std::vector{30, 31, 32, 33});
    CHECK(stage.groups.back() == std::vector{58, 59});
    CHECK_FALSE(stage.drafter.has_value());
    CHECK(whole.slice({60, 18}).drafter == whole.drafter);
    CHECK(whole.slice({0, 78}) == whole);
    const auto late = whole.slice({60, 18}); // the first of its groups is announced by layer 58, elsewhere
    CHECK(late.announcements.front() == announcement_shape{58, 0, {60, 61}});
    CHECK(refusal([&] { validate(late); }).empty());
    CHECK(refusal([&] { (void)whole.slice({70, 9}); }) == "stage of 9 layers from 70, permitted: within layers 0 to 77");
    CHECK(refusal([&] { (void)whole.slice({0, 0}); }) == "stage of 0 layers from 0, permitted: within layers 0 to 77");
    CHECK(refusal([] { (void)preset::deepseek_v4_1_flash().slice({22, 18}); }) ==
          "layer 22 reads the rows of layer 20, which is not among layers 22 to 39 of the stage");
}
