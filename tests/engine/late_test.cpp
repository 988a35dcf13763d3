// The serving loop over a hierarchy whose copies take their time, or fail.
#include "catch.hpp"

#include <engine/alone.hpp>
#include <engine/tiny_model.hpp>

#include <fstream>
#include <iterator>

using namespace dhisparse_test;

namespace {

namespace dh = dhisparse;

/// A copy is done some steps after it was posted, and moves its bytes only then; the nth fails.
class late_copier {
public:
    void post(const dh::page_copy& copy, const dh::tiers_ref& tiers) {
        waiting_.push_back({copy, tiers, steps_ + static_cast<int>(posted_.size() % 5)});
        posted_.push_back(copy.id);
    }
    void done(std::vector<dh::ticket>& out) {
        ++steps_;
        std::erase_if(waiting_, [&](const job& j) {
            if (j.due >= steps_) return false;
            const bool fails = j.copy.id == fails_;
            if (!fails) dh::copy_now(j.copy, j.tiers);
            out.push_back(fails ? dh::failure_of(j.copy.id) : j.copy.id);
            return true;
        });
    }
    void fail(dh::ticket id) { fails_ = id; }
    const std::vector<dh::ticket>& posted() const { return posted_; }

private:
    struct job {
        dh::page_copy copy;
        dh::tiers_ref tiers;
        int due;
    };
    std::vector<job> waiting_;
    int steps_ = 0;
    std::vector<dh::ticket> posted_;
    dh::ticket fails_ = 0;
};

using hierarchy = dh::hierarchy<dh::basic_host_backend<late_copier>>;
using model = engine::tiny_model<hierarchy>;
using loop = engine::serving_loop<hierarchy, model>;

engine::bytes story(int first, int n) {
    std::ifstream in(DHISPARSE_DATA_DIR "/story.txt", std::ios::binary);
    const engine::bytes all{std::istreambuf_iterator<char>(in), {}};
    return {all.begin() + first, all.begin() + first + n};
}

std::vector<engine::request> requests() {
    std::vector<engine::request> out;
    for (const auto& [step, first, n, tokens] : {std::array{0, 0, 630, 20}, {1, 1500, 630, 20}, {2, 3000, 100, 12}, {30, 0, 300, 6}}) {
        out.push_back({.arrival_step = step, .prompt = story(first, n)});
        out.back().tokens = tokens;
    }
    return out;
}

struct run_result {
    std::vector<engine::reply> replies;
    engine::loop_counts counts;
    dh::ledger_counts ledger;
    std::vector<dh::ticket> copies;
    dh::page_counts pages;
    int free_host = 0;
};

run_result serve(tiny_dsa::model& target, int pool_pages, dh::ticket fails) {
    dh::hierarchy_config config;
    config.shape = decode::tiny_shape();
    config.pool_pages = pool_pages;
    config.host_pages = 100;
    config.slots = 4;
    config.hot_pages = 4;
    config.max_positions = 1000;
    hierarchy kv(config);
    kv.executor().copier().fail(fails);
    model callbacks(kv, target, std::nullopt, 4, 1);
    loop serving({.kept_prefixes = 4}, kv, callbacks, 4, {});
    const auto asked = requests();
    run_result out;
    out.replies = serving.run(asked);
    for (int i = 0; i < 8; ++i) kv.advance({}, kv.completed(), {});
    out.counts = serving.counts();
    out.ledger = kv.ledger().counts();
    out.copies = kv.executor().copier().posted();
    out.pages = kv.ledger().pages();
    out.free_host = kv.ledger().free_host_pages();
    for (int v = 0; v < dh::n_violations; ++v) CHECK(kv.counts().violations[v] == 0);
    return out;
}

} // namespace

TEST_CASE("copies that are late, in another order, or fail change no other request's output", "[engine]") {
    auto target = tiny_dsa::model::load(DHISPARSE_DATA_DIR, {.n_threads = 1});
    std::vector<engine::bytes> expected;
    for (const auto& asked : requests()) expected.push_back(engine::alone(target).output(asked));
    const auto undisturbed = serve(target, 17, 0);
    CHECK(undisturbed.counts.parks > 0);
    CHECK(undisturbed.counts.shared_pages > 0);
    CHECK(undisturbed.ledger.failed_copies == 0);
    const auto check = [&](const run_result& got) {
        for (std::size_t i = 0; i < expected.size(); ++i) {
            CAPTURE(i);
            const auto& reply = got.replies[i];
            const bool failed = reply.how == engine::ending::failed;
            if (!failed) CHECK(reply.how == engine::ending::finished);
            if (!failed) CHECK(reply.output == expected[i]);
            CHECK(std::equal(reply.output.begin(), reply.output.end(), expected[i].begin()));
        }
        CHECK(got.pages.free == got.pages.capacity);
        CHECK(got.free_host == 100);
    };
    check(undisturbed);
    for (const double share : {0.3, 0.8}) {
        const auto id = undisturbed.copies.at(static_cast<std::size_t>(share * static_cast<double>(undisturbed.copies.size())));
        CAPTURE(share, id);
        const auto got = serve(target, 17, id);
        CHECK(got.ledger.failed_copies == 1);
        check(got);
    }
}
