// What a reconcile remembers is in the state that it is handed, and nowhere else.
#include "controllers/allocation/state.h"

#include <string>

#include "controllers/allocation/allocation_fixture.h"
#include "controllers/allocation/events.h"

namespace dra::allocation::state_test {

using namespace protocol;
using namespace reconcile;

namespace {

class AllocationState : public AllocationTest {
 protected:
  AllocationState() : one(options, inventory, allocator, nodes), other(options, inventory, allocator, nodes) {
    api::DeviceClass gpu;
    gpu.metadata.name = "gpu";
    gpu.metadata.annotations[std::string(allocator::kStrategyAnnotation)] = "best-fit";
    inventory.apply_class(gpu);
    view.classes["gpu"] = gpu;
    allocated("x", "n1", "gpu-0", false, {});
    view.put(make_pod("p", {"c"}));
    put(make_claim("c"));
  }
  ReconcileResult run(allocation::State& state) { return reconciler.reconcile(pod_key("default/p"), view, state); }
  std::string note_of(const ReconcileResult& outcome) {
    for (const Effect& effect : outcome.effects)
      if (const Write* write = std::get_if<Write>(&effect); write && write->success_event)
        return write->success_event->note;
    return "";
  }

  const AllocationReconciler reconciler;
  allocation::State one, other;
};

TEST_F(AllocationState, TwoReconcilesWithOneStateRememberANoteAndWithTwoStatesTheyDoNot) {
  ASSERT_TRUE(run(one).has_writes()) << "allocates, and notes why on this node";
  proven(allocated("c", "n1", "gpu-1", true, {"p"}), "p");
  EXPECT_NE(note_of(run(one)).find(" on node n1, which "), std::string::npos) << note_of(run(one));
  ASSERT_NE(note_of(run(other)).find(" on node n1"), std::string::npos);
  EXPECT_EQ(note_of(run(other)).find(", which "), std::string::npos) << note_of(run(other));
}

TEST_F(AllocationState, WhichControllersRunIsKnownToTheStateThatHeardIt) {
  one.controllers_run({"allocation", "claimtemplate"});
  EXPECT_TRUE(one.options.own_claims);
  EXPECT_FALSE(other.options.own_claims);
  one.controllers_run({"allocation"});
  EXPECT_FALSE(one.options.own_claims);
}

}  // namespace
}  // namespace dra::allocation::state_test
