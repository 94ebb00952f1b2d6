#include "cmd/dra-controller-manager/foreign_flags.h"

#include <algorithm>
#include <string_view>

namespace dra::cmd {

namespace {

constexpr std::string_view kOpen =
    "requests are not authenticated here, what is served is not secret and cannot be changed; restrict who reaches it "
    "with --bind-address or a NetworkPolicy";
constexpr std::string_view kMetrics = "/metrics serves what docs/metrics.md lists; drop or relabel at the scrape";
constexpr std::string_view kOneStream = "the log goes to standard error, as --logging-format=text or json";
constexpr std::string_view kOpenSsl =
    "TLS 1.2 is the least, and OpenSSL's own settings count (openssl.cnf: MinProtocol, CipherString)";
constexpr std::string_view kNotShared = "each process has its port to itself; choose another --secure-port";
constexpr std::string_view kGates = "use --feature-gates for the DRA features of the cluster";

// Names as they are, or, with a trailing "*", prefixes of names.
struct Foreign {
  std::string_view name, instead;
};
constexpr Foreign kForeign[] = {
    {"concurrent-*",
     "passes run on one thread, one at a time a key, and writes run side by side without a number to set; leave it "
     "out"},
    {"kube-api-content-type", "requests and answers are JSON; leave it out"},
    {"use-service-account-credentials",
     "all controllers here share one identity, with a ClusterRole each (charts/); leave it out"},
    {"controller-start-interval", "all controllers start at once; leave it out"},
    {"min-resync-period", "nothing is resynced, an audit compares derived state every 10 s; leave it out"},
    {"port", "use --metrics-port (HTTP) or --secure-port (HTTPS)"},
    {"address", "use --bind-address"},
    {"cert-dir", "use --tls-cert-file and --tls-private-key-file; without them a certificate is made in memory"},
    {"tls-sni-cert-key", "one certificate is served: use --tls-cert-file and --tls-private-key-file"},
    {"tls-cipher-suites", kOpenSsl},
    {"tls-min-version", kOpenSsl},
    {"http2-max-streams-per-connection", "HTTP/1.1 is served; leave it out"},
    {"permit-port-sharing", kNotShared},
    {"permit-address-sharing", kNotShared},
    {"authentication-*", kOpen},
    {"authorization-*", kOpen},
    {"requestheader-*", kOpen},
    {"client-ca-file", kOpen},
    {"profiling", "there is no profiling endpoint; leave it out"},
    {"contention-profiling", "there is no profiling endpoint; leave it out"},
    {"show-hidden-metrics-for-version", kMetrics},
    {"disabled-metrics", kMetrics},
    {"allow-metric-labels*", kMetrics},
    {"vmodule", "use -v, one verbosity for all"},
    {"log-*", kOneStream},
    {"logtostderr", kOneStream},
    {"alsologtostderr", kOneStream},
    {"stderrthreshold", kOneStream},
    {"emulated-version", kGates},
    {"min-compatibility-version", kGates},
};

bool fits(std::string_view pattern, std::string_view name) {
  if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == name;
}

}  // namespace

std::vector<std::string> normalised(const std::vector<std::string>& arguments) {
  std::vector<std::string> made;
  for (std::string argument : arguments) {
    if (argument.starts_with("-v=")) argument.insert(0, "-");
    if (argument.starts_with("--version=")) argument = "--version";
    if (argument.starts_with("--"))
      std::replace(argument.begin(), std::find(argument.begin(), argument.end(), '='), '_', '-');
    made.push_back(std::move(argument));
  }
  return made;
}

std::string foreign_flag(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (!argument.starts_with("--")) continue;
    const std::string name = argument.substr(2, argument.find('=') - 2);
    for (const Foreign& foreign : kForeign)
      if (fits(foreign.name, name))
        return "--" + name +
               " is a flag of kube-controller-manager and not of this program: " + std::string(foreign.instead);
  }
  return "";
}

}  // namespace dra::cmd
