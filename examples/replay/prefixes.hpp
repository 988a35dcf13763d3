// Which prefixes are kept, by the block ids of the trace: the engine's part of prefix reuse.
#pragma once

#include "store.hpp"

#include <dhisparse/ledger/ledger.hpp>

#include <algorithm>
#include <iterator>
#include <list>
#include <unordered_map>
#include <vector>

namespace replay {

/// The most recently used ones stay, up to a number; one that a request names stays as long as that lives.
class prefixes {
public:
    struct kept {
        dhisparse::prefix_id id = dhisparse::prefix_id::none;
        std::vector<std::int64_t> blocks;
        std::vector<content> contents; // of its pages
        std::int64_t positions = 0;
        int users = 0;
    };
    using entry = std::list<kept>::iterator;
    struct found {
        entry prefix;
        std::int64_t positions = 0; // shared with it; 0: none
    };

    prefixes(dhisparse::ledger& ledger, std::int64_t most) : ledger_(&ledger), most_(static_cast<std::size_t>(most)) {}

    /// The longest run of leading blocks that a kept prefix has; fewer than `input` positions, since some are always computed.
    found find(const std::vector<std::int64_t>& blocks, std::int64_t block_positions, std::int64_t input) {
        for (auto n = blocks.size(); n > 0; --n) {
            const auto at = by_block_.find(blocks[n - 1]);
            if (at == by_block_.end()) continue;
            order_.splice(order_.begin(), order_, at->second);
            return {at->second, std::min({static_cast<std::int64_t>(n) * block_positions, at->second->positions, input - 1})};
        }
        return {order_.end(), 0};
    }
    void use(entry prefix, int change) { prefix->users += change; }

    /// Keeps the blocks of a request that runs, which has so many whole ones.
    void keep(dhisparse::slot_id slot, const std::vector<std::int64_t>& blocks, std::int64_t block_positions, const std::vector<content>& contents, int page_positions) {
        if (most_ == 0 || blocks.empty() || by_block_.contains(blocks.back())) return;
        while (order_.size() >= most_ && drop_oldest()) {}
        if (order_.size() >= most_) return;
        const auto id = ledger_->keep(slot, static_cast<std::int64_t>(blocks.size()) * block_positions);
        if (!id) return;
        const auto positions = ledger_->kept_positions(*id);
        order_.push_front({*id, blocks, {contents.begin(), contents.begin() + static_cast<std::ptrdiff_t>(positions / page_positions)}, positions, 0});
        for (const auto block : blocks) by_block_[block] = order_.begin();
    }
    /// false where every one is in use.
    bool drop_oldest() {
        const auto at = std::find_if(order_.rbegin(), order_.rend(), [](const kept& k) { return k.users == 0; });
        if (at == order_.rend()) return false;
        drop(std::prev(at.base()));
        return true;
    }

private:
    void drop(entry which) {
        for (const auto block : which->blocks)
            if (const auto at = by_block_.find(block); at != by_block_.end() && at->second == which) by_block_.erase(at);
        ledger_->drop(which->id);
        order_.erase(which);
    }
    dhisparse::ledger* ledger_;
    std::size_t most_;
    std::list<kept> order_; // the most recently used first
    std::unordered_map<std::int64_t, entry> by_block_;
};

} // namespace replay
