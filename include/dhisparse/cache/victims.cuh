/// Which hot entries give way, on the device: the same choice as hot_cache_ref::choose, by one block.
#pragma once

#include <dhisparse/policy/replacement.hpp>

#include <cstdint>

namespace dhisparse {

/// Shared memory of a choice.
struct victims_shared {
    std::int32_t bins[256];
    std::uint32_t warp_sums[32]; // of packed pairs
    std::int32_t total;
    std::int32_t bin;   // the bin in which the last victim lies
    std::int32_t before; // victims in bins that go first
};

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
/// threads of a block (a multiple of 32, at most 1024) call it; several blocks may, alike.
template <replacement_policy Replacement>
class victim_choice {
public:
    /// used, entered: [entries], 16-byte aligned, as all blocks of the request have marked them.
    __device__ victim_choice(victims_shared& shared, const stamp* used, const stamp* entered, std::int32_t entries, stamp now)
        : shared_(shared), used_(used), entered_(entered), entries_(entries), now_(now) {}

    /// Writes the victims of ranks [first, first + n), in entry order, to out[0, n). Returns how many
    /// victims there are in all: `wanted`, or every unprotected entry where those are fewer.
    __device__ std::int32_t choose(std::int32_t wanted, std::int32_t first, std::int32_t n, std::uint16_t* out) {
        count([&](stamp key, int& bin) { bin = static_cast<int>(min(now_ - key, 255u)); return true; });
        given_ = min(wanted, total_bins());
        if (given_ == 0) return 0;
        find_bin(given_, true);
        if (shared_.bin == 255 && shared_.bins[255] > given_ - shared_.before) refine();
        else take_bin();
        write(first, n, out);
        return given_;
    }

private:
    static constexpr std::int32_t per_thread = 16;

    struct batch {
        stamp key[per_thread];
        std::uint32_t open = 0; // bit j: entry j may give way
    };
    __device__ std::int32_t entry(std::int32_t base, std::int32_t j) const { return base + static_cast<std::int32_t>(threadIdx.x) * per_thread + j; }
    __device__ batch load(std::int32_t base) const {
        batch out;
#pragma unroll
        for (std::int32_t j = 0; j < per_thread; j += 4) {
            const auto e = entry(base, j);
            uint4 used{now_, now_, now_, now_}, entered{};
            if (e < entries_) {
                used = __ldcg(reinterpret_cast<const uint4*>(used_ + e));
                entered = __ldcg(reinterpret_cast<const uint4*>(entered_ + e));
            }
            const stamp u[] = {used.x, used.y, used.z, used.w}, i[] = {entered.x, entered.y, entered.z, entered.w};
#pragma unroll
            for (std::int32_t n = 0; n < 4; ++n) {
                out.key[j + n] = Replacement::key(u[n], i[n]);
                out.open |= static_cast<std::uint32_t>(e + n < entries_ && u[n] != now_) << (j + n);
            }
        }
        return out;
    }
    __device__ std::int32_t chunk() const { return static_cast<std::int32_t>(blockDim.x) * per_thread; }

    /// Histogram of the unprotected entries for which bin_of(key, bin) holds.
    template <class BinOf>
    __device__ void count(BinOf bin_of) {
        for (auto i = threadIdx.x; i < 256; i += blockDim.x) shared_.bins[i] = 0;
        __syncthreads();
        for (std::int32_t base = 0; base < entries_; base += chunk()) {
            const auto at = load(base);
#pragma unroll
            for (std::int32_t j = 0; j < per_thread; ++j) {
                int bin = -1;
                if (!(at.open >> j & 1) || !bin_of(at.key[j], bin)) bin = -1;
                const auto same = __match_any_sync(0xFFFFFFFF, bin); // stamps cluster: one addition a distinct bin
                if (bin >= 0 && threadIdx.x % 32 == static_cast<unsigned>(__ffs(static_cast<int>(same)) - 1)) atomicAdd(&shared_.bins[bin], __popc(same));
            }
        }
        __syncthreads();
    }

    __device__ std::int32_t total_bins() {
        if (threadIdx.x < 32) {
            std::int32_t sum = 0;
            for (int i = 0; i < 8; ++i) sum += shared_.bins[threadIdx.x * 8 + i];
            sum = static_cast<std::int32_t>(__reduce_add_sync(0xFFFFFFFF, static_cast<unsigned>(sum)));
            if (threadIdx.x == 0) shared_.total = sum;
        }
        __syncthreads();
        return shared_.total;
    }

