// The main job on each backend; one source file a backend.
#pragma once

#include "census.hpp"
#include "prompts.hpp"

#include <tiny_dsa/model.hpp>

#include <span>

namespace decode {

/// host.cpp. Throws usage_error, dhisparse::error and what the model throws.
outcome run_on_host(const options& o, std::span<const bytes> prompts, tiny_dsa::model& model);

/// cuda.cu, in builds with CUDA: the prefill on the CPU, both decodes on the current device.
outcome run_on_cuda(const options& o, std::span<const bytes> prompts, tiny_dsa::model& model);

} // namespace decode
