// ClusterWatch: keeps a Feed equal to what the user may see of a cluster, by one list and one watch for each kind.
//
//   ClusterWatch watch(reactor, transport, random, options, feed);
//   watch.start();
//
// A kind that may not be listed in the whole cluster is watched in the namespace of the options, and one that may not
// be listed at all is hidden, as for the verbs (pkg/inspect/source/server_source.h). When requests fail, objects stay
// as they were; the header of the feed names the failure and since when. Belongs to the reactor's thread.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "client/transport/transport.h"
#include "pkg/base/random.h"
#include "pkg/inspect/state/objects.h"
#include "pkg/reactor/reactor.h"
#include "pkg/web/feed.h"

namespace dra::web {

struct WatchOptions {
  std::string server;      // for messages
  std::string ns;          // where lists of the whole cluster are forbidden
  std::string manager_ns;  // where the manager's Lease is; empty: everywhere
  // What the server said about itself: version, served versions of resource.k8s.io. Without objects.
  inspect::Objects served;
};

class ClusterWatch {
 public:
  ClusterWatch(Reactor& reactor, client::Transport& transport, Random& random, WatchOptions options, Feed& feed);
  ~ClusterWatch();
  ClusterWatch(const ClusterWatch&) = delete;
  ClusterWatch& operator=(const ClusterWatch&) = delete;

  void start();
  // Every kind is complete, or hidden.
  bool synced() const;
  // What is known beside the objects: versions, what is hidden. `taken` is now.
  inspect::Objects without_objects() const;

 private:
  struct Kind;
  class Tap;
  void add(const inspect::KindToRead& kind, const std::string& version, const std::string& name);
  void begin(Kind& kind);
  void on_status(Kind& kind, int status, const std::string& message);
  void end(Kind& kind, const std::string& why);
  void look_for_groups(const std::string& line);
  void write_header();

  Reactor& reactor_;
  client::Transport& transport_;
  Random& random_;
  const WatchOptions options_;
  Feed& feed_;
  std::vector<std::unique_ptr<Kind>> kinds_;
  std::set<std::string> groups_;  // APIs of PodGroups that are watched
  std::vector<Handle> calls_;
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace dra::web
