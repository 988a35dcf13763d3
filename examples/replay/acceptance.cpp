// Measured acceptance of proposals, from a file.
#include "options.hpp"

#include <dhisparse/core/error.hpp>

#include <nlohmann/json.hpp>

#include <fstream>

namespace replay {
namespace {

namespace dh = dhisparse;
using nlohmann::json;

/// [proposals] survival of one record; beyond what it has, its last step's acceptance goes on. Empty: it has none.
std::vector<double> survival_of(const json& record, std::size_t proposals, const std::string& file) {
    const bool direct = record.contains("survival");
    if (!record.is_object() || (!direct && !record.contains("conditional"))) return {};
    const auto& list = record.at(direct ? "survival" : "conditional");
    dh::require(list.is_array() && !list.empty(), "--acceptance ", file, ": survival or conditional of a record is not a list");
    std::vector<double> out;
    double survives = 1, step = 1;
    for (std::size_t i = 0; i < proposals; ++i) {
        if (i < list.size()) {
            const auto rate = list[i].is_number() ? list[i].get<double>() : -1;
            dh::require(rate >= 0 && rate <= 1, "--acceptance ", file, ": a rate is ", list[i].dump(), ", permitted: 0 to 1");
            step = direct ? (survives > 0 ? rate / survives : 0) : rate;
        }
        out.push_back(survives *= std::min(step, 1.0));
    }
    return out;
}

} // namespace

std::vector<double> survival_from(const std::string& file, int proposals) {
    std::ifstream in(file, std::ios::binary);
    dh::require(in.good(), "--acceptance is ", file, ", permitted: a JSON file that can be read");
    const auto all = json::parse(in, nullptr, false);
    dh::require(all.is_object() && all.contains("records") && all.at("records").is_array(), "--acceptance ", file, ": no JSON object with a list `records`");
    std::vector<double> mean(static_cast<std::size_t>(proposals), 0);
    double n = 0;
    for (const auto& record : all.at("records")) {
        const auto one = survival_of(record, mean.size(), file);
        n += !one.empty();
        for (std::size_t i = 0; i < one.size(); ++i) mean[i] += one[i];
    }
    dh::require(n > 0, "--acceptance ", file, ": no record has survival or conditional rates");
    for (auto& share : mean) share /= n;
    return mean;
}

} // namespace replay
