/// What a refused call says.
#pragma once

#include <dhisparse/core/error.hpp>

#include <string>

namespace dhisparse_test {

/// The message of the Error that the call throws; empty where it throws nothing. Others pass
/// through.
template <class Error = dhisparse::invalid_argument, class Call>
std::string refusal(Call call) {
    try {
        call();
    } catch (const Error& refused) {
        return refused.what();
    }
    return "";
}

} // namespace dhisparse_test
