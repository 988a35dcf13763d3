/// Which hot entries give way, on the device: the same choice as hot_cache_ref::choose, by one block.
#pragma once

#include <dhisparse/policy/replacement.hpp>

#include <cstdint>

namespace dhisparse {

/// Shared memory of a choice.
struct victims_shared {
    std::int32_t bins[256];
    std::uint32_t warp_sums[32]; // of packed pairs
    std::uint32_t warp_mins[32];
    std::int32_t total;
    std::int32_t bin;    // the bin in which the last victim lies
    std::int32_t before; // victims in bins that go first
    std::int32_t in_bin; // entries in that bin
};

/// Words of shared memory in which a choice marks entries.
__host__ __device__ constexpr std::int32_t mark_words(std::int32_t entries) { return 2 * ((entries + 31) / 32); }

__device__ inline std::uint32_t warp_inclusive_sum(std::uint32_t x) {
    const auto lane = threadIdx.x % 32;
#pragma unroll
    for (unsigned o = 1; o < 32; o *= 2) {
        const auto y = __shfl_up_sync(0xFFFFFFFF, x, o);
        if (lane >= o) x += y;
    }
    return x;
}

/// Chooses the `wanted` entries that go first of those that the resolve `now` has not selected. All
/// threads of a block (a multiple of 256, at most 1024) call it; several blocks may, alike.
/// A radix select over keys less the smallest one, eight bits a pass, the top bits that occur first. A thread's
/// first 16 keys stay in registers.
template <replacement_policy Replacement>
class victim_choice {
public:
    /// used, entered: [entries], 16-byte aligned, as all blocks of the request have marked them. marks: shared memory,
    /// [mark_words(entries)].
    __device__ victim_choice(victims_shared& shared, std::uint32_t* marks, const stamp* used, const stamp* entered, std::int32_t entries, stamp now)
        : shared_(shared), marks_(marks), used_(used), entered_(entered), entries_(entries), now_(now) {
#pragma unroll
        for (std::int32_t c = 0; c < held; ++c) kept_[c] = load(c * chunk());
    }

    /// Writes the victims of ranks [first, first + n), in entry order, to out[0, n). Returns how many
    /// victims there are in all: `wanted`, or every unprotected entry where those are fewer.
    __device__ std::int32_t choose(std::int32_t wanted, std::int32_t first, std::int32_t n, std::uint16_t* out) {
        const auto given = min(wanted, measure());
        if (given == 0) return 0;
        select(given);
        write(first, n, out);
        return given;
    }

private:
    static constexpr std::int32_t per_thread = 4, held = 4; // entries of a thread side by side; chunks in registers
    static constexpr stamp never = 0xFFFFFFFF;              // in place of the key of an entry that may not give way

    struct batch {
        stamp key[per_thread];
    };
    __device__ std::int32_t entry(std::int32_t base, std::int32_t j) const { return base + static_cast<std::int32_t>(threadIdx.x) * per_thread + j; }
    __device__ std::int32_t chunk() const { return static_cast<std::int32_t>(blockDim.x) * per_thread; }
    __device__ batch load(std::int32_t base) const {
        const auto e = entry(base, 0);
        uint4 used{now_, now_, now_, now_}, entered{};
        if (e < entries_) {
            used = __ldcg(reinterpret_cast<const uint4*>(used_ + e));
            if constexpr (Replacement::key(1, 0) != 1) entered = __ldcg(reinterpret_cast<const uint4*>(entered_ + e));
        }
        const stamp u[] = {used.x, used.y, used.z, used.w}, i[] = {entered.x, entered.y, entered.z, entered.w};
        batch out;
#pragma unroll
        for (std::int32_t n = 0; n < per_thread; ++n) out.key[n] = e + n < entries_ && u[n] != now_ ? Replacement::key(u[n], i[n]) : never;
        return out;
    }
    /// Calls f(base, batch) for all entries, a chunk at a time.
    template <class F>
    __device__ void for_chunks(F f) {
#pragma unroll
        for (std::int32_t c = 0; c < held; ++c)
            if (c * chunk() < entries_) f(c * chunk(), kept_[c]);
#pragma unroll 1
        for (auto base = held * chunk(); base < entries_; base += chunk()) f(base, load(base));
    }

