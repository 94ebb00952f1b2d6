// Who leads, as doctor and explain say it.
#include "pkg/inspect/verbs/manager.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "pkg/inspect/verbs/doctor.h"
#include "pkg/inspect/verbs/explain.h"
#include "pkg/inspect/verbs/two_nodes_fixture.h"
#include "pkg/protocol/manager_lease.h"

namespace dra::inspect {
namespace {

// A cluster where a pod waits at the manager's gate, and the Lease that its manager writes.
struct WithManager : TwoNodes {
  std::shared_ptr<api::Lease> lease = named_object<api::Lease>("dra-system", "dra-controller-manager");

  WithManager() {
    objects.managers.asked = true;
    lease->holder_identity = "host-1_x";
    lease->lease_duration_seconds = 15;
    lease->acquire_time = "2026-03-01T09:00:00.000000Z";
    lease->renew_time = "2026-03-01T11:59:58.000000Z";
    lease->metadata.annotations = protocol::annotations_of({"0.1.0", "gate", "", {}, {"gpu.example.com"}, {}});
    objects.managers.leases[lease->metadata.key()] = lease;
    auto pod = std::make_shared<api::Pod>(*objects.pods.at("ml/run"));
    pod->metadata.name = "gated";
    pod->metadata.uid = "gated-uid";
    pod->metadata.creation_timestamp = "2026-03-01T11:59:00Z";
    pod->node_name.clear();
    pod->resource_claims.clear();
    pod->resource_claim_statuses.clear();
    pod->scheduling_gates = {std::string(kManagerGate)};
    objects.pods["ml/gated"] = pod;
  }
  std::vector<std::string> said() {
    State state(objects, {});
    const auto answer = explain(state, "pod/gated", {.ns = "ml"});
    EXPECT_TRUE(answer);
    status = answer->status;
    return answer->lines;
  }
  Status status = Status::kYes;
};

bool mentions(const std::vector<std::string>& lines, const std::string& text) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

// What the check says although all is well.
std::string diagnosed_fine(const Objects& objects) {
  const State state(objects, {});
  for (const Diagnosis& one : diagnose(state))
    if (one.check == "manager" && one.health == Health::kFine) return one.finding;
  return "not fine";
}

TEST(Manager, ALeaderIsNamedWithWhatItSays) {
  WithManager world;
  EXPECT_TRUE(mentions(world.said(), "host-1_x has led for 3h")) << join(world.said(), "\n");
  EXPECT_EQ(world.status, Status::kYes);
  EXPECT_EQ(diagnosed(world.objects, "manager"), "fine");
  EXPECT_EQ(diagnosed_fine(world.objects),
            "host-1_x has led for 3h (Lease dra-system/dra-controller-manager, version 0.1.0, mode gate); it allocates "
            "alone for gpu.example.com");
  world.lease->metadata.annotations = protocol::annotations_of({"", "", "", {}, {}, {"gpu.example.com"}});
  EXPECT_TRUE(
      diagnosed_fine(world.objects).ends_with("dra-controller-manager); others may allocate, too, for gpu.example.com"))
      << diagnosed_fine(world.objects);
}

TEST(Manager, IsIllWhilePodsWaitAndNobodyLeads) {
  WithManager world;
  world.lease->renew_time = "2026-03-01T11:54:49.000000Z";
  EXPECT_TRUE(mentions(world.said(), "No dra-controller-manager has led since 2026-03-01T11:54:49.000000Z, for 5m11s"))
      << join(world.said(), "\n");
  EXPECT_TRUE(
      mentions(world.said(), "kubectl get pods -n dra-system -l app.kubernetes.io/name=dra-controller-manager"));
  EXPECT_EQ(world.status, Status::kNo);
  EXPECT_NE(diagnosed(world.objects, "manager").find("1 pod waits for one, ml/gated"), std::string::npos)
      << diagnosed(world.objects, "manager");
  State state(world.objects, {});
  EXPECT_EQ(doctor_answer(diagnose(state), world.objects).status, Status::kNo);
  world.objects.managers.leases.clear();
  EXPECT_TRUE(mentions(world.said(), "No dra-controller-manager is installed")) << join(world.said(), "\n");
  EXPECT_EQ(world.status, Status::kNo);
  world.objects.pods.erase("ml/gated");
  EXPECT_EQ(diagnosed(world.objects, "manager"), "fine") << "nobody relies on one";
}

TEST(Manager, AnObserverLiftsNoGate) {
  WithManager world;
  world.lease->metadata.annotations["dra-controller-manager/mode"] = "observe";
  EXPECT_TRUE(mentions(world.said(), "it lifts no gate")) << join(world.said(), "\n");
  EXPECT_EQ(world.status, Status::kNo);
  EXPECT_NE(diagnosed(world.objects, "manager"), "fine");
  world.objects.pods.erase("ml/gated");
  EXPECT_EQ(diagnosed(world.objects, "manager"), "fine");
}

// A Lease that one may not read is not a manager that is not there.
TEST(Manager, ALeaseThatMayNotBeReadIsNotVisible) {
  WithManager world;
  world.objects.managers.leases.clear();
  world.objects.managers.why_hidden = "you may not read it";
  EXPECT_TRUE(mentions(world.said(), "is not visible")) << join(world.said(), "\n");
  EXPECT_TRUE(mentions(world.said(), "dra-controller-manager:viewer"));
  EXPECT_TRUE(mentions(world.said(), "--manager-namespace"));
  EXPECT_EQ(world.status, Status::kUnknown);
  State state(world.objects, {});
  EXPECT_EQ(doctor_answer(diagnose(state), world.objects).status, Status::kUnknown);
}

TEST(Manager, TwoLeadersAreIll) {
  WithManager world;
  auto second = std::make_shared<api::Lease>(*world.lease);
  second->metadata.ns = "other";
  world.objects.managers.leases["other/dra-controller-manager"] = second;
  EXPECT_EQ(diagnosed(world.objects, "manager").substr(0, 21), "several managers lead");
}

}  // namespace
}  // namespace dra::inspect
