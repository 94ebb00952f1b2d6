// dra-conformance: runs files of cases with known answers through this project's engines.
#include "cmd/command.h"

int main(int argc, char** argv) {
  return dra::cmd::run_program({"dra-conformance", "COMMAND --in FILE [--out FILE] [options]", 2}, argc, argv);
}
