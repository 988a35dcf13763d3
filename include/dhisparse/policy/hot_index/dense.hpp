/// Hot index as one array: two bytes a row of the history, one load a look-up.
#pragma once

#include <dhisparse/core/config.hpp>
#include <dhisparse/policy/hot_index.hpp>

#include <cstddef>

namespace dhisparse {

struct dense {
    static constexpr const char* name = "dense";

    struct ref {
        hot_code* codes = nullptr; // [rows]
        DHISPARSE_HD hot_code find(std::int32_t row) const { return codes[row]; }
        DHISPARSE_HD void set(std::int32_t row, hot_code code) const { codes[row] = code; }
        DHISPARSE_HD void erase(std::int32_t row) const { codes[row] = no_code; }
    };
    static constexpr std::int64_t bytes_per_row = sizeof(hot_code);
    static constexpr std::int64_t fixed_bytes(std::int64_t /*codes*/) { return 0; }
    DHISPARSE_HD static ref at(std::byte* memory, std::int64_t /*codes*/) { return {reinterpret_cast<hot_code*>(memory)}; }
};
static_assert(hot_index_policy<dense>);

} // namespace dhisparse
