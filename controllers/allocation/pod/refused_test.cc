// Bind mode: pods that were bound here and rejected by the kubelet; nominations that come to nothing.
#include "controllers/allocation/pod/refused.h"

#include <nlohmann/json.hpp>
#include <set>

#include "controllers/allocation/allocation_fixture.h"

namespace dra::allocation::refused_test {

class Refused : public AllocationTest {
 protected:
  Refused() {
    options.mode = Mode::kBind;
    pod = make_pod("p", {}, false);
    pod.scheduler_name = "ours";
    pod.node_name = "n1";
    pod.phase = "Failed";
    pod.refusal = {"OutOfcpu",
                   "Pod was rejected: Node didn't have enough resource: cpu, requested: 1, used: 2, capacity: 2"};
  }
  // Whether the change enqueues the pod, and what the reconciler then does.
  std::string after(const api::Pod* before, const api::Pod& now) {
    view.put(now);
    test::WholeController reconciler(parts(options, inventory, allocator, nodes));
    reconcile::EnqueueRequests enqueued;
    reconciler.on_pod(view, before, &now, enqueued);
    return enqueued.keys.empty() ? "not checked" : pass();
  }
  std::string counted() const {
    for (const reconcile::Effect& effect : last.effects)
      if (const auto* metric = std::get_if<reconcile::Metric>(&effect);
          metric && metric->name == "dra_bindings_refused_by_kubelet_total")
        return metric->labels.at(0).second;
    return "";
  }

  api::Pod pod;
};

TEST_F(Refused, IsToldAndCountedOnce) {
  api::Pod before = pod;
  before.phase = "Pending";
  before.refusal.reset();
  EXPECT_EQ(after(&before, pod), "event BindingRefused");
  EXPECT_EQ(counted(), "OutOfcpu");
  EXPECT_EQ(event().note,
            "bound to node n1, whose kubelet refused the pod: OutOfcpu: Pod was rejected: Node didn't have enough "
            "resource: cpu, requested: 1, used: 2, capacity: 2; somebody else uses the node, too: dedicate it to one "
            "scheduler by a taint");
  remember();
  EXPECT_EQ(after(&before, pod), "");
  EXPECT_EQ(counted(), "");
}

TEST_F(Refused, OthersAreNot) {
  api::Pod before = pod;
  before.phase = "Pending";
  before.refusal.reset();
  EXPECT_EQ(after(nullptr, pod), "not checked") << "it failed while nobody counted";
  EXPECT_EQ(after(&pod, pod), "not checked");
  api::Pod other = pod;
  other.scheduler_name = "default-scheduler";
  EXPECT_EQ(after(&before, other), "not checked");
  other = pod;
  other.refusal.reset();  // it ran, and failed
  EXPECT_EQ(after(&before, other), "not checked");
  options.mode = Mode::kGate;
  EXPECT_EQ(after(&before, pod), "not checked");
}

TEST_F(Refused, LabelsAreAClosedSet) {
  const std::vector<std::string>& known = refusal_reasons();
  EXPECT_EQ(std::set<std::string>(known.begin(), known.end()).size(), known.size());
  for (const std::string& reason : known) EXPECT_EQ(refusal_label(reason), reason);
  EXPECT_EQ(refusal_label("OutOfexample.com/gpu"), "OutOf");
  EXPECT_EQ(refusal_label("Whatever"), "other");
  EXPECT_EQ(refusal_label(""), "other");
}

class Nominated : public AllocationTest {
 protected:
  Nominated() {
    options.mode = Mode::kBind;
    pod = make_pod("p", {"c"}, false);
    pod.scheduler_name = "ours";
    pod.nominated_node_name = "n2";
    put(make_claim("c"));
  }
  std::string does() {
    view.put(pod);
    return pass();
  }

  api::Pod pod;
};

// As kube-scheduler 1.36.2 does after an attempt that found neither a node nor a pod to preempt.
TEST_F(Nominated, IsClearedWhenNothingFits) {
  quiet_claims = true;
  nodes.refused = {"n1", "n2"};
  EXPECT_EQ(does(), "event FailedScheduling, clear-nomination p");
  EXPECT_EQ(last.effects.size(), 4u) << "and the failure is counted, twice";
  const auto& write = std::get<reconcile::Write>(last.effects.at(1));
  EXPECT_EQ(write.subresource, "status");
  EXPECT_EQ(write.body, R"({"metadata":{"uid":"p-uid"},"status":{"nominatedNodeName":null}})");
  EXPECT_TRUE(last.park_unless_written.has_value()) << "the answer brings it back, a refusal does not";
  nodes.refused.clear();
  put(make_claim("c", 5));  // more devices than there are
  EXPECT_EQ(does(), "event FailedAllocation, clear-nomination p");
  pod.nominated_node_name.clear();
  EXPECT_EQ(does(), "event FailedAllocation, parked");
}

TEST_F(Nominated, IsLeftToItsOwner) {
  nodes.refused = {"n1", "n2"};
  pod.metadata.managed_fields.push_back({std::string(protocol::kFieldManager), "Apply", "status", true});
  EXPECT_EQ(does(), "event FailedScheduling, parked") << "the controller claimtemplate takes its own back";
  pod.metadata.managed_fields.clear();
  pod.scheduler_name = "default-scheduler";
  EXPECT_EQ(does(), "") << "no pod of ours";
  pod.scheduler_name = "ours";
  pod.scheduling_gates = {std::string(kAllocationGate)};
  EXPECT_EQ(does(), "event FailedScheduling, parked") << "kube-scheduler's, once the gate is lifted";
  pod.scheduling_gates.clear();
  nodes.refused.clear();
  EXPECT_EQ(does(), "allocate c") << "the binding clears it";
}

}  // namespace dra::allocation::refused_test
