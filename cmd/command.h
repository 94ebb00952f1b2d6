// A program with subcommands. A subcommand is one .cc file of the program's folder with one object
//
//   const cmd::RegisterCommand kUp("up", "API server, simulated fleet and controller manager in one process", &run_up);
//
// and needs no mention elsewhere. The program's CMakeLists.txt lists command.cc.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace dra::cmd {

// Gets the arguments after the subcommand's name (in order) and returns the exit code: 0 when everything requested was
// done and nothing failed, 1 when something failed, 2 for wrong usage or unreadable files.
using Run = int (*)(const std::vector<std::string>& arguments);

// Only as a constant of a .cc file: registers before main().
class RegisterCommand {
 public:
  RegisterCommand(const char* name, const char* summary, Run run);
};

struct Program {
  const char* name;
  const char* usage;         // what follows the name: "COMMAND [options]"
  int exit_after_exception;  // what the program returns if a subcommand throws: a bug, or a file with nonsense
};

// Runs the subcommand that the first argument names and returns its exit code. Prints the subcommands for --help, and
// for wrong usage on standard error (2).
int run_program(const Program& program, int argc, char** argv);

// Parses the arguments. Returns an exit code if the program ends here: help was requested, or the usage is wrong (then
// one line on standard error says how).
std::optional<int> parse_or_exit(CLI::App& app, const std::vector<std::string>& arguments);

}  // namespace dra::cmd
