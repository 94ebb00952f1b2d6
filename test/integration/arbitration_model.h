// ArbitrationModel: the arbitration P1 to P7 ("why no two writers give one device twice") run by the real code of
// reconcilers, runner, stores, inventory and allocator, against a server that is a few maps, in steps that a random
// source chooses.
//
// Several writers all believe that they lead. A step is one of: a writer's stream of pods or of claims delivers its
// next event, each lagging for itself; a write reaches the server; an answer reaches its writer, or is lost; a writer
// crashes and starts anew; a writer lists again; a pod comes or goes; a node is cordoned or not any more, which each
// writer learns in its own time; kube-scheduler binds a pod that was let go, or takes it out of reservedFor (Unreserve)
// and binds it later without another write of the claim; time passes. The model notes each moment at which two pods
// that were let go use one device: a pod uses what is allocated and reserved for it, as kubelet demands.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/base/error.h"
#include "pkg/base/random.h"
#include "pkg/reactor/sim_reactor.h"
#include "pkg/reconcile/effect.h"

namespace dra::integration {

struct ArbitrationOptions {
  uint64_t seed = 1;
  size_t writers = 3;
  size_t nodes = 3;
  size_t devices = 3;  // of each node
  size_t pods = 14;    // at most so many at a time
  // The durable mark of P3. Off: a writer acts on its own proof at once, and nobody else can see it.
  bool durable_proof = true;
  // The announcement of P8 on the pod. Off: a writer takes reservations back on its own view of the gate.
  bool durable_leaving = true;
};

struct ArbitrationStats {
  uint64_t steps = 0, allocations = 0, withdrawals = 0, proofs = 0, released = 0, conflicts = 0, lost = 0, crashes = 0,
           relists = 0, left = 0, unreserved = 0;
};

class ArbitrationModel {
 public:
  explicit ArbitrationModel(ArbitrationOptions options);
  ~ArbitrationModel();

  void step();
  // Nothing new happens, nobody crashes, everything is delivered, ten minutes pass. Then every pod that is still held
  // back must find no devices: what is wrong, a sentence each.
  std::vector<std::string> settle();

  const std::vector<std::string>& violations() const { return violations_; }
  const ArbitrationStats& stats() const { return stats_; }

 private:
  friend class ModelWriter;
  template <typename T>
  struct Event {
    uint64_t revision;
    std::shared_ptr<const T> before, after;
  };
  template <typename T>
  struct Table {
    std::map<std::string, std::shared_ptr<const T>> objects;
    std::deque<Event<T>> log;
    uint64_t floor = 0;  // events at or below it are forgotten
  };
  struct Applied {
    Result<uint64_t> answer = 0;
    std::shared_ptr<const api::ResourceClaim> claim;
    std::shared_ptr<const api::Pod> pod;
  };

  template <typename T>
  void put(Table<T>& table, const std::string& key, std::shared_ptr<const T> object);
  Applied apply(const reconcile::Write& write);
  Applied apply_to_claim(const reconcile::Write& write);
  Applied apply_to_pod(const reconcile::Write& write);
  void let_go(const api::Pod& pod);
  void use(const api::Pod& pod, const api::ResourceClaim& claim);
  void unreserve();
  void turn_node();
  bool is_cordoned(const std::string& node) const;
  void add_pod();
  void remove_pod();
  void bind_released();
  bool fits(const api::Pod& pod) const;
  void run_idle();

  ArbitrationOptions options_;
  SeededRandom random_;
  ManualClock clock_;
  SimReactor reactor_;
  uint64_t revision_ = 100;
  uint64_t next_pod_ = 0;
  Table<api::Pod> pods_;
  Table<api::ResourceClaim> claims_;
  std::vector<std::shared_ptr<const api::Node>> nodes_;
  std::vector<api::ResourceSlice> slices_;
  api::DeviceClass class_;
  std::map<std::string, std::string> used_;  // device -> key of the pod that was let go with it
  std::vector<std::unique_ptr<class ModelWriter>> writers_;
  std::vector<std::string> violations_;
  ArbitrationStats stats_;
};

}  // namespace dra::integration
