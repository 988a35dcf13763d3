// What a step and a copy take: the simulated clock's parameters and equations.
#pragma once

#include <dhisparse/layout/page_layout.hpp>
#include <dhisparse/policy/width.hpp>

#include <vector>

namespace replay {

/// Every number can be set on the command line and is printed.
struct cost_parameters {
    double step_ms = 18;          // of a step without sessions
    double session_ms = 0.06;     // more for each
    double query_share = 0.15;    // of session_ms, more for each query beyond the first
    double query_ms = 0;          // of each query of a round, where all of them take longer than step_ms
    double draft_ms = 0;          // a draft pass, before each round of more than one query
    double row_ns = 47;           // a missed group row of up to 2304 bytes; larger ones in proportion
    double outside_share = 0.3;   // of selected rows outside mapped pages, where no history page is mapped
    double warm_miss = 0.002;     // of those, share missed by a warm hot cache
    double cold_miss = 0.067;     // of those, share missed where the history has just left the GPU
    double cold_steps = 32;       // steps in which the one becomes the other
    double union_share = 0.4;     // rows of a round's union, more for each query beyond the first
    double link_gb_s = 50;        // of page copies beside the steps
    double host_row_bytes = 0;    // bytes of a group row that a miss or a copy moves; 0: the model's mean
    double accepted = 0.8;        // of proposals, given that those before were; without --acceptance
};

struct cost_field {
    const char* option;
    double cost_parameters::*value;
    double low, high;
    const char* what;
};
const std::vector<cost_field>& cost_fields();

/// What a step's duration depends on.
struct step_load {
    int sessions = 0, k = 1;
    double outside = 0;      // mean share of selected rows outside mapped pages
    double missed_rows = 0;  // group rows, of all announcements
    double link_share = 0;   // of the step's time in which copies use the link
    bool resolves = true;
};

class cost_model {
public:
    cost_model(const cost_parameters& parameters, const dhisparse::page_layout& layout);
    double step_s(const step_load& load) const;
    /// What a width policy is told: the same, and resolves on a straight line.
    dhisparse::round_costs round_costs(bool resolves) const;
    /// Group rows that a session misses in one round. coldness: 1 a hot cache that knows nothing, 0 warm.
    double missed_rows(double outside, double coldness, int k) const;
    double outside(double unmapped_share) const { return parameters_.outside_share * unmapped_share; }
    double page_copy_s() const { return page_bytes_ / (parameters_.link_gb_s * 1e9); }
    double host_row_bytes() const { return host_row_bytes_; }

private:
    cost_parameters parameters_;
    double announcements_ = 0, k_ = 0, host_row_bytes_ = 0, page_bytes_ = 0, row_s_ = 0;
};

/// A resolve without misses, in µs: the project's table of figures, linear between its entries and beyond the last.
double resolve_us(int sessions, int k, double outside);

} // namespace replay
