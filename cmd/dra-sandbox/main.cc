// dra-sandbox: an embedded Kubernetes control plane with a simulated fleet, for a laptop, demos and tests.
#include "cmd/command.h"

int main(int argc, char** argv) {
  return dra::cmd::run_program({"dra-sandbox", "COMMAND [options]", 1}, argc, argv);
}
