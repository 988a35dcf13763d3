// Numbers as tables print them.
#pragma once

#include <cstdio>
#include <string>

namespace dhisparse_test {

/// As printed with so many decimals.
inline std::string printed(double value, int decimals) {
    char out[64];
    std::snprintf(out, sizeof out, "%.*f", decimals, value);
    return out;
}

} // namespace dhisparse_test
