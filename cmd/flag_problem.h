// What is wrong with a command line, in one sentence that names the flag, the value and what to write.
//
//   --port: "http" is not a whole number
//   unknown flag --schedulnig; did you mean --scheduling?
//
// For every program, so that all refuse in the same words. Values are checked by flag_values.h; this covers the rest of
// what CLI11 refuses.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace dra::cmd {

// `app` was given `arguments` (in their order) and threw `error`, which is not one of CLI::Success.
std::string flag_problem(const CLI::App& app, const CLI::Error& error, const std::vector<std::string>& arguments);

}  // namespace dra::cmd
