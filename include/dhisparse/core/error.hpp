/// All exceptions, and the one check that throws them. Messages name the thing, its value and the limit.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace dhisparse {

struct error : std::runtime_error {
    using std::runtime_error::runtime_error;
};
/// A value that the caller gave is outside its permitted range; nothing was changed.
struct invalid_argument : error {
    using error::error;
};
/// Memory of either tier can't hold what was asked for; nothing was changed.
struct out_of_capacity : error {
    using error::error;
};
/// The CUDA runtime refused a call.
struct cuda_error : error {
    using error::error;
};
/// A copy between the tiers failed.
struct copy_error : error {
    using error::error;
};

/// The parts one after another as text.
template <class... Parts>
std::string text(const Parts&... parts) {
    std::ostringstream out;
    (out << ... << parts);
    return out.str();
}

/// Throws Error with the parts as its message unless ok.
template <class Error = invalid_argument, class... Parts>
void require(bool ok, const Parts&... parts) {
    if (!ok) throw Error(text(parts...));
}

/// Throws invalid_argument unless low <= value <= high.
template <class T>
void require_in(T value, T low, T high, const char* name) {
    require(low <= value && value <= high, name, " is ", value, ", permitted: ", low, " to ", high);
}

} // namespace dhisparse
