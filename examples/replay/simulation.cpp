#include "simulation.hpp"

#include <algorithm>
#include <cmath>

namespace replay {

namespace dh = dhisparse;

namespace {

std::variant<dh::fixed, dh::scheduled, dh::online> width_of(const setup& with, const cost_model& cost) {
    const dh::width_config config{.k_max = with.k, .costs = cost.round_costs(!with.resident()), .fits = {}};
    if (with.width == width_choice::scheduled) return dh::scheduled(config);
    if (with.width == width_choice::online) return dh::online(config);
    return dh::fixed(config);
}

} // namespace

simulation::simulation(const setup& with, trace_source& trace)
    : with_(with), trace_(&trace), layout_(with.layout()), tables_(with.tables(layout_)), ledger_(layout_, tables_, with.config(layout_), with.policies()),
      queue_(ledger_), cost_(with.cost, layout_), store_(layout_, with.host_pages(layout_), with.real_bytes), maps_(layout_, tables_), link_(store_),
      prefixes_(ledger_, with.kept_prefixes), width_(width_of(with, cost_)), random_(with.seed),
      stalled_(static_cast<std::size_t>(with.slots)) {
    out_.mode = name_of(with.as);
}

outcome simulation::run(const std::function<void(double)>& progress) {
    read_next();
    if (next_) out_.first_s = clock_s_ = next_->at_s;
    for (std::int64_t n = 0; !done(); ++n) {
        round();
        if (n % 256 == 0) progress(trace_->progress());
    }
    progress(1);
    const auto& c = ledger_.counts();
    out_.reclaims = static_cast<std::int64_t>(c.reclaims);
    out_.reclaimed_pages = static_cast<std::int64_t>(c.reclaimed_pages);
    out_.refilled_pages = static_cast<std::int64_t>(c.refilled_pages);
    out_.backed_up_pages = static_cast<std::int64_t>(c.backed_up_pages);
    return std::move(out_);
}

/// One plan, and one step or the time until something happens.
void simulation::round() {
    active_ = false;
    const auto& plan = ledger_.advance(completed_, reports_);
    completed_.clear();
    reports_.clear();
    maps_.apply(plan);
    for (const auto& copy : plan.copies) link_.post(copy, cost_.page_copy_s());
    stalled_.assign(stalled_.size(), 0);
    for (const auto& at : plan.stalled) stalled_[static_cast<std::size_t>(at.slot.index)] = 1;
    if (plan.fence != 0) active_ = true;
    const auto fence = plan.fence;
    check_budget();
    handle(queue_.step(plan));
    import_history();
    admit_arrivals();
    if (with_.as == mode::adaptive) make_room();
    if (with_.as == mode::hot_only) leave_at_once();
    step_or_wait();
    if (fence != 0) completed_.push_back(fence); // the step before the plan is over
    take_sample();
}

void simulation::read_next() {
    next_ = trace_->next();
    if (!next_) return;
    next_->at_s /= with_.speed;
    next_->input = std::max<std::int64_t>(1, std::llround(static_cast<double>(next_->input) * with_.context_scale));
    next_->blocks.resize(std::min<std::size_t>(next_->blocks.size(), static_cast<std::size_t>(next_->input / with_.block_positions())));
    ++out_.requests;
}

/// The trace is read as the queue empties: requests that wait take no memory.
void simulation::admit_arrivals() {
    static const dh::step_plan nothing;
    while (next_ && next_->at_s <= clock_s_ && may_submit()) {
        submit();
        handle(queue_.step(nothing));
        import_history();
    }
}

/// Arriving history gets room before the next request does.
bool simulation::may_submit() const {
    if (queue_.n_waiting() > 0 || queue_.n_parked() > 0) return false;
    if (with_.resident() || running_.size() + importing_.size() == 0) return true;
    const auto pages = ledger_.pages();
    if (lacking_pages() > pages.capacity / 8) return false;
    const auto need = ledger_.required_pages({next_->input, next_->output});
    return pages.capacity - pages.required - need >= pages.capacity / 256;
}

void simulation::submit() {
    session s;
    s.from = *next_;
    dh::demand wanted{s.from.input, s.from.output};
    const auto p = layout_.shape().page_positions;
    const auto found = prefixes_.find(s.from.blocks, with_.block_positions(), s.from.input);
    const auto shared = found.positions / p * p;
    if (shared > 0) {
        wanted.prefix = found.prefix->id;
        wanted.shared = shared;
        s.prefix = found.prefix;
        prefixes_.use(found.prefix, 1);
    }
    const auto request = queue_.submit(wanted);
    if (!request) {
        if (s.prefix) prefixes_.use(*s.prefix, -1);
        ++out_.refused;
    } else {
        sessions_.emplace(*request, std::move(s));
    }
    read_next();
}

void simulation::handle(std::span<const queue::event> events) {
    using kind = queue::event::kind;
    for (const auto& event : events) {
        auto& s = sessions_.at(event.request);
        active_ = true;
        switch (event.what) {
        case kind::admitted:
            s.slot = event.slot;
            if (!std::exchange(s.waited, true)) out_.waits_s.add(clock_s_ - s.from.at_s);
            begin(s);
            importing_.push_back(event.request);
            break;
        case kind::parked: s.parked = true, ++out_.parks; break;
        case kind::resumed: s.parked = false; break;
        case kind::restarted: restart(s); break;
        case kind::failed: throw dh::error("a copy failed, and none was made to");
        }
    }
    std::erase_if(running_, [&](auto r) { return sessions_.at(r).slot.index < 0; });
    std::erase_if(importing_, [&](auto r) { return sessions_.at(r).slot.index < 0; });
}

/// An admitted request: what a prefix gives is there.
void simulation::begin(session& s) {
    const auto p = layout_.shape().page_positions;
    s.landed = ledger_.shared_positions(s.slot) / p;
    out_.prefix_positions += s.landed * std::int64_t{p};
    if (s.landed > 0) s.contents.assign((*s.prefix)->contents.begin(), (*s.prefix)->contents.begin() + s.landed);
}

void simulation::restart(session& s) {
    ++out_.restarts;
    out_.tokens -= s.generated;
    s.slot = {};
    s.generated = 0;
    s.landed = 0;
    s.imported = s.ran = s.parked = false;
    s.contents.clear();
}

/// History lands as soon as there are pages for it.
void simulation::import_history() {
    for (const auto request : importing_)
        if (auto& s = sessions_.at(request); !s.imported && !s.parked) import_some(s);
}

/// Optional history of others goes for history that lacks pages, and for what arrives next.
void simulation::make_room() {
    const bool arrived = next_ && next_->at_s <= clock_s_ && ledger_.free_slots() > 0;
    const auto lacks = lacking_pages() + (arrived ? with_.spare(layout_) : 0);
    const auto pages = ledger_.pages();
    const auto there = pages.optional - pages.reclaiming;
    const auto wanted = std::min<std::int64_t>(lacks - pages.free - pages.leaving - pages.reclaiming, there);
    if (wanted > 0) active_ |= ledger_.reclaim(wanted) > 0;
}

/// Of history that has not landed.
std::int64_t simulation::lacking_pages() const {
    std::int64_t out = 0;
    for (const auto request : importing_)
        if (const auto& s = sessions_.at(request); !s.imported && !s.parked) out += pages_of(s.from.input) - s.landed;
    return out;
}

void simulation::import_some(session& s) {
    if (!ledger_.importing(s.slot)) return;
    const auto p = layout_.shape().page_positions;
    const auto pages = pages_of(s.from.input);
    if (queue_.n_waiting() == 0) ledger_.reclaim(0); // what was reclaimed for the import may be taken
    const auto given = ledger_.import_pages(s.slot, s.landed, pages - s.landed);
    const auto n = static_cast<std::int32_t>(given.size());
    for (std::int32_t i = 0; i < n; ++i) {
        s.contents.push_back(store_.fresh());
        store_.write(given[static_cast<std::size_t>(i)], s.contents.back(), 0, static_cast<int>(std::min<std::int64_t>(p, s.from.input - std::int64_t{s.landed + i} * p)));
    }
    active_ |= n > 0;
    ledger_.landed(s.slot, s.landed, n);
    s.landed += n;
    if (s.landed < pages) return;
    ledger_.finish_import(s.slot);
    s.imported = active_ = true;
}

/// Mode hot-only: nothing optional stays.
void simulation::leave_at_once() {
    const auto pages = ledger_.pages();
    const auto there = pages.optional - pages.reclaiming;
    if (there > 0) active_ |= ledger_.reclaim(there) > 0;
    if (there > 0 && queue_.n_waiting() == 0) ledger_.reclaim(0);
}

void simulation::check_budget() {
    const auto p = ledger_.pages();
    const bool counts = p.required + p.optional + p.leaving + p.free == p.capacity && p.free >= 0 && p.leaving >= 0;
    const bool granted = p.optional > optional_before_ && p.optional > p.capacity - p.required;
    out_.budget_violations += !counts || granted || p.required + p.optional > p.capacity;
    optional_before_ = p.optional;
}

void simulation::take_sample() {
    out_.over_time.add(traces::sample_of(ledger_, clock_s_, double(running_.size()), double(running_.size() + importing_.size())));
}

void simulation::stuck() const {
    throw dh::error(dh::text("nothing can go on: ", running_.size(), " sessions run, ", importing_.size(), " import, ", queue_.n_waiting(), " wait, ",
                             queue_.n_parked(), " are parked, ", ledger_.pages().free, " pages are free"));
}

} // namespace replay
