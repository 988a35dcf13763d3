/// Definitions for random_program.hpp: one round, and what its append, resolves and commit must answer.
#pragma once

#include "random_program.hpp"

namespace dhisparse_test {

inline void random_program::round() {
    choose_batch();
    rewrite_unsettled();
    append();
    for (const auto& said : config_.shape.announcements) {
        if (!random_.one_in(8)) resolve(said);
        if (random_.one_in(8)) {
            it_->release(round_);
            release();
        }
    }
    if (random_.one_in(10)) return note("round dropped");
    commit();
}

/// Widest round of the request whose positions are all mapped; -1 where none is.
inline int random_program::widest(const model_request& r) {
    int w = 0;
    while (w < config_.k_max && r.n + w < r.device_positions && r.device_gpu[(r.n + w) / model_->p()] >= 0) ++w;
    return w;
}

inline void random_program::choose_batch() {
    batch_.clear();
    for (auto& [uid, r] : model_->requests) {
        if (r.ended || !r.decoding || random_.one_in(4)) continue;
        const int w = widest(r);
        const bool full = r.n + w >= r.device_positions && random_.one_in(8); // runs beyond the reserved length
        batch_.push_back({uid, r.id.index, full ? config_.k_max : random_.one_in(3) ? random_.between(0, w) : w, {}});
    }
    const int spare = max_requests_ - static_cast<int>(batch_.size());
    for (int i = random_.between(0, std::min(2, spare)); i > 0; --i) {
        int slot = -1;
        if (random_.one_in(4)) slot = random_.pick({-7, config_.slots, 99, random_.between(0, config_.slots - 1)});
        if (slot >= 0 && slot < config_.slots && model_->on_device[slot] >= 0) slot = -1;
        batch_.push_back({-1, slot, random_.between(0, config_.k_max), {}});
    }
    random_.shuffle(batch_);
    if (!batch_.empty() && static_cast<int>(batch_.size()) < max_requests_ && random_.one_in(8)) {
        auto again = batch_.front();
        if (again.uid >= 0) batch_.push_back({-2, again.slot, again.width, {}}); // the same slot once more
    }
}

inline void random_program::append() {
    std::vector<std::int32_t> slots, widths;
    queries_.clear();
    for (auto& b : batch_) {
        slots.push_back(b.slot);
        widths.push_back(b.width);
        if (random_.one_in(30)) {
            widths.back() = b.width == 0 ? -3 : b.width == config_.k_max ? config_.k_max + 2 : b.width;
            model_->tally.violations[static_cast<int>(dh::violation::width_out_of_range)] += widths.back() != b.width;
        }
        model_->tally.violations[static_cast<int>(dh::violation::slot_repeated)] += b.uid == -2;
        model_->tally.violations[static_cast<int>(dh::violation::slot_not_live)] += b.uid == -1 && b.slot != -1;
        if (b.uid < 0) b.uid = -1;
        else
            for (auto& cache : model_->requests.at(b.uid).caches) cache.drop();
        for (int j = 0; j < b.width; ++j) queries_.push_back({b.uid, b.uid < 0 ? -1 : model_->requests.at(b.uid).n + j});
    }
    const bool all_one = std::all_of(widths.begin(), widths.end(), [](int w) { return w == 1; });
    note(dh::text("append ", batch_.size(), " requests, ", queries_.size(), " queries"));
    round_ = it_->append({slots.data(), all_one ? nullptr : widths.data(), static_cast<std::int32_t>(slots.size())});
    expect_equal(round_.n_queries, static_cast<int>(queries_.size()), "queries of the round");
    int q = 0;
    for (std::size_t i = 0; i < batch_.size(); ++i) {
        auto& b = batch_[i];
        expect_equal(round_.first_query[i], q, "first query of request ", i);
        expect_equal(round_.slots[i], b.uid < 0 ? -1 : b.slot, "slot of request ", i);
        for (int j = 0; j < b.width; ++j, ++q) {
            expect_equal(round_.query_positions[q], queries_[q].position, "position of query ", q);
            expect_equal(round_.query_slots[q], b.uid < 0 ? -1 : b.slot, "slot of query ", q);
            if (b.uid >= 0) write_position(model_->requests.at(b.uid), b, q, j);
            else
                for (int g = 0; g < model_->n_groups(); ++g) expect_equal(round_.group_locations(g)[q], -1, "location of a padding query");
        }
    }
    expect_equal(round_.first_query[batch_.size()], q, "end of the queries");
}

/// The model's write of position n + j: the rows that it completes, or its part of a partial one, and its index key.
inline void random_program::write_position(model_request& r, const request_of_round& b, int q, int j) {
    const int t = r.n + j, page = t / model_->p();
    const bool mapped = t < r.device_positions && r.device_gpu[page] >= 0;
    model_->tally.violations[static_cast<int>(dh::violation::position_not_mapped)] += !mapped;
    r.tokens.resize(static_cast<std::size_t>(t));
    r.tokens.push_back(mix(next_token_++) | 1);
    for (int g = 0; g < model_->n_groups(); ++g) {
        const int m = model_->m(g);
        const auto where = round_.group_locations(g)[q];
        expect_equal(where, mapped ? model_->at(g, r.device_gpu[page], t % model_->p() / m) : -1, "location of query ", q, " in group ", g, " of ", model_->name(r));
        digest(where);
        if (mapped) write_rows(r, t, g, where);
    }
    for (int i = 0; i < model_->n_keys(); ++i) {
        if (!mapped) { expect_equal(round_.source_blocks(i)[q], -1, "index block of a position that is not mapped"); continue; }
        expect_equal(round_.source_blocks(i)[q], it_->tables().index_table(b.slot, i)[page], "index block of query ", q);
        auto* key = model_->key_at(r, i, t);
        for (std::int64_t byte = 0; model_->has_key(i, t) && byte < model_->key_bytes(i); ++byte) key[byte] = row_byte(r.tokens[t], -1 - i, byte);
    }
}

/// What position t makes of its row of group g, all lanes: the row where t completes it, or its part of a partial one.
inline void random_program::write_rows(model_request& r, int t, int g, dh::location where) {
    const int m = model_->m(g), first = t / m * m;
    if (t + 1 - first < m && !model_->partial(g)) return;
    std::vector<std::byte> row;
    std::vector<token> tokens(r.tokens.begin() + first, r.tokens.begin() + t + 1);
    tokens.resize(static_cast<std::size_t>(m));
    for (const auto& window : model_->windows[g]) {
        row.resize(static_cast<std::size_t>(window.view.row_bytes));
        window.read(where, row);
        make_row(tokens, window.layer, row);
        window.write(where, row);
        for (std::size_t run = 0; run < window.runs.size(); ++run)
            expect(it_->row(window.layer, where, static_cast<int>(run)) == window.at(where, run), "row() of layer ", window.layer, ", run ", run);
    }
}

/// A second pass: unsettled positions get other bytes in every group. Their pages are in the tail, mapped.
inline void random_program::rewrite_unsettled() {
    for (auto& [uid, r] : model_->requests) {
        if (r.ended || !r.decoding || r.unsettled == 0 || random_.one_in(2)) continue;
        for (int t = r.n - r.unsettled; t < r.n; ++t) {
            r.tokens[static_cast<std::size_t>(t)] = mix(next_token_++) | 1;
            expect(r.device_gpu[static_cast<std::size_t>(t / model_->p())] >= 0, model_->name(r), ": unsettled position ", t, " is not mapped");
            for (int i = 0; i < model_->n_keys(); ++i)
                for (std::int64_t byte = 0; model_->has_key(i, t) && byte < model_->key_bytes(i); ++byte) model_->key_at(r, i, t)[byte] = row_byte(r.tokens[static_cast<std::size_t>(t)], -1 - i, byte);
        }
        for (int g = 0; g < model_->n_groups(); ++g) // a row that has one of them is written again as a whole
            for (int row = (r.n - r.unsettled) / model_->m(g); row * model_->m(g) < r.n; ++row)
                write_rows(r, std::min((row + 1) * model_->m(g), r.n) - 1, g,
                           model_->at(g, r.device_gpu[static_cast<std::size_t>(row / model_->rows_per_page(g))], row % model_->rows_per_page(g)));
    }
}

inline std::int32_t random_program::choose_row(int visible) {
    const int g = random_.between(0, model_->n_groups() - 1);
    const int kind = random_.between(0, 31), per_page = model_->rows_per_page(g);
    if (kind < 3) return -1;
    if (kind == 3) return random_.pick({visible, visible + 1, visible + random_.between(0, 500), -2, INT_MIN, INT_MAX});
    if (visible == 0) return random_.one_in(2) ? -1 : 0;
    if (kind < 10) return std::max(0, visible - 1 - random_.between(0, 3));
    if (kind < 16) return std::min(visible - 1, random_.between(0, visible / per_page) * per_page + (random_.one_in(2) ? per_page - 1 : 0));
    if (kind < 22) return std::min(visible - 1, random_.between(0, 7));
    return random_.between(0, visible - 1);
}

inline std::vector<std::int32_t> random_program::choose_selection(const query& q, int g, int k) {
    std::vector<std::int32_t> rows(static_cast<std::size_t>(k), -1);
    const int visible = q.uid < 0 ? 100 : model_->visible(g, std::min(q.position + 1, model_->requests.at(q.uid).device_positions));
    if (random_.one_in(20)) return rows;
    for (int i = 0; i < k; ++i) rows[i] = i > 0 && random_.one_in(8) ? rows[random_.between(0, i - 1)] : choose_row(visible);
    return rows;
}

/// What the resolve must answer for queries [first, first + n); counts, and moves the hot cache on.
inline std::vector<dh::location> random_program::expected_locations(model_request& r, int g, int first, int n, int k, std::int64_t stride) {
    std::vector<dh::location> out(static_cast<std::size_t>(n * k), -1);
    std::vector<reference_cache::use> wanted; // not in mapped pages
    auto& tally = model_->tally;
    auto& cache = r.caches[g];
    const int per_page = model_->rows_per_page(g);
    const auto in_pool = [&](int i) { // -1: no row
        const int visible = model_->visible(g, std::min(queries_[first + i / k].position + 1, r.device_positions));
        const auto row = selection_[static_cast<std::size_t>((first + i / k) * stride + i % k)];
        if (row >= 0 && row < visible) return row;
        tally.violations[static_cast<int>(dh::violation::row_out_of_range)] += row != -1;
        return -1;
    };
    std::map<int, int> missed; // entry of out → row
    for (int i = 0; i < n * k; ++i) {
        const int row = in_pool(i);
        if (row < 0) continue;
        ++tally.selected;
        const int page = row / per_page;
        if (r.device_gpu[page] >= 0) {
            out[i] = model_->at(g, r.device_gpu[page], row % per_page);
            ++(page >= r.device_tail ? tally.tail : tally.history);
            continue;
        }
        expect(r.pages[page].copied == dh::durability::durable, model_->name(r), ": row ", row, " of group ", g, " is in neither tier");
        ++(cache.entry_of(row) >= 0 ? tally.hot : tally.host);
        missed[i] = row;
        wanted.push_back({row, i / k});
    }
    const auto fetched = cache.resolve(wanted);
    tally.staged_rows += cache.staged().size();
    tally.host_rows += fetched.size();
    tally.host_bytes += fetched.size() * model_->windows[g].size() * static_cast<std::size_t>(model_->windows[g][0].view.row_bytes);
    for (const auto& [i, row] : missed) {
        const int entry = cache.entry_of(row);
        out[i] = entry < 0 ? model_->staged_at(g, r.id.index, cache.place_of(row)) : model_->at(g, r.hot[entry / per_page], entry % per_page);
    }
    return out;
}

/// The end of the last resolve's locations, in every request of the round.
inline void random_program::release() {
    for (const auto& b : batch_)
        if (b.uid >= 0)
            for (auto& cache : model_->requests.at(b.uid).caches) model_->tally.promoted_rows += static_cast<std::uint64_t>(cache.release());
}

inline void random_program::resolve(const dh::announcement_shape& said) {
    const int n = static_cast<int>(queries_.size()), k = random_.one_in(3) ? random_.between(1, config_.shape.k) : config_.shape.k;
    const std::int64_t stride = k + random_.pick({0, 0, 5});
    const int k_padded = random_.one_in(2) ? 0 : k + random_.between(0, 9), padded = k_padded ? k_padded : (k + 63) / 64 * 64;
    const std::int64_t out_stride = padded + random_.pick({0, 0, 3});
    selection_.assign(static_cast<std::size_t>(n * stride), 0x7F7F7F7F);
    for (int q = 0; q < n; ++q) {
        const auto rows = choose_selection(queries_[q], said.group, k);
        std::copy(rows.begin(), rows.end(), selection_.begin() + q * stride);
    }
    std::vector<dh::location> at(static_cast<std::size_t>(n * out_stride), 123456);
    std::vector<std::int32_t> valid(static_cast<std::size_t>(n), 99);
    note(dh::text("resolve group ", said.group, ", k ", k));
    release();
    it_->resolve(round_, said, {selection_.data(), stride, k}, {at.data(), out_stride, k_padded, valid.data()});
    int q = 0;
    for (const auto& b : batch_) {
        std::vector<dh::location> wanted(static_cast<std::size_t>(b.width * k), -1);
        auto* r = b.uid < 0 ? nullptr : &model_->requests.at(b.uid);
        if (r && b.width > 0) wanted = expected_locations(*r, said.group, q, b.width, k, stride);
        for (int j = 0; j < b.width; ++j, ++q) {
            int n_valid = 0;
            for (int i = 0; i < out_stride; ++i) {
                const auto want = i < k ? wanted[j * k + i] : i < padded ? -1 : 123456;
                const auto row = i < k ? selection_[static_cast<std::size_t>(q * stride + i)] : -1;
                expect_equal(at[static_cast<std::size_t>(q * out_stride + i)], want, "location of query ", q, " entry ", i, ", row ", row, " of request ", b.uid);
                digest(want);
                if (i >= k || want < 0) continue;
                ++n_valid;
                const int m = model_->m(said.group), first = row * m, known = std::min({m, static_cast<int>(r->tokens.size()) - first, r->device_positions - first});
                std::vector<token> tokens(r->tokens.begin() + first, r->tokens.begin() + first + known);
                tokens.resize(static_cast<std::size_t>(m));
                model_->expect_row(said.group, want, tokens, dh::text(model_->name(*r), " group ", said.group, " row ", row, " selected by query ", q));
            }
            expect_equal(valid[q], n_valid, "valid count of query ", q);
        }
        if (r) model_->check_cache(*r, said.group);
    }
}

inline void random_program::commit() {
    std::vector<std::int32_t> accepted;
    const bool all = random_.one_in(3);
    const int unsettled = random_.between(0, config_.max_unsettled);
    for (const auto& b : batch_) {
        const int last = std::max(0, b.width - 1);
        accepted.push_back(all ? last : random_.between(0, last));
        auto told = accepted.back();
        if (!all && random_.one_in(30)) told = told == 0 ? -4 : told == last ? last + 3 : told;
        model_->tally.violations[static_cast<int>(dh::violation::accepted_out_of_range)] += told != accepted.back() && b.uid >= 0 && b.width > 0;
        std::swap(told, accepted.back());
        if (b.uid >= 0) commit_one(b, b.width > 0 ? told : -1, unsettled);
    }
    release();
    note(dh::text("commit", all ? " all" : ""));
    it_->commit(round_, all && random_.one_in(2) ? nullptr : accepted.data(), unsettled);
}

inline void random_program::commit_one(const request_of_round& b, int accepted, int unsettled) {
    auto& r = model_->requests.at(b.uid);
    const int next = accepted < 0 ? r.n : std::min(r.n + accepted + 1, r.device_positions), before = r.n - r.unsettled;
    const int settled = std::max(before, next - unsettled);
    expect_equal(it_->settled_positions(r.id), before, "settled positions of ", model_->name(r), " before the commit");
    for (int g = 0; g < model_->n_groups(); ++g)
        for (int row = before / model_->m(g); row < settled / model_->m(g); ++row) {
            const int page = row / model_->rows_per_page(g);
            model_->tally.backed_up_rows += r.device_gpu[page] >= 0 && r.device_host[page] >= 0;
        }
    if (settled != before) r.frontiers.push_back(settled);
    r.n = next;
    r.unsettled = next - settled;
    r.tokens.resize(static_cast<std::size_t>(next));
}

} // namespace dhisparse_test
