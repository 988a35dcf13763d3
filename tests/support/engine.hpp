/// A small engine for named tests: it imports prompts, decodes and looks rows up in a hierarchy of any
/// policies, and checks every row's bytes. Its requests never share a token.
#pragma once

#include "catch.hpp"
#include "model_shapes.hpp"
#include "row_bytes.hpp"
#include "subject.hpp"

#include <map>
#include <memory>
#include <set>

namespace dhisparse_test {

inline dh::hierarchy_config plain_config(const plain_shape_options& shape = {}) {
    dh::hierarchy_config config;
    config.shape = plain_shape(shape);
    config.pool_pages = 64;
    config.host_pages = 64;
    config.slots = 4;
    config.hot_pages = (shape.k * shape.m + shape.page_positions - 1) / shape.page_positions;
    return config;
}

class engine {
public:
    std::unique_ptr<subject> it;

    explicit engine(const dh::hierarchy_config& config, int combination = 0) : it(make_subject(combination, config)), p_(config.shape.page_positions), k_(config.shape.k) {
        const auto& shape = it->layout().shape();
        for (std::size_t g = 0; g < shape.groups.size(); ++g) {
            windows_.emplace_back();
            for (const int layer : shape.groups[g]) windows_[g].emplace_back(it->view(layer), shape.sources[static_cast<std::size_t>(dh::source_of(shape, layer))]);
        }
        it->copier().move_bytes_at_once(false);
    }

    dh::page_counts pages() const { return it->ledger().pages(); }
    const dh::ledger& ledger() const { return it->ledger(); }
    int frontier(dh::slot_id slot) const { return it->tables().records[slot.index].frontier; }
    int page_map(dh::slot_id slot, int page) const { return it->tables().page_map(slot.index)[page]; }
    int host_map(dh::slot_id slot, int page) const { return it->tables().host_map(slot.index)[page]; }

    /// The request must fit now.
    dh::slot_id admit(int positions, int growth = 0) {
        const auto slot = it->try_admit({positions, growth});
        REQUIRE(slot.has_value());
        auto& tokens = tokens_[slot->index];
        tokens.clear();
        for (int t = 0; t < positions; ++t) tokens.push_back(next_token());
        prompts_[slot->index] = positions;
        return *slot;
    }

    /// One that shares the first positions of another's prefix; it must fit now.
    dh::slot_id admit_sharing(dh::slot_id from, int positions, int growth, dh::prefix_id prefix, int shared) {
        const auto slot = it->try_admit({positions, growth, prefix, shared});
        REQUIRE(slot.has_value());
        const auto& source = tokens_[from.index];
        std::vector<token> tokens(source.begin(), source.begin() + shared);
        while (static_cast<int>(tokens.size()) < positions) tokens.push_back(next_token());
        tokens_[slot->index] = tokens;
        prompts_[slot->index] = positions;
        for (int page = 0; page < it->ledger().shared_positions(*slot) / p_; ++page) landed_[key(*slot)].insert(page);
        return *slot;
    }
    /// A row of group 0 lies in this page.
    void check_row_at(dh::slot_id slot, dh::gpu_page page, int row) {
        const auto& group = it->layout().group(0);
        check_row(slot, 0, group.at(page, static_cast<std::uint32_t>(row) % group.rows_per_page.divisor), row);
    }

    /// Takes page by page what there is, writes and lands it; true where that was the whole prompt.
    bool import_some(dh::slot_id slot) {
        bool all = true;
        for (int page = 0; page < (prompts_[slot.index] + p_ - 1) / p_; ++page) {
            if (landed_[key(slot)].contains(page)) continue;
            const auto given = it->import_pages(slot, page, 1);
            if (given.empty()) { all = false; continue; }
            write_page(slot, page, given[0]);
            it->landed(slot, page, 1);
            landed_[key(slot)].insert(page);
        }
        return all;
    }

    /// The whole import, with as many plans as its window needs until all of its pages are where they stay.
    void import(dh::slot_id slot) {
        for (int i = 0; !import_some(slot); ++i) {
            REQUIRE(i < 1000);
            advance();
        }
        it->finish_import(slot);
        for (int i = 0; i < 3; ++i) advance();
        decoding_.push_back(slot);
    }

    dh::slot_id start(int positions, int growth = 0) {
        const auto slot = admit(positions, growth);
        import(slot);
        return slot;
    }

    void finish(dh::slot_id slot) {
        it->finish(slot);
        std::erase(decoding_, slot);
    }

    /// Every copy happens, every ticket and frontier is reported.
    const dh::step_plan& advance() {
        it->copier().release_all();
        return advance(completed(), frontiers());
    }
    const dh::step_plan& advance(const std::vector<dh::ticket>& tickets, const std::vector<dh::frontier_report>& reports) { return it->advance(tickets, reports); }
    std::vector<dh::ticket> completed() {
        const auto done = it->completed();
        return {done.begin(), done.end()};
    }
    std::vector<dh::frontier_report> frontiers() const {
        std::vector<dh::frontier_report> out;
        for (const auto slot : decoding_) out.push_back({slot, frontier(slot)});
        return out;
    }

