// dhisparse-engine: a small serving engine over dhisparse.
#include "alone.hpp"
#include "options.hpp"
#include "program.hpp"
#include "report.hpp"

#include <replay/progress.hpp>

namespace {

engine::outcome serve(const engine::options& o, std::span<const engine::request> requests, tiny_dsa::model& target) {
    replay::progress_bar bar("serve");
    const auto shown = [&](double share) { bar.show(share); };
#if DHISPARSE_WITH_CUDA
    if (o.where == engine::backend::cuda) return engine::serve_on_cuda(o, requests, target, shown);
#endif
    return engine::serve_on_host(o, requests, target, shown);
}

std::string compare(std::span<const engine::request> requests, const engine::outcome& found, tiny_dsa::model& target) {
    replay::progress_bar bar("compare");
    engine::alone alone(target);
    std::vector<engine::bytes> expected;
    for (const auto& asked : requests) {
        bar.show(static_cast<double>(expected.size()) / static_cast<double>(requests.size()));
        expected.push_back(found.replies[expected.size()].output.empty() ? engine::bytes{} : alone.output(asked));
    }
    return engine::first_difference(requests, found.replies, expected);
}

/// The exit code.
int run(const engine::options& o) {
    const auto requests = engine::requests_of(o);
    auto target = tiny_dsa::model::load(o.model_dir);
    const auto found = serve(o, requests, target);
    std::optional<std::string> difference;
    if (o.compare) difference = compare(requests, found, target);
    if (!o.plot_file.empty()) program::write_file("--plot", o.plot_file, engine::plot_text(found));
    if (!o.metrics_file.empty()) program::write_file("--metrics", o.metrics_file, found.metrics_text);
    program::print(o.json ? engine::json_text(found, difference) + "\n" : engine::table_text(found, difference));
    return difference && !difference->empty() ? 1 : 0;
}

} // namespace

int main(int argc, char** argv) {
    int code = 0;
    const int failed = program::main_of("dhisparse-engine", argc, argv, [&] { code = run(engine::parse_options(argc, argv)); });
    return failed != 0 ? failed : code;
}
