// Exec plugins: programs that print credentials (client.authentication.k8s.io/v1 and v1beta1, ExecCredential).
//
// A plugin runs on a worker thread without a terminal, with a limit on time and output. It is killed with its whole
// process group if it exceeds a limit or is no longer needed. Its standard error is kept (bounded) for the message if
// it fails.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/config/credentials.h"
#include "pkg/base/timestamp.h"
#include "pkg/reactor/reactor.h"

namespace dra::client {

struct ExecPlugin {
  std::string command;
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;  // added to this process's environment
  std::string api_version;
  std::string install_hint;
  // The "cluster" of KUBERNETES_EXEC_INFO as JSON if provideClusterInfo is set; else empty.
  std::string cluster_json;
  Duration time_limit = std::chrono::seconds(60);
  size_t output_limit = 1 << 20;
};

struct ExecCredential {
  Credential credential;
  Timestamp expires;  // the epoch: no expiry
};

// Parses a plugin's output. Errors are kUnauthenticated and name the field.
Result<ExecCredential> parse_exec_credential(std::string_view json, const std::string& api_version);

// Runs the plugin once. Blocks until it ends, until its time limit, or until shortly after `*cancelled` becomes true
// (any thread may set it; null: never).
Result<ExecCredential> run_exec_plugin(const ExecPlugin& plugin, const std::atomic<bool>* cancelled = nullptr);

// Runs the plugin if there is no credential, if it expires within 10 s, or after a rejection; concurrent get()s share
// one run. A failure goes to every waiting get(); the next get() runs the plugin again, but not within 1 s of the
// failure. Cancelling or destroying the source kills a run in progress.
std::shared_ptr<CredentialSource> exec_credentials(Reactor& reactor, ExecPlugin plugin);

}  // namespace dra::client
