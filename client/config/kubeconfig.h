// Kubeconfig: builds a ServerConfig from kubectl's configuration file or a pod's environment.
//
// Supported fields of a cluster: server, certificate-authority(-data), insecure-skip-tls-verify, tls-server-name,
// proxy-url; of a user: client-certificate(-data), client-key(-data), token, tokenFile, username and password, exec; of
// a context: cluster, user, namespace. auth-provider and impersonation (as) are rejected by name. Relative paths are
// relative to the file.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/config/server_config.h"
#include "pkg/reactor/reactor.h"

namespace dra::client {

// File access for credentials. The real implementation reads files; tests supply their own.
class FileReader {
 public:
  virtual ~FileReader() = default;
  // At most 4 MiB; errors name the path. kNotFound: no such file.
  virtual Result<std::string> read(const std::string& path) const = 0;
};
// Safe from any thread; never destroyed.
const FileReader& real_files();

// What a configuration may need at run time: files and, for exec plugins, the reactor's workers.
struct ConfigContext {
  Reactor* reactor = nullptr;
  const FileReader* files = nullptr;  // null: real_files()
};

// `path` names the file in messages; relative paths are relative to its folder. An empty `context_name` selects
// current-context. Errors name the wrong entry of the file and the remedy.
Result<ServerConfig> parse_kubeconfig(std::string_view text, const std::string& path, const std::string& context_name,
                                      const ConfigContext& context);

// The configuration of a pod: KUBERNETES_SERVICE_HOST and _PORT, and the mounted service account. `environment` is the
// process's environment.
Result<ServerConfig> in_cluster_config(const std::map<std::string, std::string>& environment,
                                       const ConfigContext& context);

struct ConfigFlags {
  std::string kubeconfig;                // --kubeconfig
  std::string context;                   // --context
  std::string master;                    // --master: overrides the server's address
  std::string cluster;                   // --cluster: of the kubeconfig, instead of the context's
  std::string user;                      // --user: likewise
  std::string master_flag = "--master";  // its name in the program, for errors
};
// How a program uses its flags: the named file; else in-cluster if the environment indicates a pod;
// else $KUBECONFIG (files separated by colons); else ~/.kube/config; else --master alone,
// anonymously. Several files are merged: for current-context and for each named entry the first file that has it
// counts. Missing files are skipped unless all are missing. A relative path is relative to the file that contains it.
Result<ServerConfig> load_config(const ConfigFlags& flags, const std::map<std::string, std::string>& environment,
                                 const ConfigContext& context);

// The environment of this process.
std::map<std::string, std::string> process_environment();

}  // namespace dra::client
