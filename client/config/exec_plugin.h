// Exec plugins: programs that print credentials (client.authentication.k8s.io/v1 and v1beta1, ExecCredential).
//
// A plugin runs on a worker thread without a terminal, with bounded time and output, and is killed with its whole
// process group when it exceeds either or is no longer wanted. Its standard error is kept (bounded) for the message
// when it fails.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/config/credentials.h"
#include "pkg/reactor/reactor.h"

namespace dra::client {

struct ExecPlugin {
  std::string command;
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;  // added to this process's environment
  std::string api_version;
  std::string install_hint;
  // The "cluster" of KUBERNETES_EXEC_INFO as JSON, where provideClusterInfo asks for it; else empty.
  std::string cluster_json;
  Duration time_limit = std::chrono::seconds(60);
  size_t output_limit = 1 << 20;
};

struct ExecCredential {
  Credential credential;
  WallTime expires{};  // the epoch: no expiry
};

// Reads a plugin's output. Errors are kUnauthenticated and name the field.
Result<ExecCredential> parse_exec_credential(std::string_view json, const std::string& api_version);

// Runs the plugin once; blocks up to its time limit, or until shortly after `*cancelled` became true (any thread may
// set it; null: never).
Result<ExecCredential> run_exec_plugin(const ExecPlugin& plugin, const std::atomic<bool>* cancelled = nullptr);

// Runs the plugin when there is no credential, when it expires within 10 s, or after a rejection; several get()s at
// once share one run. A failure is answered to all who wait; the next get() runs it again, but not sooner than 1 s
// later. A run that is under way when the source is cancelled or destroyed is killed.
std::shared_ptr<CredentialSource> exec_credentials(Reactor& reactor, ExecPlugin plugin);

}  // namespace dra::client
