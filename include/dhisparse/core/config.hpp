/// The version, and the macros that let host and device share a source and switch checks on.
#pragma once

#define DHISPARSE_VERSION "0.1.0" // the only place that states it: CMake reads it here

#if defined(_MSVC_LANG) ? _MSVC_LANG < 202002L : __cplusplus < 202002L
#error "dhisparse needs C++20, in .cu files too: set CUDA_STANDARD to 20 or leave it unset"
#endif

/// Marks a function that both the host and the device compile.
#ifdef __CUDACC__
#define DHISPARSE_HD __host__ __device__
#else
#define DHISPARSE_HD
#endif

/// 1 adds checks inside functions. It never adds, removes or moves a member of a class, so that
/// programs and libraries built with different values agree on every layout.
#ifndef DHISPARSE_CHECKS
#define DHISPARSE_CHECKS 0
#endif

#include <string>

namespace dhisparse {

/// The version of the compiled library (DHISPARSE_VERSION is that of the headers). Does not
/// throw but for memory. Needs dhisparse::runtime.
std::string version();

} // namespace dhisparse
