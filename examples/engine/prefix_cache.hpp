// The engine's part of prefix reuse: which kept prefix a prompt begins with, and which is dropped first.
#pragma once

#include "request.hpp"

#include <dhisparse/core/types.hpp>

#include <algorithm>
#include <iterator>
#include <list>
#include <span>

namespace engine {

namespace dh = dhisparse;

/// Kv: a ledger or a hierarchy.
template <class Kv>
class prefix_cache {
public:
    /// most: prefixes kept at a time, 0: none.
    prefix_cache(Kv& kv, int page_positions, std::size_t most) : kv_(kv), page_(page_positions), most_(most) {}

    struct match {
        dh::prefix_id prefix = dh::prefix_id::none;
        std::int64_t positions = 0; // that both begin with; 0, or a page at least
    };

    /// The longest match of a prompt; not all of it, since the model has to see its last token. Makes it the most recently used.
    match find(std::span<const std::uint8_t> prompt) {
        match best;
        auto found = kept_.end();
        for (auto it = kept_.begin(); it != kept_.end(); ++it)
            if (const auto n = common(it->text, prompt); n >= page_ && n > best.positions) best = {it->id, n}, found = it;
        if (found != kept_.end()) kept_.splice(kept_.begin(), kept_, found);
        return best;
    }

    /// Keeps what a running request begins with; true where that is done, or needs no doing. spare: not to be dropped for it.
    bool keep(dh::slot_id slot, std::span<const std::uint8_t> text, dh::prefix_id spare) {
        const auto whole = static_cast<std::int64_t>(text.size()) / page_ * page_;
        if (most_ == 0 || whole == 0) return true;
        for (const auto& known : kept_)
            if (common(known.text, text.first(static_cast<std::size_t>(whole))) + 1 >= whole) return true;
        while (kept_.size() >= most_ && drop_oldest(spare)) {}
        if (kept_.size() >= most_) return true;
        const auto id = kv_.keep(slot, whole);
        if (!id) return false; // a page of it is on its way to the host tier
        const auto n = static_cast<std::ptrdiff_t>(std::min(kv_.kept_positions(*id), whole));
        kept_.push_front({*id, bytes(text.begin(), text.begin() + n)});
        return true;
    }

    /// false where there is none but `spare`.
    bool drop_oldest(dh::prefix_id spare) {
        const auto at = std::find_if(kept_.rbegin(), kept_.rend(), [&](const kept& k) { return k.id != spare; });
        if (at == kept_.rend()) return false;
        kv_.drop(at->id);
        kept_.erase(std::next(at).base());
        return true;
    }
    /// The hierarchy has ended it: a copy failed.
    void forget(dh::prefix_id id) {
        kept_.remove_if([&](const kept& k) { return k.id == id; });
    }

private:
    struct kept {
        dh::prefix_id id;
        bytes text;
    };
    static std::int64_t common(std::span<const std::uint8_t> text, std::span<const std::uint8_t> prompt) {
        const auto n = std::min(text.size(), prompt.size() - 1);
        return std::mismatch(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(n), prompt.begin()).first - text.begin();
    }

    Kv& kv_;
    std::int64_t page_;
    std::size_t most_;
    std::list<kept> kept_; // the most recently used first
};

} // namespace engine
