// The launches of edits, page copies and gathers.
#include <dhisparse/copy/page_copy.cuh>
#include <dhisparse/core/cuda_check.cuh>
#include <dhisparse/executor/edits.cuh>
#include <dhisparse/executor/gather.cuh>

#include <algorithm>

namespace dhisparse {

void launch_edits(const edit_tables& tables, const edit* edits, std::int32_t n, cudaStream_t stream) {
    edit_kernel<<<static_cast<unsigned>(std::min(ceil_div(n, 256), 64)), 256, 0, stream>>>(tables, edits, n);
    cuda_check(cudaGetLastError(), "edits");
}

void launch_open(const edit_tables& tables, const edit& e, cudaStream_t stream) {
    open_kernel<<<64, 256, 0, stream>>>(tables, e);
    cuda_check(cudaGetLastError(), "edit that opens a slot");
}

void launch_move_run(const edit_tables& tables, const edit& e, cudaStream_t stream) {
    move_run_kernel<<<1, 1024, 0, stream>>>(tables, e);
    cuda_check(cudaGetLastError(), "edit that moves a slot's tables");
}

void launch_page_copies(const tiers_ref& tiers, const page_copy* copies, std::int32_t n, cudaStream_t stream) {
    page_copy_kernel<<<page_copy_blocks, page_copy_threads, 0, stream>>>(tiers, copies, n);
    cuda_check(cudaGetLastError(), "page copies");
}

void launch_gather(const tiers_ref& tiers, const slot_tables_ref& tables, const gather_args& args, cudaStream_t stream) {
    const auto rows = args.last_row - args.first_row;
    if (rows <= 0) return;
    gather_kernel<<<static_cast<unsigned>(std::min((rows + 7) / 8, 264)), 256, 0, stream>>>(tiers, tables, args);
    cuda_check(cudaGetLastError(), "gather");
}

} // namespace dhisparse
