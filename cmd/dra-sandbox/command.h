// The subcommands of dra-sandbox. A subcommand is one .cc file of this folder with one object
//
//   const RegisterCommand kUp("up", "API server, simulated fleet and controller manager in one process", &run_up);
//
// and needs no mention elsewhere.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace dra::sandbox_program {

// Gets the arguments after the subcommand's name (in order) and returns the exit code: 0 after a clean stop, 1 when
// something failed while running, 2 for wrong usage.
using Run = int (*)(const std::vector<std::string>& arguments);

struct Command {
  const char* name;
  const char* summary;
  Run run;
};

class RegisterCommand {
 public:
  RegisterCommand(const char* name, const char* summary, Run run);
};

// Parses the arguments. Returns an exit code if the program ends here: help was requested, or the usage is wrong (then
// one line on standard error says how).
std::optional<int> parse_or_exit(CLI::App& app, const std::vector<std::string>& arguments);

}  // namespace dra::sandbox_program
