#include "serve.hpp"

#include "cuda_tiny_model.cuh"

namespace engine {

outcome serve_on_cuda(const options& o, std::span<const request> requests, tiny_dsa::model& target, const progress& shown) {
    using hierarchy = dh::hierarchy<dh::cuda_backend>;
    hierarchy kv(memory_of(o, requests));
    cuda_tiny_model<hierarchy> model(kv, target, o.model_dir, o.slots);
    return serve(o, requests, kv, model, shown);
}

} // namespace engine
