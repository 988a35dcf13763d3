/// Definitions for reference_model.hpp: pages, admission, import, bytes.
#pragma once

#include "reference_model.hpp"

namespace dhisparse_test {

inline reference_model::reference_model(subject& it, const model_options& options)
    : on_device(options.slots, -1), it_(it), options_(options), gpu_(it.layout().limits().n_pages, 0), host_(options.host_pages, 0), classes_(gpu_.size()),
      region_(it.region_bytes() / 16, 0), to_open_(options.slots) {
    const auto& shape = it.layout().shape();
    for (std::size_t g = 0; g < shape.groups.size(); ++g) {
        windows.emplace_back();
        for (const int layer : shape.groups[g]) windows[g].emplace_back(it.view(layer), shape.sources[static_cast<std::size_t>(dh::source_of(shape, layer))]);
        const auto row_bytes = (windows[g][0].view.row_bytes + 15) / 16 * 16 * static_cast<std::int64_t>(windows[g].size());
        host_offsets_.push_back(host_page_bytes_);
        host_row_bytes_.push_back(row_bytes);
        host_page_bytes_ += rows_per_page(static_cast<int>(g)) * row_bytes;
    }
    for (const auto& source : shape.sources)
        if (source.index_key_bytes > 0) {
            key_bytes_.push_back(source.index_key_bytes);
            key_positions_.push_back(source.key_positions());
        }
    expect_equal(it.layout().host_page_bytes(), host_page_bytes_, "host page bytes");
    std::memset(it.tiers().slab, 0xDD, static_cast<std::size_t>(it.layout().slab_bytes()));
    if (options.host_pages > 0) std::memset(it.tiers().host, 0xDD, static_cast<std::size_t>(options.host_pages * host_page_bytes_));
}

// ---- pages

inline void reference_model::take_gpu(int page, dh::page_class as, const std::string& who) {
    expect(page >= 0 && page < static_cast<int>(gpu_.size()), "gpu page ", page, " for ", who);
    expect_equal(gpu_[page], 0, "holders of gpu page ", page, " when given to ", who);
    gpu_[page] = 1;
    classes_[page] = as;
}

inline void reference_model::take_host(int page, const std::string& who) {
    expect(page >= 0 && page < static_cast<int>(host_.size()), "host page ", page, " for ", who);
    expect_equal(host_[page], 0, "holders of host page ", page, " when given to ", who);
    host_[page] = 1;
}

inline void reference_model::poison_host(int page) {
    std::memset(it_.tiers().host + page * host_page_bytes_, 0xDD, static_cast<std::size_t>(host_page_bytes_));
}

/// Whoever still reads the page finds bytes that are nobody's.
inline void reference_model::poison(int page) {
    for (int g = 0; g < n_groups(); ++g)
        for (const auto& window : windows[g])
            for (int row = 0; row < rows_per_page(g); ++row)
                for (std::size_t run = 0; run < window.runs.size(); ++run)
                    std::memset(window.at(at(g, page, row), run), 0xDD, static_cast<std::size_t>(window.runs[run].bytes));
    const auto& index = it_.layout().index();
    for (int i = 0; i < index.blocks_per_page; ++i)
        std::memset(it_.index_base() + it_.layout().index_block(dh::gpu_page{page}, i) * index.pitch_bytes, 0xDD, static_cast<std::size_t>(index.pitch_bytes));
}

inline dh::page_counts reference_model::counts() const {
    dh::page_counts c;
    c.capacity = static_cast<int>(gpu_.size());
    for (const auto& [uid, r] : requests) {
        if (r.ended) continue;
        const int indexes = r.opened ? static_cast<int>(r.index.size()) : r.first_indexes;
        c.required += options_.hot_pages + indexes + std::max(r.quota, r.held);
        c.promised += std::max(0, r.quota - r.held);
        for (const auto& page : r.pages) {
            c.optional += page.optional;
            c.reclaiming += page.optional && page.away;
        }
    }
    c.free = c.capacity - n_held_gpu() - c.promised;
    c.leaving = n_held_gpu() - (c.required - c.promised) - c.optional;
    return c;
}

/// Pages of a class, those that admissions took and no plan has named included.
inline int reference_model::n_of(dh::page_class of) const {
    int n = 0;
    for (std::size_t page = 0; page < gpu_.size(); ++page) n += gpu_[page] > 0 && classes_[page] == of;
    for (const auto& [uid, r] : requests)
        if (!r.opened) n += of == dh::page_class::hot ? options_.hot_pages : of == dh::page_class::index ? r.first_indexes : 0;
    return n;
}

inline void reference_model::check_counts() const {
    const auto got = it_.ledger().pages(), wanted = counts();
    expect_equal(got.capacity, wanted.capacity, "pages().capacity");
    expect_equal(got.required, wanted.required, "pages().required");
    expect_equal(got.optional, wanted.optional, "pages().optional");
    expect_equal(got.promised, wanted.promised, "pages().promised");
    expect_equal(got.leaving, wanted.leaving, "pages().leaving");
    expect_equal(got.free, wanted.free, "pages().free");
    expect_equal(got.reclaiming, wanted.reclaiming, "pages().reclaiming");
    for (const auto of : {dh::page_class::hot, dh::page_class::tail, dh::page_class::index, dh::page_class::history})
        expect_equal(it_.ledger().pages_of_class(of), n_of(of), "pages of class ", static_cast<int>(of));
    expect(got.free >= 0 && got.leaving >= 0 && got.promised >= 0, "negative page count");
    expect(got.required + got.optional <= got.capacity, "required + optional exceed the capacity");
    expect_equal(it_.ledger().free_host_pages(), static_cast<int>(host_.size()) - n_held_host(), "free host pages");
    const auto live = std::count_if(requests.begin(), requests.end(), [](const auto& r) { return !r.second.ended; });
    expect_equal(it_.ledger().free_slots(), options_.slots - static_cast<int>(live), "free slots");
    const auto& t = it_.counts();
    expect_equal(t.selected, tally.selected, "tally.selected");
    expect_equal(t.tail, tally.tail, "tally.tail");
    expect_equal(t.history, tally.history, "tally.history");
    expect_equal(t.hot, tally.hot, "tally.hot");
    expect_equal(t.host, tally.host, "tally.host");
    expect_equal(t.host_rows, tally.host_rows, "tally.host_rows");
    expect_equal(t.host_bytes, tally.host_bytes, "tally.host_bytes");
    expect_equal(t.staged_rows, tally.staged_rows, "tally.staged_rows");
    expect_equal(t.promoted_rows, tally.promoted_rows, "tally.promoted_rows");
    expect_equal(t.backed_up_rows, tally.backed_up_rows, "tally.backed_up_rows");
    for (int v = 0; v < dh::n_violations; ++v) expect_equal(t.violations[v], tally.violations[v], "violation ", v);
}

// ---- metadata: first fit over 16-byte granules

inline std::optional<std::int64_t> reference_model::free_run(std::int64_t bytes) const {
    std::int64_t length = 0;
    for (std::size_t i = 0; i < region_.size(); ++i) {
        length = region_[i] ? 0 : length + 16;
        if (length == bytes) return static_cast<std::int64_t>(i + 1) * 16 - bytes;
    }
    return std::nullopt;
}

inline void reference_model::mark_run(std::int64_t offset, std::int64_t bytes, bool taken) {
    for (auto i = offset / 16; i < (offset + bytes) / 16; ++i) {
        expect_equal(static_cast<bool>(region_[i]), !taken, "metadata granule ", i);
        region_[i] = taken;
    }
}

// ---- admission

inline int reference_model::index_pages_of(int position_pages) const {
    const auto& index = it_.layout().index();
    return n_keys() == 0 ? 0 : (position_pages * n_keys() + index.blocks_per_page - 1) / index.blocks_per_page;
}

inline int reference_model::quota_of(int positions, int growth) const {
    return options_.host_pages > 0 ? options_.tail_pages : pages_of(first_positions(positions, positions + growth));
}

inline reference_model::need reference_model::need_of(int positions, int growth) const {
    const int pages = pages_of(first_positions(positions, positions + growth));
    return {options_.hot_pages + quota_of(positions, growth) + index_pages_of(pages), options_.host_pages > 0 ? pages : 0,
            it_.run_bytes(map_pages_of(positions + growth))};
}

inline dh::fit reference_model::fits(int positions, int growth) const {
    using enum dh::verdict;
    const auto n = need_of(positions, growth);
    const auto held = counts();
    if (n.pages > held.capacity) return {never, 0, "GPU pages"};
    if (n.host_pages > static_cast<int>(host_.size())) return {never, 0, "host pages"};
    if (n.run > it_.region_bytes()) return {never, 0, "metadata"};
    const auto live = std::count_if(requests.begin(), requests.end(), [](const auto& r) { return !r.second.ended; });
    if (live == options_.slots) return {later, 0, "slots"};
    if (n.host_pages > static_cast<int>(host_.size()) - n_held_host()) return {later, 0, "host pages"};
    if (!free_run(n.run)) return {later, 0, "metadata"};
    if (n.pages <= held.free) return {now, 0, ""};
    const int lacking = n.pages - held.free - held.leaving - held.reclaiming;
    int landed = 0;
    for (const auto& [uid, r] : requests)
        for (const auto& page : r.pages) landed += !r.ended && page.optional && page.landed && !page.away;
    if (lacking > 0 && lacking <= landed) return {after_reclaiming, lacking, "GPU pages"};
    return {later, 0, "GPU pages"};
}

inline model_request* reference_model::live_in(int slot) {
    for (auto& [uid, r] : requests)
        if (!r.ended && r.id.index == slot) return &r;
    return nullptr;
}

inline model_request& reference_model::admitted(int positions, int growth, dh::slot_id id) {
    expect(id.index >= 0 && id.index < options_.slots && live_in(id.index) == nullptr, "slot ", id.index, " given twice");
    expect(ids_.insert({id.index, id.generation}).second, "slot ", id.index, " given with an old generation");
    const int uid = static_cast<int>(ids_.size());
    auto& r = requests[uid];
    r.uid = uid;
    r.id = id;
    r.prompt = positions;
    r.positions = positions + growth;
    r.quota = quota_of(positions, growth);
    r.map_pages = r.open_pages = map_pages_of(r.positions);
    r.run = r.open_run = free_run(it_.run_bytes(r.map_pages)).value();
    mark_run(r.run, it_.run_bytes(r.map_pages), true);
    r.pages.resize(static_cast<std::size_t>(r.map_pages));
    const int pages = pages_of(first_positions(positions, r.positions));
    r.first_hosts = options_.host_pages > 0 ? pages : 0;
    r.first_indexes = index_pages_of(pages);
    unknown_gpu_ += options_.hot_pages + r.first_indexes;
    unknown_host_ += r.first_hosts;
    to_open_[id.index].push_back(uid);
    for (int g = 0; g < n_groups(); ++g) r.caches.emplace_back(options_.hot_pages * rows_per_page(g), it_.is_fifo(), it_.promotion());
    return r;
}

inline bool reference_model::extend(model_request& r, int positions) {
    if (positions <= r.positions) return true;
    const int pages = map_pages_of(positions);
    if (pages > r.map_pages) {
        const auto run = free_run(it_.run_bytes(pages));
        if (!run) return false;
        mark_run(*run, it_.run_bytes(pages), true);
        mark_run(r.run, it_.run_bytes(r.map_pages), false);
        r.run = *run;
        r.map_pages = pages;
        r.pages.resize(static_cast<std::size_t>(pages));
    }
    r.positions = positions;
    return true;
}

// ---- import

/// Whether the page is given now; takes note of it.
inline bool reference_model::gives_import_page(model_request& r, int page, dh::gpu_page given) {
    auto& at = r.pages[page];
    if (at.gpu >= 0) return true;
    if (at.copied == dh::durability::durable) return false;
    const bool boundary = page == r.prompt / p();
    const int free = counts().free;
    if (!boundary && options_.host_pages > 0 && free > options_.reserve) at.optional = true;
    else {
        const bool keeps_one = !boundary && r.prompt % p() != 0 && r.pages[r.prompt / p()].gpu < 0 && r.quota > 1;
        if (r.held >= r.quota - (keeps_one ? 1 : 0)) return false;
        for (int before = 0; boundary && r.quota == 1 && before < page; ++before) // it would keep the only page of the window
            if (r.pages[before].gpu < 0 && r.pages[before].copied != dh::durability::durable) return false;
        ++r.held;
        at.whole_copy = boundary;
    }
    take_gpu(number(given), at.optional ? dh::page_class::history : dh::page_class::tail, name(r));
    at.gpu = number(given);
    return true;
}

inline void reference_model::import_pages(model_request& r, int first, int n, std::span<const dh::gpu_page> given) {
    int i = 0;
    while (i < n) {
        const auto page = i < static_cast<int>(given.size()) ? given[i] : dh::gpu_page::none;
        if (!gives_import_page(r, first + i, page)) break;
        expect_equal(number(page), r.pages[first + i].gpu, "import_pages: page ", first + i, " of ", name(r));
        ++i;
    }
    expect_equal(static_cast<int>(given.size()), i, "import_pages: pages given to ", name(r));
}

inline void reference_model::landed(model_request& r, int page) {
    auto& at = r.pages[page];
    at.landed = true;
    if (page >= r.prompt / p() || at.optional || options_.host_pages == 0) return;
    at.copied = dh::durability::pending;
    posted_.push_back({r.uid, page});
}

inline void reference_model::finish_import(model_request& r) {
    r.importing = false;
    r.known = r.prompt;
    r.first_tail = r.prompt / p();
    r.mapped_to = pages_of(r.prompt);
}

inline void reference_model::finish(model_request& r) {
    r.ended = true;
    mark_run(r.run, it_.run_bytes(r.map_pages), false);
    ended_.push_back(r.uid);
}

// ---- bytes

inline std::byte* reference_model::host_row(int g, int page, int row) const {
    return it_.tiers().host + page * host_page_bytes_ + host_offsets_[g] + row * host_row_bytes_[g];
}

inline void reference_model::expect_row(int g, dh::location where, std::span<const token> tokens, const std::string& what) {
    for (const auto& window : windows[g]) {
        expect(where >= 0 && where < window.view.rows, what, ": location ", where, " is not in the view");
        row_.resize(static_cast<std::size_t>(window.view.row_bytes));
        window.read(where, row_);
        wanted_ = row_;
        make_row(tokens, window.layer, wanted_);
        expect(row_ == wanted_, what, ": other bytes on the GPU at location ", where, ", layer ", window.layer);
    }
}

inline void reference_model::expect_host_row(int g, int page, int row, std::span<const token> tokens, const std::string& what) {
    const auto* from = host_row(g, page, row);
    for (const auto& window : windows[g]) {
        row_.assign(from, from + window.view.row_bytes);
        wanted_ = row_;
        make_row(tokens, window.layer, wanted_);
        expect(row_ == wanted_, what, ": other bytes in host page ", page, ", layer ", window.layer);
        from += (window.view.row_bytes + 15) / 16 * 16;
    }
}

inline std::byte* reference_model::key_at(const model_request& r, int i, int t) const {
    const auto block = it_.tables().index_table(r.id.index, i)[t / p()];
    bool owned = false;
    for (const int page : r.index)
        for (int b = 0; b < it_.layout().index().blocks_per_page; ++b) owned |= it_.layout().index_block(dh::gpu_page{page}, b) == block;
    expect(owned, name(r), ": index block ", block, " of position ", t, ", source ", i, " is in none of its index pages");
    return it_.index_base() + block * it_.layout().index().pitch_bytes + t % p() / key_positions_[i] * key_bytes_[i];
}

/// Nothing lost: every complete committed row is on the GPU or in the host tier, with its bytes; and
/// every durable page is in the host tier.
inline void reference_model::check_rows(model_request& r, random_source& random, int n_samples) {
    if (!r.decoding || r.ended) return;
    for (int g = 0; g < n_groups(); ++g) {
        const int rows = r.n / m(g), per_page = rows_per_page(g);
        const bool all = rows <= n_samples;
        for (int i = 0; i < (all ? rows : n_samples); ++i) {
            const int row = all ? i : random.between(0, rows - 1), page = row / per_page;
            const std::span<const token> tokens(r.tokens.data() + row * m(g), static_cast<std::size_t>(m(g)));
            const auto what = dh::text(name(r), " group ", g, " row ", row);
            const auto& at_page = r.pages[page];
            if (r.device_gpu[page] >= 0) expect_row(g, at(g, r.device_gpu[page], row % per_page), tokens, what);
            const bool backed_up = at_page.host >= 0 && !at_page.whole_copy && page >= pages_of(r.prompt);
            if ((row + 1) * m(g) > r.n - r.unsettled) continue;
            if (r.device_gpu[page] < 0 || backed_up || at_page.copied == dh::durability::durable)
                expect_host_row(g, r.device_host[page], row % per_page, tokens, what);
        }
    }
    for (int i = 0; i < n_keys(); ++i)
        for (int t = random.between(0, std::max(1, r.n / 16)); t < r.n; t += random.between(1, std::max(1, r.n / 16))) {
            if (!has_key(i, t)) continue;
            const auto* key = key_at(r, i, t);
            for (std::int64_t b = 0; b < key_bytes(i); ++b)
                expect(key[b] == row_byte(r.tokens[t], -1 - i, b), name(r), ": index key of position ", t, ", source ", i);
        }
}

} // namespace dhisparse_test

#include "reference_model_plan.hpp"
