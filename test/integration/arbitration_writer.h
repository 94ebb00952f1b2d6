// ModelWriter: one manager of the arbitration model. The real controllers allocation and lifecycle make its
// decisions; the real Runner performs them over the real stores.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "client/informer/store.h"
#include "controllers/allocation/allocation.h"
#include "controllers/lifecycle/lifecycle.h"
#include "pkg/allocator/allocator.h"
#include "pkg/inventory/inventory.h"
#include "pkg/manager/run/assumptions.h"
#include "pkg/manager/run/memory.h"
#include "pkg/manager/run/runner.h"
#include "pkg/manager/run/sinks.h"
#include "pkg/manager/run/store_view.h"
#include "pkg/nodes/node_tracker.h"
#include "test/integration/arbitration_model.h"

namespace dra::integration {

class ModelWriter : public manager::ObjectApi,
                    public manager::EventSink,
                    public manager::MetricSink,
                    public manager::GroupSource {
 public:
  explicit ModelWriter(ArbitrationModel& model);

  void perform(const reconcile::Write& write, std::function<void(Result<uint64_t>)> done) override;
  void get(const reconcile::Ref& object, std::function<void(Result<reconcile::Presence>)> done) override;
  bool emit(const reconcile::Event&) override { return true; }
  void record(const reconcile::Metric&) override {}
  void write_answered(const std::string&, std::string_view) override {}

  const api::PodGroup* find(reconcile::GroupApi api, std::string_view key) const override;
  reconcile::GroupsKnown known(reconcile::GroupApi) const override {
    return {reconcile::GroupsKnown::State::kKnown, ""};
  }
  std::vector<std::string> children(std::string_view) const override { return {}; }

  // Each does one thing if there is one to do.
  bool deliver_pod();
  bool deliver_claim();
  bool deliver_node();
  bool deliver_group();
  bool send_one(size_t which, bool lose);  // a request reaches the server, or is lost
  bool answer_one(size_t which, bool lose);
  void relist();

 private:
  struct Request {
    reconcile::Write write;
    std::function<void(Result<uint64_t>)> done;
    uint64_t seen = 0;  // of pods
  };
  struct Answer {
    ArbitrationModel::Applied applied;
    std::function<void(Result<uint64_t>)> done;
  };
  void listen();
  // The pod as this writer reads it.
  std::shared_ptr<const api::Pod> as_seen(const std::shared_ptr<const api::Pod>& pod) const;
  template <typename T>
  std::shared_ptr<const T> as_seen(const std::shared_ptr<const T>& object) const {
    return object;
  }
  template <typename Table>
  bool deliver_next(const Table& table, client::ObjectStore& store);
  template <typename Table>
  void list_into(const Table& table, client::ObjectStore& store, uint64_t revision);
  // Without::kOrder: a pod without a gate leaves with its reservation and the allocation in one write.
  reconcile::Write in_one_write(reconcile::Write write) const;
  void feed(const ArbitrationModel::Applied& applied);

  ArbitrationModel& model_;
  client::ObjectStore pods_core_, claims_core_, templates_core_, nodes_core_, classes_core_, slices_core_;
  client::Store<api::Pod> pods_;
  client::Store<api::ResourceClaim> claims_;
  client::Store<api::ResourceClaimTemplate> templates_;
  client::Store<api::Node> known_nodes_;
  client::Store<api::DeviceClass> classes_;
  client::Store<api::ResourceSlice> slices_;
  manager::Stores stores_;
  manager::Memory memory_;
  inventory::Inventory inventory_;
  SeededRandom random_;
  allocator::Allocator allocator_;
  nodes::NodeTracker nodes_;
  manager::ClusterAssumptions assumptions_;
  manager::StoreView view_;
  manager::Runner runner_;
  std::vector<std::shared_ptr<const api::Node>> seen_nodes_;
  std::map<std::string, std::shared_ptr<const api::PodGroup>, std::less<>> seen_groups_;
  std::deque<Request> requests_;
  std::deque<Answer> answers_;
  std::set<std::string> announced_;  // uids of pods for which this writer announced
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace dra::integration
