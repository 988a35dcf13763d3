/// The ledger's records: pages of positions, requests, kept prefixes, work under way.
#pragma once

#include <dhisparse/core/types.hpp>
#include <dhisparse/copy/tiers.hpp>
#include <dhisparse/durable/durability.hpp>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

namespace dhisparse::detail {

/// A page of positions, of one request or of several that share it.
struct page_record {
    /// As what it is on the GPU.
    enum class place : std::uint8_t {
        away,     // not at all
        tail,     // required, counted in its one slot's tail
        optional, // history that may be reclaimed
        shared,   // required, counted for itself: shared history where there is no host tier
    };
    gpu_page gpu = gpu_page::none;
    host_page host = host_page::none;
    place at = place::away;
    durability copied = durability::none;
    bool landed = false;
    bool whole_copy = false; // some rows were written without a row backup: needs a page copy
    bool filling = false;    // its copy to the GPU is under way: not mapped
    bool leaving = false;    // leaves the GPU: its copy is awaited, or it departs
    bool departs = false;    // leaving, it is read for some plans more
    std::int32_t self = -1;  // its own number
    std::int32_t page = -1;  // its number in every request that holds it
    std::int32_t n_prefixes = 0;
    std::uint32_t use = 0;   // tells the record from its earlier uses
    std::vector<std::int32_t> slots; // that hold it

    /// Whether it may leave the GPU for others, and what is noted of it then.
    enum class exit : std::uint8_t { no, at_once, once_copied };
    exit listed = exit::no;
    std::uint64_t unread = 0; // where it may leave and nobody reads it: since when, in the ledger's order of those; 0: not so
};

/// Pages in ascending order. They come and go at the ends, mostly, which costs the same however many there are.
class page_order {
public:
    void insert(std::int32_t page) { pages_.insert(at(page), page); }
    void erase(std::int32_t page) { pages_.erase(at(page)); }
    bool contains(std::int32_t page) const { return std::binary_search(pages_.begin(), pages_.end(), page); }
    std::size_t size() const { return pages_.size(); }
    auto begin() const { return pages_.begin(); }
    auto end() const { return pages_.end(); }

private:
    std::deque<std::int32_t>::iterator at(std::int32_t page) {
        return pages_.empty() || pages_.back() < page ? pages_.end() : std::lower_bound(pages_.begin(), pages_.end(), page);
    }
    std::deque<std::int32_t> pages_;
};

enum class phase : std::uint8_t {
    none,
    importing,
    finishing, // imported; waits for copies
    running,
    parking,   // no longer on the GPU's tables; copies to the host under way
    parked,
    resuming,  // copies to the GPU under way
};

struct slot_page {
    std::int32_t record = -1;
    bool listed = false; // in its slot's `absent`
};

struct slot_state {
    std::uint32_t generation = 0;
    detail::phase phase = detail::phase::none;
    bool growing = false, imported = false;
    std::int64_t prompt = 0, positions = 0; // imported; reserved
    std::int32_t first_import = 0; // pages before it are a prefix's
    std::int32_t shared = 0;     // positions that a prefix gave, by reference or copied
    std::int32_t frontier = 0;   // as the host knows it
    std::int32_t first_tail = 0; // pages before it are history
    std::int32_t mapped_to = 0;  // pages before it have been given
    std::int32_t tail_quota = 0, tail_held = 0;
    std::int32_t tails_coming = 0; // of tail_held, those whose backup or fence is awaited
    std::int32_t map_pages = 0;  // page-map entries
    std::int32_t n_copies = 0;   // that it waits for
    std::int32_t n_stalled = 0;  // plans in a row in which it could not grow
    std::int64_t run = 0;
    std::uint64_t admitted = 0, reclaimed = 0, refilled = 0, refill_key = 0;
    std::uint64_t ready_in = 0;  // plans made before the one that opens it to rounds
    bool refillable = false;     // is in the ledger's set of those
    std::vector<slot_page> pages;
    std::vector<gpu_page> hot, index;
    std::vector<host_page> saved_index; // part i % parts of index page i / parts
    std::vector<std::int32_t> absent;   // a stack of pages that are, or were, in the host tier alone
    page_order leave_at_once, leave_once_copied; // pages that may leave the GPU

    bool on_device() const { return phase == phase::importing || phase == phase::finishing || phase == phase::running; }
    page_order& leaving_as(page_record::exit how) { return how == page_record::exit::at_once ? leave_at_once : leave_once_copied; }
    std::size_t n_may_leave() const { return leave_at_once.size() + leave_once_copied.size(); }
    bool importing() const { return phase == phase::importing; }
    bool reads() const { return on_device() || phase == phase::resuming; }
};

struct prefix_state {
    std::int32_t positions = 0, n_copies = 0;
    std::vector<std::int32_t> records; // of its pages, the last may be read in part
    std::vector<host_page> saved_index;
};

/// What an admission takes of a prefix.
struct sharing {
    std::int64_t whole = 0;     // pages by reference
    std::int32_t boundary = -1; // record of the page that is copied, -1: none
};

/// What a reclaim takes, and from which requests.
struct choice {
    std::vector<std::int32_t> records, slots;
};

/// A page that resolves may still read, and the plan that ends this.
struct departure {
    std::int32_t record = -1;
    std::uint32_t use = 0;
    std::uint64_t until = 0;
};

struct page_range {
    std::int64_t first = 0, last = 0; // [first, last)
};

/// A piece of work under way, and what it lets go of when it is done.
struct outstanding {
    enum class kind : std::uint8_t {
        fence,
        backup,   // a page becomes durable
        refill,   // a page comes back to the GPU
        boundary, // a prefix's last page is copied into a request's tail
        keys,     // an index page, for a slot or a prefix
        restore,  // a parked request's partial page comes back
    };
    kind what = kind::fence;
    direction way = direction::to_host;
    std::vector<gpu_page> gpu;
    std::vector<host_page> host;
    std::vector<slot_id> tails; // slots of which a required tail page leaves, one entry a page
    std::int32_t record = -1;
    std::uint32_t use = 0;
    slot_id slot;               // that waits for it
    prefix_id prefix = prefix_id::none;
};

} // namespace dhisparse::detail
