/// A random program of everything that a ledger is asked for, with copies that fail, on real pages: after
/// every operation the committed rows have their bytes and DHISPARSE_CHECKS its counts. It predicts
/// nothing: what a call answers is believed, what it promises is checked.
#pragma once

#include "held_copier.hpp"
#include "model_shapes.hpp"
#include "row_bytes.hpp"

#include <dhisparse/hierarchy.hpp>
#include <dhisparse/policy/growth/reserved.hpp>
#include <dhisparse/policy/reclaim_order/least_recently_admitted.hpp>
#include <dhisparse/policy/reclaim_order/most_optional.hpp>
#include <dhisparse/policy/reclaim_order/round_robin.hpp>
#include <dhisparse/policy/refill_order/first_admitted.hpp>

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>

namespace dhisparse_test {

namespace dh = dhisparse;

/// The ledger's policies, chosen program by program.
struct chosen_growth {
    static constexpr const char* name = "chosen";
    static inline bool all = false;
    static std::int64_t positions(std::int64_t next, std::int64_t reserved) { return all ? reserved : next; }
};
template <int Kind>
struct chosen_order {
    static constexpr const char* name = "chosen";
    static inline dh::ledger_policies::key chosen = dh::longest_free::key;
    static std::uint64_t key(const dh::residency& r) { return chosen(r); }
};
struct chosen_policies : dh::default_policies {
    using growth = chosen_growth;
    using reclaim_order = chosen_order<0>;
    using refill_order = chosen_order<1>;
    using park_order = chosen_order<2>;
};

struct fault_options {
    bool faults = true; // copies fail now and then
};

class fault_program {
public:
    explicit fault_program(std::uint64_t seed, fault_options options = {});
    /// Throws std::runtime_error where something is lost, or whatever the hierarchy threw out of turn.
    void run(int n_operations);
    std::string log_tail() const;
    const dh::ledger_counts& counts() const { return it_->ledger().counts(); }

private:
    using hierarchy = dh::hierarchy<dh::basic_host_backend<held_copier>, chosen_policies>;
    struct request {
        dh::slot_id id;
        int prompt = 0, shared = 0, first = 0; // prompt; of it, what a prefix gave; page that it imports first
        int known = 0;                 // frontier that was reported
        bool imported = false, opened = false, parked = false, closed = false;
        bool ready = false;            // rounds may include it: it ran when the last plan was made
        std::vector<token> tokens;     // of the prompt; once imported, of committed positions
        std::map<int, dh::gpu_page> given; // pages of the import, not landed
        std::set<int> landed;
        std::deque<int> frontiers;     // committed and not reported
    };
    struct kept {
        dh::prefix_id id;
        std::vector<token> tokens;
    };
    /// A location that a step in flight may still read.
    struct reader {
        std::size_t g = 0;
        dh::location at = -1;
        std::vector<token> tokens;
        dh::ticket fence = 0; // of the plan behind the step; 0: no plan yet
    };

    void choose_config();
    void operate();
    void admit();
    void import(bool everything);
    void round();
    void write_position(const request& r, const dh::round_ref& round, int q, int t);
    void resolve(const dh::round_ref& round, const std::vector<request*>& batch);
    void advance(bool everything);
    void copies();
    void park();
    void resume();
    void share();
    void lease();
    void end_one();
    void extend();
    void drain();
    void check(int n_samples);
    void check_request(const request& r, int n_samples);
    void check_row(const request& r, std::size_t g, int row);
    void check_key(const request& r, int t);
    void write_page(request& r, int page, dh::gpu_page at);
    std::byte* key_of(const request& r, int i, int t);
    std::vector<std::byte> row_of(std::span<const token> tokens, std::size_t g, std::size_t lane) const;
    void expect_at(std::size_t g, dh::location at, std::span<const token> tokens, const std::string& what) const;
    request* pick(bool (*fits)(const request&));
    void note(const std::string& what);
    int p() const { return config_.shape.page_positions; }
    int m(std::size_t g) const { return it_->layout().group(static_cast<int>(g)).positions_per_row; }
    static std::string name(const request& r) { return dh::text("request in slot ", r.id.index, "/", r.id.generation); }
    template <class... Parts>
    static void expect(bool ok, const Parts&... parts) {
        if (!ok) throw std::runtime_error(dh::text(parts...));
    }

    random_source random_;
    fault_options options_;
    dh::hierarchy_config config_;
    std::unique_ptr<hierarchy> it_;
    std::vector<std::vector<row_window>> windows_;
    std::vector<std::int64_t> key_bytes_;
    std::vector<int> key_positions_;
    std::map<int, request> requests_; // by slot
    std::vector<kept> kept_;
    std::vector<std::vector<dh::gpu_page>> leases_;
    std::vector<reader> readers_;
    std::vector<dh::ticket> completed_;
    token n_tokens_ = 0;
    int n_operation_ = 0;
    std::deque<std::string> log_;
};

} // namespace dhisparse_test

#include "fault_program_impl.hpp"
#include "fault_program_round.hpp"
