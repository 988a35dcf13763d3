// A token's results do not depend on what is processed beside it, on the threads, or on where rows
// lie.
#include "session.hpp"

#include "catch.hpp"

#include <cstring>
#include <numeric>
#include <random>

namespace {

using namespace tiny_dsa_test;
using tiny_dsa::instruction_set;

/// All that a run over a text leaves behind, as bits.
struct trace {
    std::vector<float> logits, features, draft_rows;
    std::vector<std::uint16_t> rows, keys;
    std::vector<std::int32_t> selections; // [tokens][4 producers][256]

    bool operator==(const trace&) const = default;
};

template <class T>
void append(std::vector<T>& to, std::span<const T> from) {
    to.insert(to.end(), from.begin(), from.end());
}

void append_stored(trace& t, session<>& s, int n) {
    constexpr int row = tiny_dsa::row_width, key = tiny_dsa::key_width,
                  kv = tiny_dsa::draft_kv_width;
    for (int p = 0; p < n; ++p) {
        for (int l = 0; l < tiny_dsa::n_layers; ++l) {
            append<std::uint16_t>(t.rows, {s.store().row_at(l, 0, p), row});
        }
        for (int i = 0; i < tiny_dsa::n_producers; ++i) {
            append<std::uint16_t>(t.keys, {s.store().key_at(i, 0, p), key});
        }
        for (int l = 0; l < tiny_dsa::n_draft_layers; ++l) {
            append<float>(t.draft_rows, {s.draft_store().at(l, 0, p).k, kv});
            append<float>(t.draft_rows, {s.draft_store().at(l, 0, p).v, kv});
        }
    }
}

trace run(const bytes& text, std::size_t chunk, const tiny_dsa::load_options& options) {
    session s(static_cast<int>(text.size()), options);
    trace t;
    s.process_chunks(text, chunk, [&](std::size_t, std::size_t length) {
        append(t.logits, s.all_logits());
        append(t.features, s.features());
        for (int i = 0; i < static_cast<int>(length); ++i) {
            for (int p = 0; p < tiny_dsa::n_producers; ++p) {
                append(t.selections, s.store().selection(p, i));
            }
        }
    });
    append_stored(t, s, static_cast<int>(text.size()));
    return t;
}

void require_same(const trace& a, const trace& b) {
    REQUIRE((a.rows == b.rows));
    REQUIRE((a.keys == b.keys));
    REQUIRE((a.selections == b.selections));
    REQUIRE((a.features == b.features));
    REQUIRE((a.logits == b.logits));
    REQUIRE((a.draft_rows == b.draft_rows));
}

/// Rows of position p at location map[p]; everything else as in the flat store.
class scattered_store : public tiny_dsa::flat_store {
public:
    explicit scattered_store(int n_positions, int n_requests)
        : flat_store(n_positions, n_requests), map_(static_cast<std::size_t>(capacity())) {
        std::iota(map_.begin(), map_.end(), 0);
        std::shuffle(map_.begin(), map_.end(), std::mt19937_64(dhisparse_test::seed()));
    }
    void begin(std::span<const tiny_dsa::token> tokens) {
        flat_store::begin(tokens);
        tokens_.assign(tokens.begin(), tokens.end());
    }
    std::uint16_t* row(int layer, int i) override {
        return row_at(layer, 0, map_[static_cast<std::size_t>(tokens_[i].position)]);
    }
    void select(int producer, std::span<const std::int32_t> selections) override {
        flat_store::select(producer, selections);
        locations_[producer].clear();
        for (const std::int32_t s : selections) {
            locations_[producer].push_back(s < 0 ? -1 : map_[static_cast<std::size_t>(s)]);
        }
    }
    tiny_dsa::rows_view rows(int layer, int i) override {
        const auto& all = locations_[tiny_dsa::producer_of_layer[layer]];
        return {row_at(layer, 0, 0),
                std::span(all).subspan(static_cast<std::size_t>(i) * 256, 256)};
    }

private:
    std::vector<std::int32_t> map_;
    std::vector<tiny_dsa::token> tokens_;
    std::vector<std::int32_t> locations_[tiny_dsa::n_producers];
};

} // namespace

TEST_CASE("chunks of any size give the same bits", "[tiny_dsa]") {
    const bytes text = story(0, 300);
    const trace expected = run(text, text.size(), {.n_threads = 2});
    for (const std::size_t chunk : {1, 3, 64, 257}) {
        CAPTURE(chunk);
        require_same(run(text, chunk, {.n_threads = 2}), expected);
    }
}

