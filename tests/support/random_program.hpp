/// A random program of the ledger's calls and rounds, run on a hierarchy and on the model, compared after
/// every operation. The same seed gives the same program, whatever the hierarchy answers in bytes.
#pragma once

#include "model_shapes.hpp"
#include "reference_model.hpp"

#include <climits>
#include <memory>

namespace dhisparse_test {

struct program_options {
    bool bytes_at_once = false; // copies move their bytes when posted, and complete when they would anyway
    int n_samples = 60;         // rows whose bytes are compared after an operation
};

class random_program {
public:
    explicit random_program(std::uint64_t seed, program_options options = {});
    /// Throws mismatch, or whatever the hierarchy threw out of turn.
    void run(int n_operations);
    /// Of every plan, answer, location and victim so far.
    std::uint64_t digest() const { return digest_; }
    std::string log_tail() const;

private:
    void choose_config();
    bool choose_sizes();
    void operate();
    void admit();
    void import();
    void import_everything();
    void decode();
    void take_pages(model_request& r);
    void take_pages(model_request& r, int first, int n);
    void land_page(model_request& r);
    void finish_import(model_request& r);
    void write_page(model_request& r, int page);
    void write_keys(model_request& r);
    void advance(bool everything);
    void release_copies();
    void extend();
    void finish_one();
    void misuse();
    template <class Call>
    void refused(const char* what, Call call);
    void drain();
    void check();

    // ---- rounds
    struct query {
        int uid = -1, position = -1;
    };
    struct request_of_round {
        int uid = -1, slot = -1, width = 0;
        std::vector<token> tokens; // [width]
    };
    void round();
    void choose_batch();
    int widest(const model_request& r);
    void append();
    void write_position(model_request& r, const request_of_round& b, int q, int j);
    void resolve(const dh::announcement_shape& said);
    void release();
    std::vector<std::int32_t> choose_selection(const query& q, int g, int k);
    std::int32_t choose_row(int visible);
    std::vector<dh::location> expected_locations(model_request& r, int g, int first, int n, int k, std::int64_t stride);
    void commit();
    void commit_one(const request_of_round& b, int accepted, int unsettled);
    void rewrite_unsettled();
    void write_rows(model_request& r, int t, int g, dh::location where);

    model_request* pick(bool (*fits)(const model_request&));
    void note(const std::string& what);
    template <class T>
    void digest(T value) { digest_ = mix(digest_ ^ static_cast<std::uint64_t>(value)); }

    random_source random_;
    program_options options_;
    dh::hierarchy_config config_;
    int combination_ = 0, longest_ = 0, max_requests_ = 0;
    model_options model_options_;
    std::unique_ptr<subject> it_;
    std::unique_ptr<reference_model> model_;
    std::vector<dh::ticket> completed_; // and not reported
    std::vector<dh::slot_id> old_ids_;
    std::set<int> keyed_;                    // uids whose prompt's index keys are written
    std::vector<std::pair<int, int>> late_;  // (uid, page) landed, to be written before the next plan
    std::vector<request_of_round> batch_;
    std::vector<query> queries_;
    std::vector<std::int32_t> selection_;
    dh::round_ref round_;
    token next_token_ = 1;
    std::uint64_t digest_ = 0;
    std::deque<std::string> log_;
    int n_operation_ = 0;
};

} // namespace dhisparse_test

#include "random_program_impl.hpp"
#include "random_program_round.hpp"
