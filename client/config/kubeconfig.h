// Kubeconfig: from kubectl's configuration file, or a pod's environment, to a ServerConfig.
//
// Understood of a cluster: server, certificate-authority(-data), insecure-skip-tls-verify, tls-server-name, proxy-url;
// of a user: client-certificate(-data), client-key(-data), token, tokenFile, username and password, exec; of a context:
// cluster, user, namespace. auth-provider and impersonation (as) are refused by name. Relative paths are relative to
// the file.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/config/server_config.h"
#include "pkg/reactor/reactor.h"

namespace dra::client {

// The door to the file system for credentials. The real one reads files; tests bring their own.
class FileReader {
 public:
  virtual ~FileReader() = default;
  // At most 4 MiB; errors name the path. kNotFound: there is no such file.
  virtual Result<std::string> read(const std::string& path) const = 0;
};
// Safe from any thread; lives for ever.
const FileReader& real_files();

// What a configuration may need to run: files and, for exec plugins, the reactor's workers.
struct ConfigContext {
  Reactor* reactor = nullptr;
  const FileReader* files = nullptr;  // null: real_files()
};

// `path` names the file in messages and anchors relative paths. `context_name` empty: current-context. Errors say which
// entry of the file is wrong and what to do.
Result<ServerConfig> parse_kubeconfig(std::string_view text, const std::string& path, const std::string& context_name,
                                      const ConfigContext& context);
Result<ServerConfig> load_kubeconfig(const std::string& path, const std::string& context_name,
                                     const ConfigContext& context);
// Several files as one, as $KUBECONFIG may name them: the first file that has a current-context, or an entry of some
// name, counts; files that do not exist are skipped unless all are missing; relative paths are relative to the file
// they stand in.
Result<ServerConfig> load_kubeconfigs(const std::vector<std::string>& paths, const std::string& context_name,
                                      const ConfigContext& context);

// The configuration of a pod: KUBERNETES_SERVICE_HOST and _PORT, and the mounted service account. `environment` are the
// process's variables.
Result<ServerConfig> in_cluster_config(const std::map<std::string, std::string>& environment,
                                       const ConfigContext& context);

struct ConfigFlags {
  std::string kubeconfig;  // --kubeconfig
  std::string context;     // --context
  std::string master;      // --master: overrides the server's address
};
// What a program does with its flags: the named file; else in-cluster where the environment says so; else $KUBECONFIG
// (files separated by colons);
// else ~/.kube/config; else only --master, anonymous.
Result<ServerConfig> load_config(const ConfigFlags& flags, const std::map<std::string, std::string>& environment,
                                 const ConfigContext& context);

// The environment of this process.
std::map<std::string, std::string> process_environment();

}  // namespace dra::client
