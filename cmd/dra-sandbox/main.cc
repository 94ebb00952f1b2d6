// dra-sandbox: an embedded Kubernetes control plane with a simulated fleet, for a laptop, demos and tests.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>

#include "cmd/dra-sandbox/command.h"
#include "cmd/flag_hint.h"

namespace dra::sandbox_program {

namespace {

std::vector<Command>& all_commands() {
  static std::vector<Command> all;
  return all;
}

int print_usage(FILE* to) {
  std::fprintf(to, "usage: dra-sandbox COMMAND [options]\n\ncommands:\n");
  for (const Command& command : all_commands()) std::fprintf(to, "  %-12s %s\n", command.name, command.summary);
  std::fprintf(to, "\ndra-sandbox COMMAND --help shows the options of one.\n");
  return to == stdout ? 0 : 2;
}

}  // namespace

RegisterCommand::RegisterCommand(const char* name, const char* summary, Run run) {
  auto& all = all_commands();
  const auto before = [](const Command& a, const Command& b) { return std::strcmp(a.name, b.name) < 0; };
  const Command command{name, summary, run};
  all.insert(std::upper_bound(all.begin(), all.end(), command, before), command);
}

std::optional<int> parse_or_exit(CLI::App& app, const std::vector<std::string>& arguments) {
  app.failure_message([&arguments](const CLI::App* failed, const CLI::Error& error) {
    return failed->get_name() + ": " + error.what() + cmd::flag_hint(*failed, arguments) + "; see --help\n";
  });
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
}

int run(int argc, char** argv) {
  if (argc < 2) return print_usage(stderr);
  const std::string name = argv[1];
  if (name == "--help" || name == "-h") return print_usage(stdout);
  for (const Command& command : all_commands()) {
    if (name == command.name) return command.run({argv + 2, argv + argc});
  }
  std::vector<std::string> known;
  for (const Command& command : all_commands()) known.emplace_back(command.name);
  const auto meant = closest(name, known);
  std::fprintf(stderr, "dra-sandbox: unknown command \"%s\"%s\n", name.c_str(),
               meant ? ("; did you mean \"" + *meant + "\"?").c_str() : "");
  return print_usage(stderr);
}

}  // namespace dra::sandbox_program

int main(int argc, char** argv) {
  try {
    return dra::sandbox_program::run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "dra-sandbox: %s\n", e.what());
    return 1;
  }
}
