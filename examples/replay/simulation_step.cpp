// The simulation's steps: which sessions run, what they generate, and how long it takes.
#include "simulation.hpp"

#include <algorithm>
#include <cmath>

namespace replay {

namespace dh = dhisparse;

/// Those whose import is done run from the plan after it on.
void simulation::start_runs() {
    for (const auto request : importing_)
        if (auto& s = sessions_.at(request); s.imported && ledger_.running(s.slot)) running_.push_back(request), s.ran = true;
    const auto n_new = std::erase_if(importing_, [&](auto r) { return sessions_.at(r).ran; });
    for (auto i = running_.size() - n_new; i < running_.size(); ++i) {
        auto& s = sessions_.at(running_[i]);
        prefixes_.keep(s.slot, s.from.blocks, with_.block_positions(), s.contents, layout_.shape().page_positions);
    }
}

void simulation::step_or_wait() {
    start_runs();
    const auto now = taking_part();
    if (now.empty()) return pass(0);
    step(now);
    for (const auto request : running_)
        if (sessions_.at(request).generated >= sessions_.at(request).from.output) ended_.push_back(request);
    for (const auto request : ended_) finish(request);
    ended_.clear();
}

std::vector<simulation::session*> simulation::taking_part() {
    std::vector<session*> now;
    for (const auto request : running_)
        if (auto& s = sessions_.at(request); !s.parked && stalled_[static_cast<std::size_t>(s.slot.index)] == 0 && ledger_.running(s.slot)) now.push_back(&s);
    return now;
}

int simulation::next_width(std::size_t sessions) {
    const bool arrived = next_ && next_->at_s <= clock_s_;
    dh::width_load load{static_cast<std::int64_t>(sessions), static_cast<std::int64_t>(queue_.n_waiting()) + arrived};
    if (next_) {
        const auto pages = ledger_.pages();
        const auto more = (pages.free + pages.leaving + pages.reclaiming) / std::max(1, ledger_.required_pages({next_->input, next_->output}));
        load.places = std::min<std::int64_t>(with_.slots, static_cast<std::int64_t>(running_.size() + importing_.size()) + more);
    }
    return std::visit([&](auto& width) { return width.next(load); }, width_);
}

step_load simulation::load_of(const std::vector<session*>& now, int k) {
    step_load load{.sessions = static_cast<int>(now.size()), .k = k, .resolves = !with_.resident()};
    const auto p = layout_.shape().page_positions;
    for (const auto* s : now) {
        const auto share = cost_.outside(maps_.unmapped(s->slot.index, s->positions() / p));
        load.outside += share / load.sessions;
        if (load.resolves) load.missed_rows += cost_.missed_rows(share, maps_.coldness(s->slot.index, with_.cost.cold_steps), k);
    }
    load.link_share = link_.share(cost_.step_s(load));
    return load;
}

void simulation::step(const std::vector<session*>& now) {
    const auto k = next_width(now.size());
    const auto load = load_of(now, k);
    const auto seconds = cost_.step_s(load);
    ++out_.steps;
    out_.step_s += seconds;
    out_.missed_rows += load.missed_rows;
    out_.queries += std::int64_t{k} * load.sessions;
    out_.rounds += load.sessions;
    out_.max_concurrent = std::max<std::int64_t>(out_.max_concurrent, load.sessions);
    out_.session_s += load.sessions * seconds;
    pass(seconds);
    accepted_.clear();
    for (auto* s : now) generate(*s, k);
    std::visit([&](auto& width) { width.note({k, accepted_, load.missed_rows, load.link_share}); }, width_);
}

/// 0 seconds: no step runs, and the clock goes to what comes next.
void simulation::pass(double seconds) {
    if (seconds == 0 && !active_ && !done()) {
        seconds = link_.next_s();
        if (next_ && next_->at_s > clock_s_) seconds = std::min(seconds, next_->at_s - clock_s_);
        if (!std::isfinite(seconds) && queue_.n_waiting() > 0 && prefixes_.drop_oldest()) seconds = 0;
        if (!std::isfinite(seconds)) stuck();
    }
    clock_s_ += seconds;
    link_.run(seconds, completed_);
}

void simulation::generate(session& s, int k) {
    if (s.started_s < 0) s.started_s = clock_s_;
    std::int32_t accepted = 0;
    const auto u = k > 1 ? random_.uniform() : 1;
    for (int i = 0; i + 1 < k; ++i) accepted += u < with_.survival[static_cast<std::size_t>(i)];
    accepted_.push_back(accepted);
    append(s, std::min<std::int64_t>(1 + accepted, s.from.output - s.generated));
}

/// Tokens that the model has written and the round has committed, page by page.
void simulation::append(session& s, std::int64_t n) {
    const auto p = layout_.shape().page_positions;
    for (auto at = s.positions(), end = at + n; at < end;) {
        const auto page = at / p;
        const auto first = static_cast<int>(at % p), last = static_cast<int>(std::min<std::int64_t>(p, end - page * p));
        const auto gpu = maps_.gpu(s.slot.index, page);
        if (gpu == dh::gpu_page::none) throw dh::error(dh::text("position ", at, " of slot ", s.slot.index, " is not mapped, and its slot was not reported as stalled"));
        if (static_cast<std::int64_t>(s.contents.size()) == page) s.contents.push_back(store_.fresh());
        store_.write(gpu, s.contents[static_cast<std::size_t>(page)], first, last);
        if (const auto host = with_.resident() ? dh::host_page::none : maps_.host(s.slot.index, page); host != dh::host_page::none) store_.back_up(gpu, host, first, last);
        at = page * p + last;
    }
    s.generated += n;
    out_.tokens += n;
    reports_.push_back({s.slot, static_cast<std::int32_t>(s.positions())});
}

void simulation::finish(queue::number request) {
    auto& s = sessions_.at(request);
    check_rows(s);
    ++out_.finished;
    out_.last_s = clock_s_;
    out_.tpot_ms.add((clock_s_ - s.started_s) * 1e3 / static_cast<double>(std::max<std::int64_t>(1, s.from.output - 1)));
    queue_.finish(s.slot);
    if (s.prefix) prefixes_.use(*s.prefix, -1);
    std::erase(running_, request);
    sessions_.erase(request);
    active_ = true;
}

/// Every row of a request, where its maps say that it is.
void simulation::check_rows(const session& s) {
    const auto p = layout_.shape().page_positions;
    for (std::size_t page = 0; page < s.contents.size(); ++page) {
        const auto first = static_cast<std::int64_t>(page) * p;
        const auto needed = static_cast<int>(std::min<std::int64_t>(p, s.positions() - first));
        const auto host = with_.resident() ? dh::host_page::none : maps_.host(s.slot.index, first / p);
        out_.lost_rows += store_.lost(s.contents[page], needed, maps_.gpu(s.slot.index, first / p), host);
    }
}

} // namespace replay
