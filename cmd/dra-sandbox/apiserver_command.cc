// dra-sandbox apiserver: the API server alone. There are no controllers: only clients change objects.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>

#include "cmd/command.h"
#include "cmd/dra-sandbox/api_endpoint.h"

namespace dra::sandbox_program {

namespace {

int run_apiserver(const std::vector<std::string>& arguments) {
  CLI::App app("The embedded API server alone: no fleet, no controllers.", "dra-sandbox apiserver");
  EndpointOptions options;
  add_endpoint_flags(app, options);
  bool housekeeping = false;
  app.add_flag("--housekeeping", housekeeping,
               "also collect garbage by owner references and empty deleted namespaces, as a real cluster does");
  if (const auto code = cmd::parse_or_exit(app, arguments)) return *code;
  SystemClock clock;
  AsioReactor reactor(clock);
  SeededRandom random(entropy_seed());
  auto endpoint = ApiEndpoint::start(reactor, random, options, housekeeping);
  if (!endpoint) {
    std::fprintf(stderr, "dra-sandbox apiserver: %s\n", endpoint.error().message().c_str());
    return 1;
  }
  std::printf("serving on %s\n", (*endpoint)->url().c_str());
  if (!options.kubeconfig_file.empty()) {
    std::printf("kubectl --kubeconfig %s get namespaces\n", options.kubeconfig_file.c_str());
  }
  std::fflush(stdout);
  const Handle signals = reactor.on_signals({SIGINT, SIGTERM}, [&](int) { reactor.stop(); });
  reactor.run();
  return 0;
}

const cmd::RegisterCommand kApiserver("apiserver", "the embedded API server alone", &run_apiserver);

}  // namespace

}  // namespace dra::sandbox_program
