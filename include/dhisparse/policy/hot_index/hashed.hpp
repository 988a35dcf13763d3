/// Hot index as an open-addressing table with linear probing: its size follows the cache, not the history, and is less
/// than dense's from 12 rows of history a code on. On the host, erasing closes the gap (Knuth, vol. 3, 6.4 R), so that no
/// tombstones build up; on the device it leaves one, and a resolve that finds too many rebuilds the table (cache/device_index.cuh).
#pragma once

#include <dhisparse/core/config.hpp>
#include <dhisparse/policy/hot_index.hpp>

#include <cstddef>

namespace dhisparse {

struct hashed {
    static constexpr const char* name = "hashed";

    struct ref {
        std::int32_t* rows = nullptr; // [mask + 1] a row, or -1 for none
        hot_code* codes = nullptr;    // [mask + 1]
        std::uint32_t mask = 0;

        /// [1] of the device: cells that are not empty, less one.
        DHISPARSE_HD std::int32_t* filled() const { return reinterpret_cast<std::int32_t*>(codes + mask + 1); }

        DHISPARSE_HD hot_code find(std::int32_t row) const {
            const auto cell = probe(row);
            return rows[cell] == row ? codes[cell] : no_code;
        }
        DHISPARSE_HD void set(std::int32_t row, hot_code code) const {
            const auto cell = probe(row);
            rows[cell] = row;
            codes[cell] = code;
        }
        DHISPARSE_HD void erase(std::int32_t row) const {
            auto gap = probe(row);
            if (rows[gap] != row) return;
            for (auto next = gap;;) {
                next = (next + 1) & mask;
                if (rows[next] < 0) break;
                if (((next - home(rows[next])) & mask) < ((next - gap) & mask)) continue; // would move before its home
                rows[gap] = rows[next];
                codes[gap] = codes[next];
                gap = next;
            }
            rows[gap] = -1;
        }

        DHISPARSE_HD std::uint32_t home(std::int32_t row) const { // Fibonacci hashing
            return (static_cast<std::uint32_t>(row) * 2654435769u >> 12) & mask;
        }

    private:
        /// The row's cell, or the empty one where it would go.
        DHISPARSE_HD std::uint32_t probe(std::int32_t row) const {
            auto cell = home(row);
            while (rows[cell] >= 0 && rows[cell] != row) cell = (cell + 1) & mask;
            return cell;
        }
    };
    static constexpr std::int64_t bytes_per_row = 0;
    static constexpr std::int64_t fixed_bytes(std::int64_t codes) {
        return cells(codes) * static_cast<std::int64_t>(sizeof(std::int32_t) + sizeof(hot_code)) + 16;
    }
    DHISPARSE_HD static ref at(std::byte* memory, std::int64_t codes) {
        auto* rows = reinterpret_cast<std::int32_t*>(memory);
        const auto n = cells(codes);
        return {rows, reinterpret_cast<hot_code*>(rows + n), static_cast<std::uint32_t>(n - 1)};
    }

private:
    /// A power of two, at most a quarter full, so that probes stay short and tombstones have room.
    DHISPARSE_HD static constexpr std::int64_t cells(std::int64_t codes) {
        std::int64_t n = 16;
        while (n < 4 * codes) n *= 2;
        return n;
    }
};
static_assert(hot_index_policy<hashed>);

} // namespace dhisparse
