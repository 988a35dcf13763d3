/// Definitions for fault_program.hpp: rounds, and what must hold after every operation.
#pragma once

#include "fault_program.hpp"

namespace dhisparse_test {

inline void fault_program::round() {
    std::vector<request*> batch;
    for (auto& [s, r] : requests_)
        if (r.ready && !random_.one_in(3) && r.frontiers.size() <= static_cast<std::size_t>(config_.steps_ahead)) batch.push_back(&r);
    if (batch.empty()) return;
    std::vector<std::int32_t> slots, widths, accepted;
    for (const auto* r : batch) {
        slots.push_back(r->id.index);
        widths.push_back(random_.between(1, config_.k_max));
        accepted.push_back(random_.between(0, widths.back() - 1));
    }
    const auto round = it_->append({}, {slots.data(), widths.data(), static_cast<std::int32_t>(slots.size())});
    for (std::size_t i = 0; i < batch.size(); ++i) {
        auto& r = *batch[i];
        for (int j = 0; j < widths[i]; ++j) {
            r.tokens.push_back(mix(++n_tokens_) | 1);
            write_position(r, round, round.first_query[i] + j, static_cast<int>(r.tokens.size()) - 1);
        }
    }
    resolve(round, batch);
    it_->commit({}, round, accepted.data());
    std::string what = "round";
    for (auto* r : batch) {
        const int n = it_->tables().records[r->id.index].frontier;
        expect(n <= static_cast<int>(r->tokens.size()), name(*r), " committed more than was appended");
        r->tokens.resize(static_cast<std::size_t>(n));
        r->frontiers.push_back(n);
        what += dh::text(" ", r->id.index, ":", n);
    }
    note(what);
}

inline void fault_program::write_position(const request& r, const dh::round_ref& round, int q, int t) {
    for (std::size_t g = 0; g < windows_.size(); ++g) {
        const auto at = round.group_locations(static_cast<int>(g))[q];
        if (at < 0 || (t + 1) % m(g) != 0) continue;
        for (std::size_t lane = 0; lane < windows_[g].size(); ++lane)
            windows_[g][lane].write(at, row_of({r.tokens.data() + t + 1 - m(g), static_cast<std::size_t>(m(g))}, g, lane));
    }
    for (int i = 0; i < static_cast<int>(key_bytes_.size()); ++i) {
        const auto block = round.source_blocks(i)[q];
        const auto n = key_positions_[static_cast<std::size_t>(i)];
        if (block < 0 || (t + 1) % n != 0) continue;
        auto* key = it_->index_base() + block * it_->layout().index().pitch_bytes + t % p() / n * key_bytes_[static_cast<std::size_t>(i)];
        for (std::int64_t b = 0; b < key_bytes_[static_cast<std::size_t>(i)]; ++b) key[b] = row_byte(r.tokens[static_cast<std::size_t>(t)], -1 - i, b);
    }
}

/// A random selection of committed rows a query; each must be found, with its bytes, and stay there for the step.
inline void fault_program::resolve(const dh::round_ref& round, const std::vector<request*>& batch) {
    for (const auto& said : it_->shape().announcements) {
        const auto g = static_cast<std::size_t>(said.group);
        const int k = config_.shape.k;
        std::vector<std::int32_t> selection(static_cast<std::size_t>(round.n_queries * k), -1);
        std::vector<dh::location> at(selection.size(), 12345);
        std::vector<const request*> of(selection.size());
        for (std::size_t i = 0; i < batch.size(); ++i)
            for (int q = round.first_query[i]; q < round.first_query[i + 1]; ++q)
                for (int j = 0; j < k; ++j) {
                    const int rows = round.frontiers[i] / m(g);
                    const auto e = static_cast<std::size_t>(q * k + j);
                    of[e] = batch[i];
                    if (rows > 0) selection[e] = random_.between(0, rows - 1);
                }
        it_->resolve({}, round, said, {selection.data(), k, k}, {at.data(), k, k});
        for (std::size_t e = 0; e < at.size(); ++e) {
            if (selection[e] < 0) continue;
            const auto& r = *of[e];
            expect(at[e] >= 0, name(r), " row ", selection[e], " is nowhere");
            const std::vector<token> tokens(r.tokens.begin() + selection[e] * m(g), r.tokens.begin() + (selection[e] + 1) * m(g));
            expect_at(g, at[e], tokens, dh::text("resolved row ", selection[e], " of ", name(r)));
            const auto page = it_->tables().page_map(r.id.index)[selection[e] / (p() / m(g))];
            if (page >= 0) readers_.push_back({g, at[e], tokens, 0});
        }
    }
}

// ---- what must hold

inline std::vector<std::byte> fault_program::row_of(std::span<const token> tokens, std::size_t g, std::size_t lane) const {
    std::vector<std::byte> out(static_cast<std::size_t>(windows_[g][lane].view.row_bytes));
    make_row(tokens, windows_[g][lane].layer, out);
    return out;
}

inline void fault_program::expect_at(std::size_t g, dh::location at, std::span<const token> tokens, const std::string& what) const {
    for (std::size_t lane = 0; lane < windows_[g].size(); ++lane) {
        std::vector<std::byte> got(static_cast<std::size_t>(windows_[g][lane].view.row_bytes));
        windows_[g][lane].read(at, got);
        expect(got == row_of(tokens, g, lane), what, ": other bytes at location ", at, ", lane ", lane);
    }
}

inline void fault_program::check(int n_samples) {
    for (auto& [s, r] : requests_)
        if (r.opened && it_->tables().live(s)) check_request(r, n_samples);
    for (const auto& at : readers_) expect_at(at.g, at.at, at.tokens, "a step in flight reads");
}

inline void fault_program::check_request(const request& r, int n_samples) {
    const bool all = n_samples >= 1000;
    const int n = r.imported && it_->tables().records[r.id.index].frontier > 0 ? it_->tables().records[r.id.index].frontier : 0;
    for (std::size_t g = 0; g < windows_.size(); ++g) {
        const int rows = n / m(g);
        for (int i = 0; i < (all ? rows : std::min(rows, n_samples)); ++i) check_row(r, g, all ? i : random_.between(0, rows - 1));
    }
    if (!key_bytes_.empty())
        for (int i = 0; i < (all ? n : std::min(n, n_samples)); ++i) check_key(r, all ? i : random_.between(0, n - 1));
}

/// On the GPU where it is mapped, else in the host tier.
inline void fault_program::check_row(const request& r, std::size_t g, int row) {
    const auto& group = it_->layout().group(static_cast<int>(g));
    const auto page = row / (p() / m(g)), in_page = row % (p() / m(g));
    const std::span<const token> tokens(r.tokens.data() + row * m(g), static_cast<std::size_t>(m(g)));
    const auto gpu = it_->tables().page_map(r.id.index)[page], host = it_->tables().host_map(r.id.index)[page];
    if (gpu >= 0) return expect_at(g, group.at(dh::gpu_page{gpu}, static_cast<std::uint32_t>(in_page)), tokens, dh::text(name(r), " row ", row));
    expect(host >= 0, name(r), " row ", row, " is on no tier");
    const auto* from = it_->tiers().host + group.host_offset(dh::host_page{host}, it_->layout().host_page_bytes(), static_cast<std::uint32_t>(in_page));
    for (std::size_t lane = 0; lane < windows_[g].size(); ++lane, from += group.host_lane_bytes) {
        const auto wanted = row_of(tokens, g, lane);
        expect(std::memcmp(from, wanted.data(), wanted.size()) == 0, name(r), " row ", row, ": other bytes in host page ", host);
    }
}

inline void fault_program::check_key(const request& r, int t) {
    for (int i = 0; i < static_cast<int>(key_bytes_.size()); ++i) {
        const auto* key = key_of(r, i, t);
        if (!key) continue;
        for (std::int64_t b = 0; b < key_bytes_[static_cast<std::size_t>(i)]; ++b)
            expect(key[b] == row_byte(r.tokens[static_cast<std::size_t>(t)], -1 - i, b), name(r), ": index key of position ", t, ", source ", i);
    }
}

} // namespace dhisparse_test
