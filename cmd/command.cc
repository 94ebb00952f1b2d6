#include "cmd/command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>

#include "cmd/flag_problem.h"
#include "cmd/flag_values.h"
#include "pkg/base/closest.h"

namespace dra::cmd {

namespace {

struct Command {
  const char* name;
  const char* summary;
  Run run;
};

std::vector<Command>& all_commands() {
  static std::vector<Command> all;
  return all;
}

int print_usage(const Program& program, FILE* to) {
  std::fprintf(to, "usage: %s %s\n\ncommands:\n", program.name, program.usage);
  for (const Command& command : all_commands()) std::fprintf(to, "  %-12s %s\n", command.name, command.summary);
  std::fprintf(to, "\n%s COMMAND --help shows the options of one.\n", program.name);
  return to == stdout ? 0 : 2;
}

int run_command(const Program& program, int argc, char** argv) {
  if (argc < 2) return print_usage(program, stderr);
  const std::string name = argv[1];
  if (name == "--help" || name == "-h") return print_usage(program, stdout);
  std::vector<std::string> known;
  for (const Command& command : all_commands()) {
    if (name == command.name) return command.run({argv + 2, argv + argc});
    known.emplace_back(command.name);
  }
  const auto meant = closest(name, known);
  std::fprintf(stderr, "%s: unknown command \"%s\"%s\n", program.name, name.c_str(),
               meant ? ("; did you mean \"" + *meant + "\"?").c_str() : "");
  return print_usage(program, stderr);
}

}  // namespace

RegisterCommand::RegisterCommand(const char* name, const char* summary, Run run) {
  auto& all = all_commands();
  const auto before = [](const Command& a, const Command& b) { return std::strcmp(a.name, b.name) < 0; };
  const Command command{name, summary, run};
  all.insert(std::upper_bound(all.begin(), all.end(), command, before), command);
}

int run_program(const Program& program, int argc, char** argv) {
  try {
    return run_command(program, argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", program.name, e.what());
    return program.exit_after_exception;
  }
}

std::optional<int> parse_or_exit(CLI::App& app, const std::vector<std::string>& arguments) {
  app.failure_message([&arguments](const CLI::App* failed, const CLI::Error& error) {
    return failed->get_name() + ": " + flag_problem(*failed, error, arguments) + "; see --help\n";
  });
  try {
    app.parse(for_parser(app, arguments));
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
}

}  // namespace dra::cmd