    /// The block's sum of x, by all threads.
    __device__ std::uint32_t block_sum(std::uint32_t x) {
        const auto warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
        x = __reduce_add_sync(0xFFFFFFFF, x);
        if (lane == 0) shared_.warp_sums[warp] = x;
        __syncthreads();
        x = __reduce_add_sync(0xFFFFFFFF, lane < warps ? shared_.warp_sums[lane] : 0);
        __syncthreads();
        return x;
    }

    /// How many may give way, and their smallest key.
    __device__ std::int32_t measure() {
        std::uint32_t n = 0, least = never;
        for_chunks([&](std::int32_t, const batch& at) {
#pragma unroll
            for (const auto key : at.key) {
                n += key != never;
                least = min(least, key);
            }
        });
        const auto warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
        least = __reduce_min_sync(0xFFFFFFFF, least);
        if (lane == 0) shared_.warp_mins[warp] = least;
        n = block_sum(n);
        least_ = __reduce_min_sync(0xFFFFFFFF, lane < warps ? shared_.warp_mins[lane] : never);
        return static_cast<std::int32_t>(n);
    }

    /// Bits that hold the last victim's key less the smallest one. Most entries were used lately and few give way: those
    /// are found in the oldest sixteenth or fourth of the span where it suffices, which spares the others' counting.
    __device__ std::int32_t bits_of_last(std::int32_t given) {
        const auto bits = 32 - __clz(static_cast<int>(now_ - 1 - least_)); // of the largest key less the smallest, at most
        if (bits < 5) return bits;
        const auto sixteenth = stamp{1} << (bits - 4), fourth = stamp{1} << (bits - 2);
        std::uint32_t n = 0; // two counts: there are at most 65,534 entries
        for_chunks([&](std::int32_t, const batch& at) {
#pragma unroll
            for (const auto key : at.key) n += (key - least_ < sixteenth ? 1u : 0u) + (key - least_ < fourth ? 1u << 16 : 0u);
        });
        n = block_sum(n);
        return static_cast<std::int32_t>(n & 0xFFFF) >= given ? bits - 4 : static_cast<std::int32_t>(n >> 16) >= given ? bits - 2 : bits;
    }

    /// Finds the key of the last victim: all below it go, and left_ of the equal_ at it.
    __device__ void select(std::int32_t given) {
        auto shift = max(0, bits_of_last(given) - 8);
        stamp prefix = 0;
        left_ = given;
        for (;;) {
            count(shift, prefix);
            find_bin(left_);
            prefix |= static_cast<stamp>(shared_.bin) << shift;
            left_ -= shared_.before;
            equal_ = shared_.in_bin;
            if (shift == 0 || left_ == equal_) break; // the bin is one key, or goes as a whole
            shift = max(0, shift - 8);
            __syncthreads();
        }
        threshold_ = least_ + prefix;
        width_ = stamp{1} << shift;
        __syncthreads();
    }

    /// Histogram of eight bits of the keys that agree with the prefix above them.
    __device__ void count(std::int32_t shift, stamp prefix) {
        for (auto i = threadIdx.x; i < 256; i += blockDim.x) shared_.bins[i] = 0;
        __syncthreads();
        for_chunks([&](std::int32_t, const batch& at) {
#pragma unroll
            for (const auto key : at.key) {
                const auto digit = (key - least_ - prefix) >> shift; // 256 and more where the key is above or, wrapped, below
                if (digit < 256) atomicAdd(&shared_.bins[digit], 1);
            }
        });
        __syncthreads();
    }

