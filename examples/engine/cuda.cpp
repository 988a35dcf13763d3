#include "serve.hpp"

#include "cuda_tiny_model.cuh"

namespace engine {

outcome serve_on_cuda(const options& o, std::span<const request> requests, tiny_dsa::model& target, const progress& shown) {
    using hierarchy = dh::hierarchy<dh::cuda_backend>;
    hierarchy kv(memory_of(o, requests));
    std::optional<tiny_dsa::drafter> drafter;
    if (o.k > 1) drafter.emplace(tiny_dsa::drafter::load(o.model_dir, target));
    cuda_tiny_model<hierarchy> model(kv, target, std::move(drafter), o.model_dir, o.slots, o.k);
    return serve(o, requests, kv, model, shown);
}

} // namespace engine
