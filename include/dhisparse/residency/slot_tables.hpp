/// The per-slot state that the step path reads: page maps, frontiers, hot entries. One block of memory,
/// on the device in the CUDA backend; the ledger's edits and the step path are its only writers.
#pragma once

#include <dhisparse/core/config.hpp>
#include <dhisparse/core/types.hpp>
#include <dhisparse/layout/page_layout.hpp>
#include <dhisparse/memory/buffer.hpp>
#include <dhisparse/policy/hot_index.hpp>
#include <dhisparse/policy/replacement.hpp>

#include <cstdint>
#include <cstring>
#include <vector>

namespace dhisparse {

/// One a slot. Written by edits; the frontier also by commit.
struct slot_record {
    std::int32_t live = 0;       // 1: the slot has a request; 0: every call treats it as -1
    std::int32_t n_pages = 0;    // page-map entries: pages [0, n_pages) may be mapped
    std::int32_t positions = 0;  // the reserved length: positions [0, positions) may be appended
    std::int32_t frontier = 0;   // n: committed positions
    std::int32_t tail_page = 0;  // pages from here on are tail, those before are history
    std::int32_t slot = 0;       // its number, in a round's copy; unused in the tables
    std::int64_t run_bytes = 0;  // offset of the slot's run in the region
};
static_assert(sizeof(slot_record) == 32);

/// One a slot, beside its record: what a second pass and unsettled positions need. Cleared by open; written by commit.
struct pass_record {
    std::int32_t draft_frontier = 0;          // n of the draft pass; the record's is the target's
    std::int32_t unsettled[n_passes] = {0, 0}; // positions below the pass's frontier that may still be rewritten, and are not backed up
    std::int32_t unused = 0;
};
static_assert(sizeof(pass_record) == 16);

/// Where a group's parts of the tables lie. An index takes n_pages · index_page_bytes + index_fixed_bytes
/// behind its offset, which is n_pages · index_page_offset + index_fixed_offset from the run's start.
struct group_tables {
    std::int64_t index_page_offset = 0, index_fixed_offset = 0;
    std::int32_t first_entry = 0; // of the slot's entries; a multiple of 4
    std::int32_t entries = 0;     // B_g
    std::int32_t codes = 0;       // B_g + K_max · k
};

/// The page map's entry for a page that is about to leave the GPU. A resolve takes it for not mapped, so that the rows it
/// selects go to the hot cache; but brings them from this page, not from the host tier.
constexpr std::int32_t departing(gpu_page page) { return -2 - number(page); }
DHISPARSE_HD constexpr bool is_departing(std::int32_t entry) { return entry < -1; }
DHISPARSE_HD constexpr gpu_page departing_page(std::int32_t entry) { return gpu_page{-2 - entry}; }

/// The view that the step path takes.
struct slot_tables_ref {
    slot_record* records = nullptr;    // [n_slots]
    std::int32_t* hot_pages = nullptr; // [n_slots][hot_pages_per_slot] gpu pages
    stamp* clocks = nullptr;           // [n_slots][n_groups] resolves so far
    std::uint32_t* entry_state = nullptr; // used, entered, rows: three times [n_slots][entries_per_slot]
    std::byte* region = nullptr;       // the slots' runs
    pass_record* passes = nullptr;     // [n_slots]
    std::int32_t n_slots = 0, hot_pages_per_slot = 0, n_groups = 0, entries_per_slot = 0;

