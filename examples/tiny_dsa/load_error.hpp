// Why the model's file could not be loaded, in one line.
#pragma once

#include <stdexcept>

namespace tiny_dsa {

class load_error : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

} // namespace tiny_dsa
