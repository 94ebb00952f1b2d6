// Workloads without pods.
#include "pkg/inspect/verbs/explain_owner.h"

#include <gtest/gtest.h>

#include "pkg/inspect/verbs/two_nodes_fixture.h"

namespace dra::inspect {
namespace {

std::string said_of(const std::string& kind, const std::string& more_metadata, const std::string& spec,
                    const std::string& status = "{}") {
  const TwoNodes world;
  const std::string version = kind == "Job" ? "batch/v1" : "apps/v1";
  const auto answer = explain_without_pods(
      world.objects, {}, "ml",
      R"({"apiVersion": ")" + version + R"(", "kind": ")" + kind + R"(", "metadata": {"name": "train", "uid": "u")" +
          more_metadata + R"(}, "status": )" + status + R"(, "spec": {)" + spec +
          R"(, "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "resources":
          {"claims": [{"name": "g"}]}}], "resourceClaims": [{"name": "g", "resourceClaimTemplateName": "two"}]}}}})");
  if (!answer) return answer.error().message();
  EXPECT_EQ(answer->status, Status::kNo);
  return join(answer->lines, " ");
}

TEST(ExplainOwner, SaysWhyThereAreNoPodsAndWhetherTheyWouldFit) {
  EXPECT_EQ(said_of("Job", R"(, "labels": {"kueue.x-k8s.io/queue-name": "q"})", R"("suspend": true)"),
            "Job ml/train has no pods. It is suspended (spec.suspend): queue \"q\" (label kueue.x-k8s.io/queue-name) "
            "has not admitted it; kubectl describe workloads -n ml shows why. Its pods would fit now.");
  const std::string by_hand = said_of("Job", "", R"("suspend": true, "parallelism": 2)");
  EXPECT_NE(by_hand.find("kubectl patch job train -n ml --type=merge"), std::string::npos) << by_hand;
  EXPECT_NE(by_hand.find("Its pods would not all fit now (1 of 2): "), std::string::npos) << by_hand;
  const std::string ended =
      said_of("Job", "", R"("suspend": false)", R"({"conditions": [{"type": "Complete", "status": "True"}]})");
  EXPECT_NE(ended.find("It has ended: condition Complete."), std::string::npos) << ended;
  const std::string none = said_of("Deployment", "", R"("replicas": 0)");
  EXPECT_NE(none.find("Its spec.replicas is 0."), std::string::npos) << none;
  const std::string other = said_of("StatefulSet", "", R"("replicas": 1)");
  EXPECT_NE(other.find("kubectl describe statefulset train -n ml shows why"), std::string::npos) << other;
}

TEST(ExplainOwner, RefusesWhatIsNoObject) {
  const TwoNodes world;
  for (const char* text : {"", "3", "[]", "{}", R"({"metadata": 4, "spec": {}})"})
    EXPECT_FALSE(explain_without_pods(world.objects, {}, "ml", text)) << text;
}

}  // namespace
}  // namespace dra::inspect
