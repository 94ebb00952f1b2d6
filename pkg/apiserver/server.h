// The embedded API server: a function from HTTP requests to answers over a Store, on one reactor.
//
// It has no sockets of its own. pkg/http delivers requests from the network; an in-process transport calls handle()
// itself. With a simulated reactor and a seeded Random every run is the same, bit for bit.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pkg/apiserver/model/kind.h"
#include "pkg/apiserver/store/store.h"
#include "pkg/base/error.h"
#include "pkg/http/message.h"
#include "pkg/reactor/reactor.h"

namespace dra::apiserver {

struct UserInfo {
  std::string name;
  std::string uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;
};

enum class AuthorizationMode {
  kRbac,         // roles and bindings of rbac.authorization.k8s.io/v1 decide
  kAlwaysAllow,  // everybody may do everything
};

struct ServerOptions {
  // Bearer tokens and their users. Members of system:masters may do everything; the mode decides what others may do.
  std::map<std::string, UserInfo> tokens;
  AuthorizationMode authorization = AuthorizationMode::kRbac;
  StoreOptions store;
  // Signs the tokens of service accounts. Empty: a key from Random, which repeats in simulations and which a reader of
  // enough uids can compute; programs that listen use one from secret_text().
  std::string token_key;
  Duration bookmark_interval = std::chrono::minutes(1);
  // Watches over the network. Each holds a connection, and the others must be enough for requests and probes. Beyond
  // the limit the user with most watches loses one (WatchHub::make_place).
  size_t max_watches = 512;
  // Group versions that are not served ("resource.k8s.io/v1"), like --runtime-config=GROUP/VERSION=false.
  std::vector<std::string> withdrawn_versions;
  // Serves what a kube-apiserver without --runtime-config serves: of alpha and beta versions only those in
  // `added_versions`. PodGroups are separate, see below.
  bool only_stable_versions = false;
  std::vector<std::string> added_versions;
  // Serves PodGroups and Workloads (scheduling.k8s.io/v1alpha2), and keeps spec.schedulingGroup of pods, like the
  // feature gates GenericWorkload, GangScheduling and TopologyAwareWorkloadScheduling, which are off by default.
  bool pod_groups = false;
  // Shown as serverAddressByClientCIDRs in discovery, "127.0.0.1:6443".
  std::string public_address;
  // Does what kube-controller-manager does for every kind of object: cascading deletion by owner references, emptying
  // deleted namespaces, the default service account of new ones.
  bool housekeeping = false;
  // Runs a step of that later, when it is its turn among the requests. Unset: the reactor's next task.
  std::function<void(std::function<void()>)> in_turn;
  // Where objects are kept between runs (created if absent); empty: in memory only. Used by Server::create() alone.
  std::string data_dir;
};

// The administrator, in system:masters, under this token.
std::map<std::string, UserInfo> admin_token(const std::string& token);

class Server {
 public:
  // All references must outlive the server. Creates the namespaces default, kube-system, kube-public, kube-node-lease.
  Server(Reactor& reactor, Random& random, ServerOptions options);
  // As above with persistence. Errors name the directory or file and what is wrong with it.
  static Result<std::unique_ptr<Server>> create(Reactor& reactor, Random& random, ServerOptions options);
  ~Server();

  // Answers one request, at once or (watches, waits) over time. Never throws.
  void handle(http::Request request, std::shared_ptr<http::Responder> responder);

  Store& store();
  const KindRegistry& kinds() const;
  // The number of open watches, for tests and metrics.
  size_t watches() const;
  // Ends all watches in order, as at a shutdown.
  void end_watches();

  struct Impl;

 private:
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace dra::apiserver