    DHISPARSE_HD bool live(std::int32_t slot) const { return slot >= 0 && slot < n_slots && records[slot].live != 0; }
    /// n of a slot in a pass.
    DHISPARSE_HD std::int32_t& frontier(std::int32_t slot, pass of) const { return of == pass::target ? records[slot].frontier : passes[slot].draft_frontier; }
    /// [n_pages] gpu page of each page of the slot's positions, or -1, or departing(its page).
    DHISPARSE_HD std::int32_t* page_map(std::int32_t slot) const { return run(slot); }
    /// [n_pages] host page of each, or -1.
    DHISPARSE_HD std::int32_t* host_map(std::int32_t slot) const { return run(slot) + records[slot].n_pages; }
    /// [n_pages] index block of each page of the i-th source with index keys, or -1.
    DHISPARSE_HD std::int32_t* index_table(std::int32_t slot, std::int32_t i) const {
        return run(slot) + std::int64_t{records[slot].n_pages} * (2 + i);
    }
    DHISPARSE_HD std::byte* hot_index(std::int32_t slot, const group_tables& group) const {
        return region + records[slot].run_bytes + records[slot].n_pages * group.index_page_offset + group.index_fixed_offset;
    }
    DHISPARSE_HD stamp* used(std::int32_t slot, const group_tables& group) const { return state(0, slot, group); }
    DHISPARSE_HD stamp* entered(std::int32_t slot, const group_tables& group) const { return state(1, slot, group); }
    DHISPARSE_HD std::int32_t* rows(std::int32_t slot, const group_tables& group) const {
        return reinterpret_cast<std::int32_t*>(state(2, slot, group));
    }

private:
    DHISPARSE_HD std::int32_t* run(std::int32_t slot) const {
        return reinterpret_cast<std::int32_t*>(region + records[slot].run_bytes);
    }
    DHISPARSE_HD std::uint32_t* state(int part, std::int32_t slot, const group_tables& group) const {
        return entry_state + (std::int64_t{part} * n_slots + slot) * entries_per_slot + group.first_entry;
    }
};
static_assert(sizeof(slot_tables_ref) <= 64);

/// What a slot's run consists of, for kernels: every part takes n_pages · its page bytes + its fixed bytes.
struct run_shape {
    std::int64_t page_bytes = 0, fixed_bytes = 0; // of the whole run
    const group_tables* groups = nullptr;         // [n_groups] their indexes lie behind the maps
    std::int32_t n_groups = 0, n_index_sources = 0;

    DHISPARSE_HD std::int64_t bytes(std::int32_t n_pages) const { return n_pages * page_bytes + fixed_bytes; }
    DHISPARSE_HD std::int32_t n_parts() const { return 2 + n_index_sources + n_groups; }
    /// Part i of a run, moved from one of n pages to one of m >= n: what both hold of it.
    struct part {
        std::int64_t from = 0, to = 0, bytes = 0; // offsets from the runs' starts
    };
    DHISPARSE_HD part part_of(std::int32_t i, std::int32_t n, std::int32_t m) const {
        const auto maps = 2 + n_index_sources;
        if (i < maps) return {std::int64_t{4} * i * n, std::int64_t{4} * i * m, std::int64_t{4} * n};
        const auto& group = groups[i - maps];
        const bool last = i + 1 == n_parts();
        const auto page_end = last ? page_bytes : groups[i - maps + 1].index_page_offset;
        const auto fixed_end = last ? fixed_bytes : groups[i - maps + 1].index_fixed_offset;
        return {n * group.index_page_offset + group.index_fixed_offset, m * group.index_page_offset + group.index_fixed_offset,
                n * (page_end - group.index_page_offset) + fixed_end - group.index_fixed_offset};
    }
};

/// Sizes and offsets of the tables; no memory.
class slot_table_layout {
public:
    template <hot_index_policy Index>
    static slot_table_layout make(const page_layout& layout, std::int32_t n_slots, std::int64_t region_bytes);

    /// Page-map entries that a slot for so many positions gets: whole multiples of 8, so that every part of a run is aligned.
    std::int32_t pages_for(std::int64_t positions) const;
    std::int64_t run_bytes(std::int32_t n_pages) const { return n_pages * page_run_bytes_ + fixed_run_bytes_; }
    std::int64_t region_bytes() const { return region_bytes_; }
    std::int64_t bytes() const { return offsets().end; } // all tables, the region included
    const group_tables& group(int g) const { return groups_[static_cast<std::size_t>(g)]; }
    std::int32_t n_slots() const { return n_slots_; }

    const std::vector<group_tables>& groups() const { return groups_; }
    /// groups: groups() in memory that the user of the shape can read.
    run_shape shape(const group_tables* groups) const {
        return {page_run_bytes_, fixed_run_bytes_, groups, static_cast<std::int32_t>(groups_.size()), n_index_sources_};
    }

    slot_tables_ref at(std::byte* memory) const;
    /// Makes a slot's tables those of an empty request whose record has been written.
    void clear(const slot_tables_ref& tables, std::int32_t slot) const;
    /// Moves a slot's run to another, longer one (they may not overlap) and updates its record.
    void move_run(const slot_tables_ref& tables, std::int32_t slot, std::int32_t n_pages, std::int64_t run) const;

private:
    struct parts {
        std::int64_t hot_pages = 0, clocks = 0, passes = 0, entries = 0, region = 0, end = 0;
    };
    parts offsets() const;
    std::vector<group_tables> groups_;
    std::int32_t n_slots_ = 0, hot_pages_ = 0, entries_ = 0, page_positions_ = 1, n_index_sources_ = 0;
    std::int64_t page_run_bytes_ = 0, fixed_run_bytes_ = 0, region_bytes_ = 0;
};

} // namespace dhisparse

#include <dhisparse/residency/slot_tables_impl.hpp>