    /// The bin that holds the n-th victim (n >= 1) and how many lie before it: eight warps, a bin a thread.
    __device__ void find_bin(std::int32_t n) {
        const auto warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        std::int32_t bin = 0, before = 0;
        if (warp < 8) {
            bin = shared_.bins[threadIdx.x];
            before = static_cast<std::int32_t>(warp_inclusive_sum(static_cast<std::uint32_t>(bin)));
            if (lane == 31) shared_.warp_sums[warp] = static_cast<std::uint32_t>(before);
        }
        __syncthreads();
        if (warp < 8) {
            before += static_cast<std::int32_t>(__reduce_add_sync(0xFFFFFFFF, lane < warp ? shared_.warp_sums[lane] : 0)) - bin;
            if (before < n && n <= before + bin) {
                shared_.bin = static_cast<std::int32_t>(threadIdx.x);
                shared_.before = before;
                shared_.in_bin = bin;
            }
        }
        __syncthreads();
    }

    /// Of `seen` entries at the threshold before an entry, how many are victims.
    __device__ std::int32_t taken_equal(std::int32_t seen) const {
        return Replacement::highest_entry_first ? max(0, seen - (equal_ - left_)) : min(seen, left_);
    }

    /// By way of two bit maps over the entries: those that go, and those of which some go.
    __device__ void write(std::int32_t first, std::int32_t n, std::uint16_t* out) {
        const auto words = (entries_ + 31) / 32, thread = static_cast<std::int32_t>(threadIdx.x), threads = static_cast<std::int32_t>(blockDim.x);
        for (auto i = thread; i < 2 * words; i += threads) marks_[i] = 0;
        __syncthreads();
        for_chunks([&](std::int32_t base, const batch& at) {
            std::uint32_t below = 0, in = 0;
#pragma unroll
            for (std::int32_t j = 0; j < per_thread; ++j) {
                below |= (at.key[j] < threshold_ ? 1u : 0u) << j;
                in |= (at.key[j] - threshold_ < width_ ? 1u : 0u) << j;
            }
            const auto e = entry(base, 0);
            if (below != 0) atomicOr(&marks_[e / 32], below << e % 32);
            if (in != 0) atomicOr(&marks_[words + e / 32], in << e % 32);
        });
        __syncthreads();
        const auto each = (words + threads - 1) / threads, begin = min(words, thread * each), end = min(words, begin + each);
        std::uint32_t mine = 0; // below in the low half, equal in the high half
        for (auto w = begin; w < end; ++w) mine += static_cast<std::uint32_t>(__popc(marks_[w]) + (__popc(marks_[words + w]) << 16));
        const auto before = block_exclusive_sum(mine);
        auto less = static_cast<std::int32_t>(before & 0xFFFF), equal = static_cast<std::int32_t>(before >> 16);
        for (auto w = begin; w < end; ++w)
            for (auto some = marks_[w] | marks_[words + w]; some; some &= some - 1) {
                const bool is_less = (marks_[w] & some & (0 - some)) != 0;
                const auto rank = less + taken_equal(equal) - first;
                const bool victim = is_less || taken_equal(equal + 1) > taken_equal(equal);
                if (victim && rank >= 0 && rank < n) out[rank] = static_cast<std::uint16_t>(w * 32 + __ffs(static_cast<int>(some)) - 1);
                is_less ? ++less : ++equal;
            }
        __syncthreads();
    }

    __device__ std::uint32_t block_exclusive_sum(std::uint32_t x) {
        const auto inclusive = warp_inclusive_sum(x);
        const auto warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
        if (lane == 31) shared_.warp_sums[warp] = inclusive;
        __syncthreads();
        const auto before = __reduce_add_sync(0xFFFFFFFF, lane < warp && lane < warps ? shared_.warp_sums[lane] : 0);
        return before + inclusive - x;
    }

    victims_shared& shared_;
    std::uint32_t* const marks_; // [2 · ⌈entries / 32⌉]
    const stamp* used_;
    const stamp* entered_;
    const std::int32_t entries_;
    const stamp now_;
    batch kept_[held];
    stamp least_ = 0;
    stamp threshold_ = 0, width_ = 1;     // keys below the threshold go, and left_ of the equal_ in [threshold, threshold + width)
    std::int32_t equal_ = 0, left_ = 0;
};

} // namespace dhisparse
