// What one may not list is in no verb called absent.
#include "pkg/inspect/state/unseen.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "pkg/inspect/lint/lint.h"
#include "pkg/inspect/verbs/cel_query.h"
#include "pkg/inspect/verbs/doctor.h"
#include "pkg/inspect/verbs/explain.h"
#include "pkg/inspect/verbs/fits.h"
#include "pkg/inspect/verbs/manager.h"
#include "pkg/inspect/verbs/replay.h"
#include "pkg/inspect/verbs/taint.h"
#include "pkg/inspect/verbs/top.h"
#include "pkg/inspect/verbs/two_nodes_fixture.h"
#include "pkg/inspect/verbs/who.h"

namespace dra::inspect {
namespace {

constexpr const char* kClaimFile =
    "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: c}, spec: "
    "{devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}}";

struct Said {
  std::string text;
  Status status = Status::kUnknown;  // an error about permissions exits with 3, too
};

Said said_by(const Result<Answer>& answer) {
  if (!answer)
    return {answer.error().message(),
            answer.error().code() == Code::kPermissionDenied ? Status::kUnknown : Status::kUsage};
  return {render(*answer, {Format::kWide}), answer->status};
}

// Every verb, about objects that are there.
std::map<std::string, std::function<Said(const Objects&)>> all_verbs_asked() {
  std::map<std::string, std::function<Said(const Objects&)>> all;
  const auto with_state = [&](const std::string& name, const std::function<Result<Answer>(State&)>& ask) {
    all[name] = [ask](const Objects& objects) {
      State state(objects, {});
      return said_by(ask(state));
    };
  };
  for (const char* target : {"pod/run", "pod/waits", "claim/run-g", "claim/waits-g", "replicaset/set-1"})
    with_state(std::string("explain ") + target,
               [target](State& state) { return explain(state, target, {.ns = "ml"}); });
  with_state("explain --node", [](State& state) { return explain(state, "pod/waits", {.ns = "ml", .node = "b"}); });
  for (const char* target : {"a", "a/gpu-0"})
    with_state(std::string("who ") + target, [target](State& state) { return who(state, target); });
  with_state("top nodes", [](State& state) { return Result<Answer>(top_nodes(state, {})); });
  with_state("top classes", [](State& state) { return Result<Answer>(top_classes(state)); });
  with_state("top claims", [](State& state) { return Result<Answer>(top_claims(state, {})); });
  with_state("doctor", [](State& state) { return Result<Answer>(doctor_answer(diagnose(state), state.objects)); });
  all["fits"] = [](const Objects& objects) {
    const auto manifest = read_manifest(kClaimFile, "ml");
    const auto found = fits(objects, *manifest, {});
    return said_by(found ? Result<Answer>(to_answer(*found, *manifest, objects, false)) : fail(found.error()));
  };
  const auto imagine = [&](const std::string& name, const Change& change) {
    all[name] = [change](const Objects& objects) {
      const auto fates = whatif(objects, change, {}, "ml");
      return said_by(fates ? Result<Answer>(whatif_answer(*fates, objects)) : fail(fates.error()));
    };
  };
  imagine("whatif drain", {Change::Kind::kDrain, "a", {}, 1});
  imagine("whatif delete pod", {Change::Kind::kDelete, "pod/run", {}, 1});
  imagine("whatif delete claim", {Change::Kind::kDelete, "claim/run-g", {}, 1});
  imagine("whatif taint", {Change::Kind::kTaint, "a/gpu-0", {"k", "", "NoExecute", ""}, 1});
  all["replay"] = [](const Objects& objects) { return said_by(replay(objects, "pod/run", "ml", {})); };
  all["cel"] = [](const Objects& objects) {
    return said_by(cel_answer(objects, "device.attributes['gpu.example.com'].model == 'A100'", {}));
  };
  all["taint"] = [](const Objects& objects) {
    TaintQuestion question;
    question.target = "a/gpu-0";
    question.taint = {"k", "", "NoSchedule", ""};
    const auto plan = plan_taint(objects, question, {});
    return said_by(plan ? Result<Answer>(taint_answer(*plan, false)) : fail(plan.error()));
  };
  all["lint"] = [](const Objects& objects) {
    const auto findings = lint(kClaimFile, &objects, {}, "ml");
    Said said;
    for (const Finding& one : *findings) said.text += one.text + "\n";
    return said;
  };
  return all;
}

const std::map<std::string, std::function<void(Objects&)>>& hidden_kinds() {
  static const std::map<std::string, std::function<void(Objects&)>> kKinds{
      {"nodes", [](Objects& all) { all.nodes.clear(); }},
      {"deviceclasses", [](Objects& all) { all.classes.clear(); }},
      {"resourceslices", [](Objects& all) { all.slices.clear(); }},
      {"resourceclaimtemplates", [](Objects& all) { all.templates.clear(); }},
      {"resourceclaims",
       [](Objects& all) {
         all.claims.clear();
         all.claim_by_uid.clear();
       }},
      {"pods", [](Objects& all) { all.pods.clear(); }}};
  return kKinds;
}

// With each kind hidden alone, and with all of them: no verb says that something is not there.
TEST(Hidden, IsInNoVerbCalledAbsent) {
  std::vector<std::vector<std::string>> cases;
  std::vector<std::string> all;
  for (const auto& [plural, erase] : hidden_kinds()) {
    cases.push_back({plural});
    all.push_back(plural);
  }
  cases.push_back(all);
  const std::vector<std::string> kAbsent{"does not exist", "\" is not known", "is gone",      "(gone)",
                                         "no devices are", "no device class", "no device \"", "is published no more",
                                         "has no device",  "no longer",       "there are no", "no device can be",
                                         "matches none",   "matches 0 of",    "never"};
  // Verdicts, which need no templates where the claims are there.
  const std::vector<std::string> kNoFit{"no node can", "no node has"};
  for (const std::vector<std::string>& plurals : cases) {
    TwoNodes world;
    world.add_pod("waits", "", {});
    for (const std::string& plural : plurals) {
      hidden_kinds().at(plural)(world.objects);
      world.objects.hidden.push_back({plural, std::string(kMayNotList)});
    }
    for (const auto& [verb, ask] : all_verbs_asked()) {
      SCOPED_TRACE(verb + " without " + join(plurals, ", "));
      const Said said = ask(world.objects);
      EXPECT_NE(said.status, Status::kUsage) << said.text;
      for (const std::string& absent : kAbsent)
        EXPECT_EQ(said.text.find(absent), std::string::npos) << "says " << quote(absent) << ":\n" << said.text;
      if (plurals == std::vector<std::string>{"resourceclaimtemplates"}) continue;
      for (const std::string& verdict : kNoFit)
        EXPECT_EQ(said.text.find(verdict), std::string::npos) << "says " << quote(verdict) << ":\n" << said.text;
    }
  }
}

TEST(Hidden, ClaimsLeaveTheirTableUnknown) {
  TwoNodes world;
  hidden_kinds().at("resourceclaims")(world.objects);
  const auto status_of = [&](const std::string& hidden, const std::string& ns) {
    world.objects.hidden = {{hidden, std::string(kMayNotList)}};
    State state(world.objects, {});
    Scope scope;
    scope.ns = ns;
    EXPECT_EQ(top_claims(state, scope).status, top_namespaces(state, scope).status);
    return top_claims(state, scope).status;
  };
  for (const char* ns : {"", "ml", "web"}) EXPECT_EQ(status_of("resourceclaims", ns), Status::kUnknown);
  EXPECT_EQ(status_of("resourceclaims outside namespace ml", "web"), Status::kUnknown);
  // Those of one namespace are shown, with a note on the others.
  for (const char* ns : {"", "ml"}) EXPECT_EQ(status_of("resourceclaims outside namespace ml", ns), Status::kYes);
}

// The API server's word about a gated pod is no judgement of whether it fits.
TEST(Hidden, AGateIsNoAnswer) {
  TwoNodes world;
  world.add_pod("waits", "", {});
  auto pod = std::make_shared<api::Pod>(*world.objects.pods.at("ml/waits"));
  pod->scheduling_gates = {std::string(kManagerGate)};
  world.objects.hidden = {{"nodes", std::string(kMayNotList)}};
  for (const char* reason : {"SchedulingGated", "Unschedulable"}) {
    pod->conditions = {{}};
    pod->conditions[0].type = "PodScheduled";
    pod->conditions[0].status = "False";
    pod->conditions[0].reason = reason;
    pod->conditions[0].message = "as they say";
    world.objects.pods["ml/waits"] = pod;
    State state(world.objects, {});
    const Said said = said_by(explain(state, "pod/waits", {.ns = "ml"}));
    const bool judged = std::string(reason) == "Unschedulable";
    EXPECT_EQ(said.status, judged ? Status::kNo : Status::kUnknown) << said.text;
    EXPECT_EQ(said.text.find("as they say") != std::string::npos, judged) << said.text;
  }
}

TEST(Hidden, NotesAreOneForEachReasonAndNameTheRole) {
  Objects objects;
  objects.hidden = {{"nodes", std::string(kMayNotList)},
                    {"pods outside namespace ml", std::string(kMayNotList)},
                    {"deviceclasses", std::string(kMayNotList)}};
  EXPECT_EQ(hidden_notes(objects, "; figures leave them out"),
            (std::vector<std::string>{"not visible: nodes, deviceclasses (you may not list them; the ClusterRole "
                                      "dra-controller-manager:viewer allows it); figures leave them out",
                                      "not visible: pods outside namespace ml (you may not list them); figures leave "
                                      "them out"}));
}

TEST(Hidden, AnAbsentObjectIsNotKnownWhereItsKindIsListed) {
  Objects objects;
  EXPECT_EQ(not_known(objects, "nodes", "", "node \"x\"").code(), Code::kNotFound);
  objects.hidden = {{"pods outside namespace ml", "forbidden"}};
  EXPECT_EQ(not_known(objects, "pods", "ml", "pod \"x\"").code(), Code::kNotFound);
  const Error other = not_known(objects, "pods", "web", "pod \"x\"");
  EXPECT_EQ(other.code(), Code::kPermissionDenied);
  EXPECT_EQ(other.message(), "pod \"x\" is not visible: you may not list pods in namespace web");
}

}  // namespace
}  // namespace dra::inspect
