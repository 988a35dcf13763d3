/// The view of a draft ring that kernels take: where a slot's positions lie, and which of them may be read.
///
/// Why no write destroys a row that is still read. At frontier n a round writes positions in
/// [n, n + R_d - W), of which it needs [n, n + K_max), and reads the window [n - W, n) and what it wrote:
/// all of them in [n - W, n - W + R_d). That is R_d consecutive positions, so (10) gives each another row,
/// and slots don't share rows. A rejected row is only ever in the part at and behind the frontier, which the
/// next round writes again before `find` gives it out. (9) makes R_d - W >= K_max, and as R_d is a multiple
/// of p with p - 1 rows to spare, also the whole pages that [n - W, n + K_max) touches are different ones:
/// kernels that take block tables may read the ring page by page.
#pragma once

#include <dhisparse/core/types.hpp>
#include <dhisparse/draft/ring_equations.hpp>

namespace dhisparse {

/// The positions of a slot that have been written and accepted: [first, end). All zero: none yet.
struct ring_span {
    std::int32_t first = 0, end = 0;
};

/// K or V of one draft layer: a flat tensor [slots · R_d][row_bytes].
struct draft_plane {
    std::byte* base = nullptr; // aligned to 128 bytes
    std::int64_t row_bytes = 0;

    /// at: what the ring's functions gave, not -1.
    DHISPARSE_HD std::byte* row(location at) const { return base + at * row_bytes; }
};

/// One location holds for all planes. Slots are those of [0, slots); any other gives -1, 0 or nothing. One
/// thread at a time may change a slot's span (commit, restart), and nobody reads it meanwhile.
struct draft_ring_ref {
    ring_span* spans = nullptr;  // [slots]
    fast_divisor rows;           // R_d
    std::int32_t window = 0;     // W: positions before the frontier that are kept
    std::int32_t slots = 0;

    /// (10), of any slot in range and t >= 0, whatever the row holds.
    DHISPARSE_HD location at(std::int32_t slot, std::int32_t t) const {
        const auto position = static_cast<std::uint32_t>(t);
        return slot * static_cast<std::int32_t>(rows.divisor) + static_cast<std::int32_t>(rows.remainder(position, rows.quotient(position)));
    }
    /// n: the position that the slot's next round begins with.
    DHISPARSE_HD std::int32_t frontier(std::int32_t slot) const { return live(slot) ? spans[slot].end : 0; }
    /// Positions that may be written from the frontier on while the window stays whole: R_d - W >= K_max.
    DHISPARSE_HD std::int32_t room() const { return static_cast<std::int32_t>(rows.divisor) - window; }

    /// Where position t is to be written in this round; -1 unless t is in [n, n + room()).
    DHISPARSE_HD location place(std::int32_t slot, std::int32_t t) const {
        if (!live(slot) || t < spans[slot].end || t - spans[slot].end >= room()) return no_location;
        return at(slot, t);
    }
    /// Where position t is to be read; -1 if it is no longer or not yet there, or was rejected. n_written: how
    /// many positions this round has written so far, from the frontier on.
    DHISPARSE_HD location find(std::int32_t slot, std::int32_t t, std::int32_t n_written = 0) const {
        if (!live(slot)) return no_location;
        const auto span = spans[slot];
        const auto last = span.end + clamped(n_written, 0, room());
        return t >= oldest(span) && t < last ? at(slot, t) : no_location;
    }
    /// Whether all W positions before the frontier, or all there are, can be read. Draft only where they can.
    DHISPARSE_HD bool ready(std::int32_t slot) const {
        return live(slot) && spans[slot].first <= (spans[slot].end > window ? spans[slot].end - window : 0);
    }

    /// The round's end, (7): of K written positions the anchor and A more stay. K = 0: nothing changes. K is
    /// taken as at most room(), A as in [0, K - 1]. Returns the new frontier.
    DHISPARSE_HD std::int32_t commit(std::int32_t slot, std::int32_t k, std::int32_t accepted) const {
        if (!live(slot)) return 0;
        k = clamped(k, 0, room());
        if (k > 0) spans[slot].end += clamped(accepted, 0, k - 1) + 1;
        return spans[slot].end;
    }
    /// Nothing is there any more; the next position to be written is t >= 0. For a new request (0), a resumed
    /// one, or any whose rows were lost: it is ready again when W positions have been written, so t = n - W
    /// rebuilds it (n: the request's frontier).
    DHISPARSE_HD void restart(std::int32_t slot, std::int32_t t) const {
        if (live(slot)) spans[slot] = {t > 0 ? t : 0, t > 0 ? t : 0};
    }

private:
    DHISPARSE_HD bool live(std::int32_t slot) const { return slot >= 0 && slot < slots; }
    DHISPARSE_HD std::int32_t oldest(ring_span span) const { return span.end - window > span.first ? span.end - window : span.first; }
    DHISPARSE_HD static constexpr std::int32_t clamped(std::int32_t value, std::int32_t low, std::int32_t high) {
        return value < low ? low : value > high ? high : value;
    }
};

} // namespace dhisparse
