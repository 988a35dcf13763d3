#include "store.hpp"

#include <dhisparse/core/error.hpp>

#include <algorithm>

namespace replay {
namespace {

namespace dh = dhisparse;

constexpr std::int64_t most_real_bytes = 4 * dh::GiB;

/// Byte i of a lane's row: other rows, lanes and contents have others.
std::byte byte_of(content what, int row, int lane, std::size_t i) {
    auto x = (what * 0x9e3779b97f4a7c15u) ^ (static_cast<std::uint64_t>(row) << 40) ^ (static_cast<std::uint64_t>(lane) << 24) ^ i;
    x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9u;
    return static_cast<std::byte>(x >> 56);
}

std::uint32_t u(int row) { return static_cast<std::uint32_t>(row); }

} // namespace

store::store(const dh::page_layout& layout, std::int32_t host_pages, bool real_bytes)
    : layout_(layout), gpu_(static_cast<std::size_t>(layout.limits().n_pages)), host_(static_cast<std::size_t>(host_pages)) {
    if (!real_bytes) return;
    const auto host_bytes = host_pages * layout.host_page_bytes();
    dh::require(layout.slab_bytes() + host_bytes <= most_real_bytes, "--real-bytes: both tiers together have ", layout.slab_bytes() + host_bytes,
                " bytes, permitted: at most ", most_real_bytes, " (see --pool-gib, --host-gib)");
    slab_.resize(static_cast<std::size_t>(layout.slab_bytes()));
    host_memory_.resize(static_cast<std::size_t>(host_bytes));
    const auto& index = layout_.index();
    for (std::int32_t i = 0; i < index.blocks_per_page; ++i) {
        index_first_.push_back(layout_.index_block(dh::gpu_page{0}, i));
        index_step_.push_back(layout_.index_block(dh::gpu_page{1}, i) - index_first_.back());
    }
    tiers_ = {.slab = slab_.data(), .host = host_memory_.data(), .host_page_bytes = layout_.host_page_bytes(), .groups = layout_.groups().data(),
              .lanes = layout_.lanes().data(), .n_groups = layout_.n_groups(),
              .index = {index.pitch_bytes, index.blocks_per_page, index_first_.data(), index_step_.data()}};
}

void store::write(dh::gpu_page page, content what, int first, int last) {
    auto& now = at(page);
    const bool goes_on = now.what == what && now.positions >= first;
    now = {first == 0 || goes_on ? what : 0, last};
    if (has_bytes()) write_rows(page, what, first, last);
}

/// Rows that these positions complete.
void store::write_rows(dh::gpu_page page, content what, int first, int last) {
    for (const auto& group : layout_.groups())
        for (auto row = first / group.positions_per_row; row < last / group.positions_per_row; ++row)
            for (int lane = group.first_lane; lane < group.first_lane + group.n_lanes; ++lane) {
                const auto& source = layout_.lanes()[static_cast<std::size_t>(lane)];
                std::size_t i = 0;
                for (int run = 0; run < source.n_runs; ++run) {
                    auto* out = tiers_.slab + source.offset_bytes(group.at(page, u(row)), run);
                    for (std::int64_t b = 0; b < source.runs[run].bytes; ++b) out[b] = byte_of(what, row, lane, i++);
                }
            }
}

void store::back_up(dh::gpu_page from, dh::host_page to, int first, int last) {
    auto& now = at(to);
    const auto& source = at(from);
    if (first == 0 || (now.what == source.what && now.positions >= first)) now = {source.what, last};
    if (!has_bytes()) return;
    for (int g = 0; g < layout_.n_groups(); ++g) {
        const auto& group = layout_.group(g);
        for (auto row = first / group.positions_per_row; row < last / group.positions_per_row; ++row)
            dh::copy_group_row(tiers_, g, group.at(from, u(row)), to, u(row), dh::direction::to_host);
    }
}

store::label store::of(const dh::page_copy& copy) const {
    if (copy.index_part >= 0) return {};
    return copy.way == dh::direction::to_host ? gpu_[static_cast<std::size_t>(number(copy.gpu))] : host_[static_cast<std::size_t>(number(copy.host))];
}

void store::copied(const dh::page_copy& copy, const label& at_start) {
    const auto arrived = of(copy) == at_start ? at_start : label{};
    copy.way == dh::direction::to_host ? at(copy.host) = arrived : at(copy.gpu) = arrived;
    if (!has_bytes()) return;
    copy.index_part >= 0 ? dh::copy_index_part(tiers_, copy.gpu, copy.host, copy.index_part, copy.way) : dh::copy_page(tiers_, copy.gpu, copy.host, copy.way);
}

int store::lost(content what, int needed, dh::gpu_page gpu, dh::host_page host) const {
    label found;
    if (gpu != dh::gpu_page::none) found = gpu_[static_cast<std::size_t>(number(gpu))];
    else if (host != dh::host_page::none) found = host_[static_cast<std::size_t>(number(host))];
    if (found.what != what) return needed;
    if (found.positions < needed) return needed - found.positions;
    if (!has_bytes()) return 0;
    int wrong = 0;
    for (const auto& group : layout_.groups())
        for (int row = 0; row < needed / group.positions_per_row; ++row) wrong += row_is(what, group, row, gpu, host) ? 0 : group.positions_per_row;
    return std::min(wrong, needed);
}

bool store::row_is(content what, const dh::group_placement& group, int row, dh::gpu_page gpu, dh::host_page host) const {
    const bool on_gpu = gpu != dh::gpu_page::none;
    for (int lane = 0; lane < group.n_lanes; ++lane) {
        const auto& source = layout_.lanes()[static_cast<std::size_t>(group.first_lane + lane)];
        const auto host_offset = on_gpu ? 0 : group.host_offset(host, tiers_.host_page_bytes, u(row)) + lane * group.host_lane_bytes;
        std::size_t i = 0;
        for (int run = 0; run < source.n_runs; ++run) {
            const auto* in = on_gpu ? tiers_.slab + source.offset_bytes(group.at(gpu, u(row)), run) : tiers_.host + host_offset + static_cast<std::ptrdiff_t>(i);
            for (std::int64_t b = 0; b < source.runs[run].bytes; ++b)
                if (in[b] != byte_of(what, row, group.first_lane + lane, i++)) return false;
        }
    }
    return true;
}

} // namespace replay