    /// One round of this slot; accepted < width. Returns the new frontier.
    int round(dh::slot_id slot, int width = 1, int accepted = 0) {
        const auto round = append(slot, width);
        const std::int32_t a = accepted;
        it->commit(round, &a);
        tokens_[slot.index].resize(static_cast<std::size_t>(frontier(slot)));
        return frontier(slot);
    }
    /// n plain steps, each followed by a plan.
    void decode(dh::slot_id slot, int n) {
        for (; n > 0; --n) {
            round(slot);
            advance();
        }
    }
    dh::round_ref append(dh::slot_id slot, int width) {
        const std::int32_t s = slot.index, w = width;
        const auto round = it->append({&s, &w, 1});
        for (int j = 0; j < width; ++j) write_position(slot, round, j);
        return round;
    }

    /// Locations of these rows of group 0 for a query at the next position, which is not committed.
    /// Each row that has a location has its bytes there.
    std::vector<dh::location> look_up(dh::slot_id slot, const std::vector<std::int32_t>& rows) {
        const auto round = append(slot, 1);
        std::vector<dh::location> at(rows.size());
        const auto n = static_cast<std::int32_t>(rows.size());
        it->resolve(round, it->layout().shape().announcements[0], {rows.data(), n, n}, {at.data(), n, n});
        for (std::size_t i = 0; i < rows.size(); ++i)
            if (at[i] >= 0) check_row(slot, 0, at[i], rows[i]);
        tokens_[slot.index].resize(static_cast<std::size_t>(frontier(slot)));
        return at;
    }
    /// Looks up all rows of group 0 below the frontier, k at a time; every one must be found.
    void check_history(dh::slot_id slot) {
        const int rows = frontier(slot) / it->layout().group(0).positions_per_row;
        for (int row = 0; row < rows; row += k_) {
            std::vector<std::int32_t> some;
            for (int i = row; i < std::min(rows, row + k_); ++i) some.push_back(i);
            for (const auto at : look_up(slot, some)) REQUIRE(at >= 0);
        }
    }

    /// The bytes of a row in the host tier are the request's.
    bool host_row_is_there(dh::slot_id slot, int row) {
        const auto& group = it->layout().group(0);
        const auto per_page = static_cast<int>(group.rows_per_page.divisor);
        const auto page = host_map(slot, row / per_page);
        if (page < 0) return false;
        const auto* from = it->tiers().host + group.host_offset(dh::host_page{page}, it->layout().host_page_bytes(), static_cast<std::uint32_t>(row % per_page));
        const auto& window = windows_[0][0];
        const std::vector<std::byte> got(from, from + window.view.row_bytes);
        return got == row_bytes(slot, 0, 0, row);
    }

    std::vector<std::byte> row_bytes(dh::slot_id slot, int g, int lane, int row) {
        const int m = it->layout().group(g).positions_per_row;
        auto& tokens = tokens_[slot.index];
        const auto& window = windows_[static_cast<std::size_t>(g)][static_cast<std::size_t>(lane)];
        std::vector<std::byte> out(static_cast<std::size_t>(window.view.row_bytes));
        make_row({tokens.data() + row * m, static_cast<std::size_t>(m)}, window.layer, out);
        return out;
    }
    void write_page(dh::slot_id slot, int page, dh::gpu_page at) {
        for (int g = 0; g < it->layout().n_groups(); ++g) {
            const auto& group = it->layout().group(g);
            const int per_page = static_cast<int>(group.rows_per_page.divisor);
            for (int i = 0; i < per_page && (page * per_page + i + 1) * group.positions_per_row <= prompts_[slot.index]; ++i)
                for (std::size_t lane = 0; lane < windows_[static_cast<std::size_t>(g)].size(); ++lane)
                    windows_[static_cast<std::size_t>(g)][lane].write(group.at(at, static_cast<std::uint32_t>(i)), row_bytes(slot, g, static_cast<int>(lane), page * per_page + i));
        }
    }

private:
    static std::pair<int, std::uint32_t> key(dh::slot_id slot) { return {slot.index, slot.generation}; }
    token next_token() { return mix(++n_tokens_) | 1; }

    void write_position(dh::slot_id slot, const dh::round_ref& round, int j) {
        auto& tokens = tokens_[slot.index];
        const int t = frontier(slot) + j;
        tokens.resize(static_cast<std::size_t>(t));
        tokens.push_back(next_token());
        for (int g = 0; g < it->layout().n_groups(); ++g) {
            const int m = it->layout().group(g).positions_per_row;
            const auto at = round.group_locations(g)[j];
            if (at < 0 || (t + 1) % m != 0) continue;
            for (std::size_t lane = 0; lane < windows_[static_cast<std::size_t>(g)].size(); ++lane)
                windows_[static_cast<std::size_t>(g)][lane].write(at, row_bytes(slot, g, static_cast<int>(lane), t / m));
        }
    }
    void check_row(dh::slot_id slot, int g, dh::location at, int row) {
        for (std::size_t lane = 0; lane < windows_[static_cast<std::size_t>(g)].size(); ++lane) {
            const auto& window = windows_[static_cast<std::size_t>(g)][lane];
            std::vector<std::byte> got(static_cast<std::size_t>(window.view.row_bytes));
            window.read(at, got);
            INFO("slot " << slot.index << ", row " << row << ", location " << at << ", lane " << lane);
            REQUIRE(got == row_bytes(slot, g, static_cast<int>(lane), row));
        }
    }

    int p_, k_;
    std::uint64_t n_tokens_ = 0;
    std::vector<std::vector<row_window>> windows_;
    std::map<int, std::vector<token>> tokens_; // by slot index
    std::map<int, int> prompts_;
    std::map<std::pair<int, std::uint32_t>, std::set<int>> landed_;
    std::vector<dh::slot_id> decoding_;
};

} // namespace dhisparse_test
