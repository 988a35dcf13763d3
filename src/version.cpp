// The version as text. fmt stays in .cpp files: its 9.1 headers do not compile as C++20 under nvcc.
#include <dhisparse/core/config.hpp>

#include <fmt/core.h>

namespace dhisparse {

std::string version() {
    return fmt::format("dhisparse {}", DHISPARSE_VERSION);
}

} // namespace dhisparse
