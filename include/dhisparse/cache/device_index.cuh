/// What the CUDA resolver asks of a hot index beyond the policy's own concept: look-ups that see other
/// blocks' writes, and a claim that many threads may make at once.
#pragma once

#include <dhisparse/policy/hot_index/dense.hpp>
#include <dhisparse/policy/hot_index/hashed.hpp>
#include <dhisparse/policy/hot_index/scanned.hpp>

#include <cuda/atomic>

namespace dhisparse {
namespace detail {

/// Lowers codes[i] to `code` where it is larger; returns what it was. A 16-bit minimum by compare-and-swap of the word
/// that holds it; the word's other half may change meanwhile.
__device__ inline hot_code lower_code(hot_code* codes, std::int64_t i, hot_code code) {
    auto* word = reinterpret_cast<std::uint32_t*>(codes + (i & ~std::int64_t{1}));
    const auto shift = static_cast<std::uint32_t>(i & 1) * 16;
    cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device> cell(*word);
    auto seen = cell.load(cuda::memory_order_relaxed);
    for (;;) {
        const auto had = static_cast<hot_code>(seen >> shift);
        if (had <= code) return had;
        const auto wanted = (seen & ~(0xFFFFu << shift)) | std::uint32_t{code} << shift;
        if (cell.compare_exchange_weak(seen, wanted, cuda::memory_order_relaxed)) return had;
    }
}

} // namespace detail

/// Specialised for each index policy. In one phase of a resolve many threads find and claim; in another each sets or
/// erases rows that no other thread touches. claim lowers the row's code to `code`, or adds it; it returns what the code was.
template <class Index>
struct device_index;

template <>
struct device_index<dense> {
    dense::ref index;

    __device__ hot_code find(std::int32_t row) const { return __ldcg(index.codes + row); }
    __device__ void set(std::int32_t row, hot_code code) const { __stcg(index.codes + row, code); }
    __device__ void erase(std::int32_t row) const { __stcg(index.codes + row, no_code); }
    __device__ hot_code claim(std::int32_t row, hot_code code) const { return detail::lower_code(index.codes, row, code); }
};

/// A cell is filled once and stays so, its row or a tombstone in it, until the table is rebuilt: then no two threads can
/// put a row into two cells. A resolve fills at most K·k cells and its release as many, a quarter of the table each.
template <>
struct device_index<hashed> {
    hashed::ref index;
    static constexpr std::int32_t empty = -1, tombstone = -2;

    __device__ hot_code find(std::int32_t row) const {
        const auto cell = probe(row);
        return __ldcg(index.rows + cell) == row ? __ldcg(index.codes + cell) : no_code;
    }
    __device__ void set(std::int32_t row, hot_code code) const { __stcg(index.codes + fill(row), code); }
    __device__ void erase(std::int32_t row) const {
        const auto cell = probe(row);
        if (__ldcg(index.rows + cell) != row) return;
        __stcg(index.codes + cell, no_code);
        __stcg(index.rows + cell, tombstone);
    }
    __device__ hot_code claim(std::int32_t row, hot_code code) const { return detail::lower_code(index.codes, fill(row), code); }

    /// Whether the next resolve could find the table full. Between resolves alone.
    __device__ bool is_full() const { return __ldcg(index.filled()) + 1 >= static_cast<std::int32_t>(index.mask / 2); }
    /// Builds the table anew from the rows of the entries, -1 for none. By a block; nobody else reads or writes meanwhile.
    __device__ void rebuild(const std::int32_t* rows, std::int32_t entries) const {
        for (auto i = threadIdx.x; i <= index.mask; i += blockDim.x) {
            __stcg(index.rows + i, empty);
            __stcg(index.codes + i, no_code);
        }
        if (threadIdx.x == 0) __stcg(index.filled(), -1);
        __syncthreads();
        for (auto e = static_cast<std::int32_t>(threadIdx.x); e < entries; e += static_cast<std::int32_t>(blockDim.x))
            if (const auto row = __ldcg(rows + e); row >= 0) set(row, static_cast<hot_code>(e));
    }

private:
    /// The row's cell, or the first empty one behind its home.
    __device__ std::uint32_t probe(std::int32_t row) const {
        auto cell = index.home(row);
        for (;;) {
            const auto has = __ldcg(index.rows + cell);
            if (has == row || has == empty) return cell;
            cell = (cell + 1) & index.mask;
        }
    }
    /// The row's cell, which it is given where it has none.
    __device__ std::uint32_t fill(std::int32_t row) const {
        for (;;) {
            const auto cell = probe(row);
            const auto had = atomicCAS(index.rows + cell, empty, row);
            if (had == empty) atomicAdd(index.filled(), 1);
            if (had == empty || had == row) return cell;
        }
    }
};

template <>
struct device_index<scanned> {
    scanned::ref index;

    __device__ hot_code find(std::int32_t row) const {
        const auto i = place(row);
        return i < 0 ? no_code : code_at(i);
    }
    __device__ void set(std::int32_t row, hot_code code) const {
        alone([&] {
            auto i = place(row);
            if (i < 0) i = place(-1);
            write(i, row, code);
        });
    }
    __device__ void erase(std::int32_t row) const {
        alone([&] {
            if (const auto i = place(row); i >= 0) write(i, -1, no_code);
        });
    }
    __device__ hot_code claim(std::int32_t row, hot_code code) const {
        auto had = no_code;
        alone([&] {
            auto i = place(row);
            if (i >= 0) had = code_at(i);
            else i = place(-1);
            if (code < had) write(i, row, code);
        });
        return had;
    }

private:
    using word = unsigned long long; // a cell: row in the low half
    __device__ word* words() const { return reinterpret_cast<word*>(index.cells); }
    __device__ hot_code code_at(std::int32_t i) const { return static_cast<hot_code>(__ldcg(words() + i) >> 32); }
    __device__ void write(std::int32_t i, std::int32_t row, hot_code code) const { __stcg(words() + i, word{code} << 32 | static_cast<std::uint32_t>(row)); }
    __device__ std::int32_t place(std::int32_t row) const {
        for (std::int32_t i = 0; i < index.n; ++i)
            if (static_cast<std::int32_t>(__ldcg(words() + i)) == row) return i;
        return -1;
    }
    /// One thread at a time.
    template <class F>
    __device__ void alone(F f) const {
        for (bool done = false; !done;)
            if (atomicCAS(index.lock, -1, 0) == -1) {
                __threadfence();
                f();
                __threadfence();
                atomicExch(index.lock, -1);
                done = true;
            }
    }
};

} // namespace dhisparse
