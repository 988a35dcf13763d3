// The prompts: bytes of a file, one prompt a request.
#pragma once

#include "options.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace decode {

using bytes = std::vector<std::uint8_t>;

/// [requests] prompts of equal length, each 100 bytes further on in the file than the one before,
/// which goes on at its start where it ends. Throws usage_error where the file can't be read, or
/// the offset or length doesn't fit.
std::vector<bytes> read_prompts(const options& o);

} // namespace decode
