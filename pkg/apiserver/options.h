// Options of the embedded API server. Plain values.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "pkg/apiserver/model/access.h"
#include "pkg/apiserver/store/store.h"
#include "pkg/base/clock.h"

namespace dra::apiserver {

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

}  // namespace dra::apiserver
