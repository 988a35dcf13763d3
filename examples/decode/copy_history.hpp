// Hands the prompts' rows and index keys from one session to another, as a prefill node would to a
// decode node: page by page, through as many pages as the other's pool has for it.
#pragma once

#include "resident_map.hpp"
#include "session.hpp"

#include <algorithm>
#include <vector>

namespace decode {

/// Copies exactly the prompt's positions of one page: in either session its rows of a layer follow
/// each other, and so do its keys.
template <class From, class To>
void copy_page(const From& from, const resident_map& map, const To& to, int request, int page,
               dh::gpu_page target) {
    const int first = page * page_positions;
    const auto n = static_cast<std::size_t>(std::min(page_positions, to.n_prompt() - first));
    for (int layer = 0; layer < tiny_dsa::n_layers; ++layer)
        to.machine.write(to.row(layer, to.kv().location_of(layer, target, 0)),
                         from.row(layer, map.at(layer, request, first)), n * row_bytes);
    for (int p = 0; p < tiny_dsa::n_producers; ++p)
        to.machine.write(to.keys().key(p, request, first), from.keys().key(p, request, first),
                         n * key_bytes);
}

/// Both sessions have the same prompts; from holds all of its rows on the GPU. The requests take
/// turns, so that optional pages are shared evenly. Throws out_of_capacity where the import gets
/// no page any more.
template <class From, class To>
void copy_history(const From& from, To& to) {
    const resident_map map(from, to.n_prompt());
    const int n_pages = (to.n_prompt() + page_positions - 1) / page_positions;
    std::vector<int> next(static_cast<std::size_t>(to.n_requests()), 0);
    for (int idle_turns = 0; std::ranges::any_of(next, [&](int page) { return page < n_pages; });) {
        bool moved = false;
        for (int r = 0; r < to.n_requests(); ++r) {
            auto& page = next[static_cast<std::size_t>(r)];
            if (page == n_pages) continue;
            const auto given = to.kv().import_pages(to.slot(r), page, 1);
            if (given.empty()) continue; // its window is being backed up
            copy_page(from, map, to, r, page, given[0]);
            to.kv().landed(to.slot(r), page++, 1);
            moved = true;
        }
        idle_turns = moved ? 0 : idle_turns + 1;
        dh::require<dh::out_of_capacity>(idle_turns < 4, "the import gets no page for page ",
                                         *std::ranges::min_element(next), " of a request");
        if (!moved) to.advance();
    }
    to.finish_import();
}

} // namespace decode