TEST_CASE("chunks give the same bits with each instruction set", "[tiny_dsa]") {
    const auto set =
        GENERATE(instruction_set::baseline, instruction_set::avx2, instruction_set::avx512);
    if (const auto* const kernels = tiny_dsa::find_kernels(set)) {
        CAPTURE(kernels->name);
        const bytes text = story(0, 270);
        const trace expected = run(text, text.size(), {.n_threads = 2, .instructions = set});
        require_same(run(text, 7, {.n_threads = 2, .instructions = set}), expected);
    }
}

TEST_CASE("any number of threads gives the same bits", "[tiny_dsa]") {
    const bytes text = story(1000, 270);
    const trace expected = run(text, 100, {.n_threads = 1});
    for (const int n_threads : {2, 5}) {
        CAPTURE(n_threads);
        require_same(run(text, 100, {.n_threads = n_threads}), expected);
    }
}

TEST_CASE("requests of one batch do not change each other", "[tiny_dsa]") {
    const bytes texts[] = {story(0, 290), story(3000, 330)};
    session together(400, {.n_threads = 2}, 2);
    session alone(400, {.n_threads = 2}, 2);
    for (int r = 0; r < 2; ++r) { // uneven prompts, then two bytes of each at a time
        const auto prompt = tiny_dsa::tokens_at(
            r, 0, std::span(texts[r]).first(280 + 40 * static_cast<std::size_t>(r)));
        together.process(prompt);
        alone.process(prompt);
    }
    for (int step = 0; step < 5; ++step) {
        std::vector<tiny_dsa::token> batch;
        for (int r = 0; r < 2; ++r) {
            const int position = 280 + 40 * r + 2 * step;
            for (int p = position; p < position + 2; ++p) {
                batch.push_back({r, p, texts[r][static_cast<std::size_t>(p)]});
            }
        }
        together.process(batch);
        std::vector<float> expected;
        for (const tiny_dsa::token& t : batch) {
            alone.process({&t, 1});
            append(expected, alone.all_logits());
        }
        REQUIRE(std::equal(expected.begin(), expected.end(), together.all_logits().begin()));
    }
}

TEST_CASE("rows may lie anywhere", "[tiny_dsa]") {
    const bytes text = story(500, 350);
    session<tiny_dsa::flat_store> flat(350);
    session<scattered_store> scattered(350);
    flat.process(0, text);
    scattered.process(0, text);
    REQUIRE(std::ranges::equal(flat.all_logits(), scattered.all_logits()));
}

TEST_CASE("logits are of the last tokens, as many as there is room for", "[tiny_dsa]") {
    const bytes text = story(0, 70);
    const auto tokens = tiny_dsa::tokens_at(0, 0, text);
    session s(70);
    s.process(tokens);
    const std::vector<float> all(s.all_logits().begin(), s.all_logits().end());
    for (const std::size_t n : {0, 1, 50}) {
        std::vector<float> some(n * 256);
        s.model().forward(tokens, s.store(), {.logits = some});
        REQUIRE(
            std::equal(some.begin(), some.end(), all.end() - static_cast<std::ptrdiff_t>(n * 256)));
    }
}

TEST_CASE("blocks drafted together are those drafted alone", "[tiny_dsa]") {
    const bytes text = story(0, 300);
    session s(320, {.n_threads = 2}, 3);
    for (int r = 0; r < 3; ++r) {
        s.process(tiny_dsa::tokens_at(
            r, 0, std::span(text).first(300 - 140 * static_cast<std::size_t>(r))));
    }
    const std::vector<tiny_dsa::token> anchors{{0, 300, 'a'}, {1, 160, ' '}, {2, 20, 'e'}};
    const int length = GENERATE(2, 4, 8);
    const std::size_t k = static_cast<std::size_t>(length);
    bytes proposed(3 * (k - 1)), proposed_alone;
    std::vector<float> logits(3 * k * 256), logits_alone;
    s.drafter().propose(anchors, length, s.draft_store(), {.proposed = proposed, .logits = logits});
    for (const tiny_dsa::token& anchor : anchors) {
        append<std::uint8_t>(proposed_alone, s.propose(anchor, length));
        append(logits_alone, s.all_draft_logits());
    }
    REQUIRE(proposed == proposed_alone);
    REQUIRE((logits == logits_alone));
}
