// dhisparse-decode: a real model, decoded with its whole history in fast memory and through the
// hierarchy.
#include "backends.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string>

namespace {

constexpr int could_not_run = 2;

decode::outcome run_on_backend(const decode::options& o, std::span<const decode::bytes> prompts,
                               tiny_dsa::model& model) {
#if DHISPARSE_WITH_CUDA
    if (o.where == decode::backend::cuda) return decode::run_on_cuda(o, prompts, model);
#endif
    return decode::run_on_host(o, prompts, model);
}

/// The exit code.
int run(const decode::options& o) {
    const auto prompts = decode::read_prompts(o);
    auto model = tiny_dsa::model::load(o.model_dir);
    const auto result = run_on_backend(o, prompts, model);
    if (o.json)
        fmt::print("{}\n", decode::json_text(o, result));
    else
        decode::print_census(o, result);
    if (std::fflush(stdout) != 0) throw decode::usage_error("stdout cannot be written");
    return result.exact() ? 0 : 1;
}

int fail(const std::string& message, bool json) {
    const auto line = json ? decode::json_error(message) : "dhisparse-decode: " + message;
    std::fprintf(json ? stdout : stderr, "%s\n", line.c_str());
    return could_not_run;
}

} // namespace

int main(int argc, char** argv) {
    try {
        return run(decode::parse_options(argc, argv));
    } catch (const decode::help_wanted& help) {
        std::fputs(help.what(), stdout);
        return 0;
    } catch (const std::exception& e) {
        return fail(e.what(), decode::wants_json(argc, argv));
    }
}
