// The subcommands of dra-conformance. A subcommand is one .cc file of this folder with one object
//
//   const RegisterCommand kCel("cel", "device selectors", &run_cel);
//
// and needs no mention elsewhere.
#pragma once

#include <string>
#include <vector>

namespace dra::conformance {

// Gets the arguments after the subcommand's name (in order) and returns the exit code: 0 when everything requested was
// done and nothing failed, 1 when cases failed, 2 for wrong usage or unreadable files.
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

}  // namespace dra::conformance
