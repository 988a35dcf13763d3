/// No index: a look-up walks the entries. There to show what the others gain.
#pragma once

#include <dhisparse/core/config.hpp>
#include <dhisparse/policy/hot_index.hpp>

#include <cstddef>

namespace dhisparse {

struct scanned {
    static constexpr const char* name = "scanned";

    struct ref {
        struct cell {
            std::int32_t row;    // -1: none
            std::uint32_t code; // of it
        };
        cell* cells = nullptr;       // [n]
        std::int32_t* lock = nullptr; // [1] of the device: -1 free
        std::int32_t n = 0;

        DHISPARSE_HD hot_code find(std::int32_t row) const {
            const auto i = place(row);
            return i < 0 ? no_code : static_cast<hot_code>(cells[i].code);
        }
        DHISPARSE_HD void set(std::int32_t row, hot_code code) const {
            auto i = place(row);
            if (i < 0) i = place(-1);
            cells[i] = {row, code};
        }
        DHISPARSE_HD void erase(std::int32_t row) const {
            if (const auto i = place(row); i >= 0) cells[i].row = -1;
        }
        /// The row's cell, or -1.
        DHISPARSE_HD std::int32_t place(std::int32_t row) const {
            for (std::int32_t i = 0; i < n; ++i)
                if (cells[i].row == row) return i;
            return -1;
        }
    };
    static constexpr std::int64_t bytes_per_row = 0;
    static constexpr std::int64_t fixed_bytes(std::int64_t codes) { return (codes + 1) / 2 * 2 * static_cast<std::int64_t>(sizeof(ref::cell)) + 16; }
    DHISPARSE_HD static ref at(std::byte* memory, std::int64_t codes) {
        auto* cells = reinterpret_cast<ref::cell*>(memory);
        return {cells, reinterpret_cast<std::int32_t*>(cells + (codes + 1) / 2 * 2), static_cast<std::int32_t>(codes)};
    }
};
static_assert(hot_index_policy<scanned>);

} // namespace dhisparse
