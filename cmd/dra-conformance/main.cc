// dra-conformance: runs files of cases with known answers through this project's engines.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>

#include "cmd/dra-conformance/command.h"

namespace dra::conformance {

namespace {

std::vector<Command>& commands() {
  static std::vector<Command> all;
  return all;
}

int usage(FILE* to) {
  std::fprintf(to, "usage: dra-conformance COMMAND --in FILE [--out FILE] [options]\n\ncommands:\n");
  for (const Command& command : commands()) std::fprintf(to, "  %-12s %s\n", command.name, command.summary);
  std::fprintf(to, "\ndra-conformance COMMAND --help shows the options of one.\n");
  return to == stdout ? 0 : 2;
}

}  // namespace

RegisterCommand::RegisterCommand(const char* name, const char* summary, Run run) {
  auto& all = commands();
  const auto before = [](const Command& a, const Command& b) { return std::strcmp(a.name, b.name) < 0; };
  const Command command{name, summary, run};
  all.insert(std::upper_bound(all.begin(), all.end(), command, before), command);
}

int run(int argc, char** argv) {
  if (argc < 2) return usage(stderr);
  const std::string name = argv[1];
  if (name == "--help" || name == "-h") return usage(stdout);
  for (const Command& command : commands())
    if (name == command.name) return command.run({argv + 2, argv + argc});
  std::fprintf(stderr, "dra-conformance: unknown command \"%s\"\n", name.c_str());
  return usage(stderr);
}

}  // namespace dra::conformance

int main(int argc, char** argv) {
  try {
    return dra::conformance::run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "dra-conformance: %s\n", e.what());
    return 2;
  }
}
