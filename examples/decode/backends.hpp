// The main job on each backend; one source file a backend. A CUDA one would be cuda.cu, with a
// machine for it (machine.hpp), and options.cpp would permit it.
#pragma once

#include "census.hpp"
#include "prompts.hpp"

#include <tiny_dsa/model.hpp>

#include <span>

namespace decode {

/// host.cpp. Throws usage_error, dhisparse::error and what the model throws.
outcome run_on_host(const options& o, std::span<const bytes> prompts, tiny_dsa::model& model);

} // namespace decode