    /// The bin that holds the n-th victim (n >= 1), bins in descending or ascending order, and how many lie before it.
    __device__ void find_bin(std::int32_t n, bool descending) {
        __syncthreads();
        if (threadIdx.x < 32) {
            std::int32_t bins[8], sum = 0;
            for (int i = 0; i < 8; ++i) {
                const auto b = static_cast<int>(threadIdx.x) * 8 + i;
                bins[i] = shared_.bins[descending ? 255 - b : b];
                sum += bins[i];
            }
            auto before = static_cast<std::int32_t>(warp_inclusive_sum(static_cast<std::uint32_t>(sum))) - sum;
            for (int i = 0; i < 8; ++i) {
                if (before < n && n <= before + bins[i]) {
                    const auto b = static_cast<int>(threadIdx.x) * 8 + i;
                    shared_.bin = descending ? 255 - b : b;
                    shared_.before = before;
                }
                before += bins[i];
            }
        }
        __syncthreads();
    }

    /// The usual case: the last victim's age is known exactly, or all of the oldest go.
    __device__ void take_bin() {
        const bool all_oldest = shared_.bin == 255;
        threshold_ = all_oldest ? now_ - 254 : now_ - static_cast<stamp>(shared_.bin);
        equal_ = all_oldest ? 0 : shared_.bins[shared_.bin];
        left_ = all_oldest ? 0 : given_ - shared_.before;
        __syncthreads();
    }

    /// Entries aged 255 and more: radix select of their stamps, eight bits a pass.
    __device__ void refine() {
        std::int32_t left = given_ - shared_.before; // bin 255 comes first: before is 0
        stamp prefix = 0;
        for (int shift = 24; shift >= 0; shift -= 8) {
            count([&](stamp key, int& bin) {
                bin = static_cast<int>(key >> shift & 255);
                return now_ - key >= 255 && (shift == 24 || key >> (shift + 8) == prefix >> (shift + 8));
            });
            find_bin(left, false);
            prefix |= static_cast<stamp>(shared_.bin) << shift;
            left -= shared_.before;
        }
        threshold_ = prefix;
        equal_ = shared_.bins[shared_.bin];
        left_ = left;
        __syncthreads();
    }

    /// Of `seen` entries at the threshold before an entry, how many are victims.
    __device__ std::int32_t taken_equal(std::int32_t seen) const {
        return Replacement::highest_entry_first ? max(0, seen - (equal_ - left_)) : min(seen, left_);
    }

    __device__ void write(std::int32_t first, std::int32_t n, std::uint16_t* out) {
        std::int32_t less_before = 0, equal_before = 0;
        for (std::int32_t base = 0; base < entries_; base += chunk()) {
            const auto at = load(base);
            std::uint32_t mine = 0; // less in the low half, equal in the high half
#pragma unroll
            for (std::int32_t j = 0; j < per_thread; ++j)
                if (at.open >> j & 1) mine += at.key[j] < threshold_ ? 1u : at.key[j] == threshold_ ? 1u << 16 : 0u;
            std::uint32_t all = 0;
            const auto before = block_exclusive_sum(mine, all);
            auto less = less_before + static_cast<std::int32_t>(before & 0xFFFF);
            auto equal = equal_before + static_cast<std::int32_t>(before >> 16);
#pragma unroll
            for (std::int32_t j = 0; j < per_thread; ++j) {
                const bool open = at.open >> j & 1, is_less = open && at.key[j] < threshold_, is_equal = open && at.key[j] == threshold_;
                const auto rank = less + taken_equal(equal) - first;
                const bool victim = is_less || (is_equal && taken_equal(equal + 1) > taken_equal(equal));
                if (victim && rank >= 0 && rank < n) out[rank] = static_cast<std::uint16_t>(entry(base, j));
                less += is_less;
                equal += is_equal;
            }
            less_before += static_cast<std::int32_t>(all & 0xFFFF);
            equal_before += static_cast<std::int32_t>(all >> 16);
        }
        __syncthreads();
    }

    __device__ std::uint32_t block_exclusive_sum(std::uint32_t x, std::uint32_t& all) {
        const auto inclusive = warp_inclusive_sum(x);
        const auto warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
        if (lane == 31) shared_.warp_sums[warp] = inclusive;
        __syncthreads();
        std::uint32_t before = 0;
        all = 0;
        const auto sum = lane < warps ? shared_.warp_sums[lane] : 0;
        before = __reduce_add_sync(0xFFFFFFFF, lane < warp ? sum : 0);
        all = __reduce_add_sync(0xFFFFFFFF, sum);
        __syncthreads();
        return before + inclusive - x;
    }

    victims_shared& shared_;
    const stamp* used_;
    const stamp* entered_;
    const std::int32_t entries_;
    const stamp now_;
    std::int32_t given_ = 0;
    stamp threshold_ = 0;     // all below it go, and `left_` of the `equal_` at it
    std::int32_t equal_ = 0, left_ = 0;
};

} // namespace dhisparse
