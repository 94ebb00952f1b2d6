// The command line of dra-controller-manager, modelled on kube-controller-manager's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/config/kubeconfig.h"
#include "client/election/lease_record.h"
#include "pkg/log/log.h"
#include "pkg/manager/manager.h"
#include "pkg/manager/serve/serving.h"

namespace dra::cmd {

struct Flags {
  client::ConfigFlags config;
  manager::ManagerOptions manager;

  bool leader_elect = true;
  client::ElectionTimes election;
  std::string lease_name = "dra-controller-manager";
  std::string lease_namespace = "kube-system";

  // Count who used what; needs leader_elect.
  bool usage = true;

  // With --release-gates: end once no pod has our gate, or after this time; zero: run until a signal.
  Duration release_deadline{};

  std::string bind_address = "::";  // every address, of both families
  int metrics_port = 8080;          // 0: any free one; -1: none
  // The same over HTTPS; 0: not served. Without certificate files a self-signed certificate is made at the start.
  int secure_port = 0;
  std::string tls_certificate_file;
  std::string tls_key_file;
  manager::MetricsAuthentication metrics_authentication = manager::MetricsAuthentication::kSecure;

  log::Format log_format = log::Format::kText;
  int verbosity = 2;
  Duration shutdown_timeout = std::chrono::seconds(10);
};

// The result of parsing: flags to run with, or a text and an exit status to end with at once.
struct Parsed {
  std::optional<Flags> flags;
  std::string text;  // for standard output when the status is 0, for standard error otherwise
  int exit_status = 0;
};

// `arguments` without the program's name.
Parsed parse_flags(const std::vector<std::string>& arguments, const std::string& version);

}  // namespace dra::cmd
