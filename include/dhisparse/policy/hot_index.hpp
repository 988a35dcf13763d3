/// The hot-index policy: row → code, for one slot and group.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace dhisparse {

/// What an index gives for a row: [0, B) a hot entry; [B, 65534) a row that this resolve has met and
/// not placed yet; no_code: neither.
using hot_code = std::uint16_t;
inline constexpr hot_code no_code = 0xFFFF;

/// An index for rows in [0, rows), at most `codes` of them at a time, takes rows · bytes_per_row +
/// fixed_bytes(codes) bytes (the latter a multiple of 16) and is empty when all of them are 0xFF. A ref is a trivially copyable view of those bytes:
/// find is safe beside other finds; set and erase want exclusive use. set overwrites an existing row's code.
template <class Index>
concept hot_index_policy = requires(typename Index::ref ref, const typename Index::ref view, std::byte* memory,
                                    std::int64_t n, std::int32_t row, hot_code code) {
    { Index::name } -> std::convertible_to<const char*>;
    { Index::bytes_per_row } -> std::convertible_to<std::int64_t>;
    { Index::fixed_bytes(n) } -> std::same_as<std::int64_t>;
    { Index::at(memory, n) } -> std::same_as<typename Index::ref>;
    { view.find(row) } -> std::same_as<hot_code>;
    { ref.set(row, code) };
    { ref.erase(row) };
};

} // namespace dhisparse
