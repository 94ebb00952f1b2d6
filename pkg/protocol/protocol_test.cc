#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "pkg/api/decode/decode.h"
#include "pkg/base/random.h"
#include "pkg/protocol/leaving.h"
#include "pkg/protocol/leaving_writes.h"
#include "pkg/protocol/memory_view.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"
#include "pkg/protocol/users.h"
#include "pkg/protocol/writes.h"
#include "pkg/reconcile/key.h"
#include "pkg/reconcile/parking.h"

namespace dra::protocol::reconcile_test {

using namespace reconcile;

using Json = nlohmann::json;

TEST(Key, GoesToTextAndBack) {
  for (const Kind kind : {Kind::kPod, Kind::kNode, Kind::kNamespace, Kind::kClaim, Kind::kClaimTemplate, Kind::kSlice,
                          Kind::kClass, Kind::kVolumeClaim, Kind::kVolume, Kind::kTaintRule}) {
    const Key key{kind, "ns/name"};
    EXPECT_EQ(parse_key(to_text(key)), key);
  }
  EXPECT_EQ(to_text(pod_key("default/a")), "pod:default/a");
  EXPECT_EQ(parse_key("default/a"), std::nullopt);
  EXPECT_EQ(parse_key("robot:default/a"), std::nullopt);
  EXPECT_EQ(parse_key(""), std::nullopt);
}

bool is_dns_subdomain(const std::string& name) {
  if (name.empty() || name.size() > 253) return false;
  std::string label;
  for (const char c : name + ".") {
    if (c == '.') {
      if (label.empty() || label.front() == '-' || label.back() == '-') return false;
      label.clear();
    } else if (!(std::islower(static_cast<unsigned char>(c)) || std::isdigit(static_cast<unsigned char>(c)) ||
                 c == '-')) {
      return false;
    } else {
      label += c;
    }
  }
  return true;
}

// A name of this length with '.' and '-' wherever they are allowed.
std::string random_name(Random& random, size_t length, bool dots) {
  std::string name;
  for (size_t i = 0; i < length; ++i) {
    const bool edge = i == 0 || i + 1 == length || name.back() == '.' || name.back() == '-';
    const uint64_t pick = edge ? 9 : random.below(10);
    if (pick < 2 && dots)
      name += '.';
    else if (pick < 4)
      name += '-';
    else
      name += static_cast<char>('a' + random.below(26));
  }
  return name;
}

TEST(GeneratedClaimName, IsValidForEveryLengthAndEveryPlaceOfACut) {
  SeededRandom random(20);
  for (size_t pod = 1; pod <= 253; ++pod)
    for (const size_t entry : {1u, 2u, 10u, 29u, 51u, 52u, 63u}) {
      const std::string pod_name = random_name(random, pod, true), entry_name = random_name(random, entry, false);
      const std::string name = generated_claim_name(pod_name, entry_name, random.uuid());
      EXPECT_TRUE(is_dns_subdomain(name)) << pod_name << " + " << entry_name << " -> " << name;
      EXPECT_LE(name.size(), 63u);
      if (pod + entry > 51) continue;
      EXPECT_EQ(name.rfind(pod_name + "-" + entry_name + "-", 0), 0u) << name;
    }
}

TEST(GeneratedClaimName, DependsOnUidAndEntryOnly) {
  const std::string name = generated_claim_name("web-0", "gpu", "uid-1");
  EXPECT_EQ(name, generated_claim_name("web-0", "gpu", "uid-1"));
  EXPECT_NE(name, generated_claim_name("web-0", "gpu", "uid-2"));
  std::set<std::string> names;
  for (int i = 0; i < 20'000; ++i)
    names.insert(generated_claim_name(std::string(200, 'a'), "gpu", "uid-" + std::to_string(i)));
  EXPECT_EQ(names.size(), 20'000u);
  // Upstream cuts a name of this kind so that its pod part ends in a dot.
  EXPECT_TRUE(is_dns_subdomain(generated_claim_name("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa." + std::string(29, 'b'),
                                                    std::string(29, 'c'), "u")));
}

api::Pod pod_with_entry(std::optional<std::string> claim, std::optional<std::string> from_template) {
  api::Pod pod;
  pod.metadata.ns = "default";
  pod.metadata.name = "p";
  pod.metadata.uid = "pod-uid";
  pod.resource_claims.push_back({"gpu", std::move(claim), std::move(from_template)});
  return pod;
}

TEST(ResolveClaim, FollowsThePublishedStatus) {
  using State = ResolvedClaim::State;
  api::Pod pod = pod_with_entry("mine", std::nullopt);
  EXPECT_EQ(resolve_claim(pod, pod.resource_claims[0]).name, "mine");
  EXPECT_FALSE(resolve_claim(pod, pod.resource_claims[0]).must_check_owner);
  pod = pod_with_entry(std::nullopt, "tpl");
  EXPECT_EQ(resolve_claim(pod, pod.resource_claims[0]).state, State::kNotCreated);
  pod.resource_claim_statuses.push_back({"gpu", std::nullopt});
  EXPECT_EQ(resolve_claim(pod, pod.resource_claims[0]).state, State::kNotNeeded);
  pod.resource_claim_statuses[0].resource_claim_name = "p-gpu-x";
  EXPECT_EQ(resolve_claim(pod, pod.resource_claims[0]).name, "p-gpu-x");
  EXPECT_TRUE(resolve_claim(pod, pod.resource_claims[0]).must_check_owner);
  EXPECT_EQ(claim_keys_of(pod), std::vector<std::string>{"default/p-gpu-x"});
  pod = pod_with_entry(std::nullopt, std::nullopt);
  EXPECT_EQ(resolve_claim(pod, pod.resource_claims[0]).state, State::kUnsupported);
}

TEST(IsForPod, LooksAtTheControllersUidOnly) {
  const api::Pod pod = pod_with_entry("c", std::nullopt);
  api::ResourceClaim claim;
  claim.metadata.ns = "default";
  EXPECT_FALSE(is_for_pod(pod, claim));
  claim.metadata.owner_references.push_back({"v1", "Pod", "p", "pod-uid", false});
  EXPECT_FALSE(is_for_pod(pod, claim)) << "an owner that is not a controller";
  claim.metadata.owner_references[0].controller = true;
  EXPECT_TRUE(is_for_pod(pod, claim));
  claim.metadata.ns = "other";
  EXPECT_FALSE(is_for_pod(pod, claim));
}

api::ResourceClaim a_claim() {
  api::ResourceClaim claim;
  claim.metadata.ns = "default";
  claim.metadata.name = "c";
  claim.metadata.uid = "claim-uid";
  claim.metadata.resource_version = "7";
  return claim;
}

TEST(Writes, CarryTheirPreconditionsInTheBody) {
  const api::ResourceClaim claim = a_claim();
  api::AllocationResult allocation;
  allocation.results.push_back({"gpu", "drv", "pool", "dev-0"});
  allocation.node_selector = api::NodeSelector{{{{}, {{"metadata.name", "In", {"n1"}}}}}};
  allocation.allocation_timestamp = "2026-01-01T00:00:00Z";
  for (const Write& write : {write_reservations(claim, {{"", "pods", "p", "u"}}, "x"), write_deallocation(claim, "x"),
                             write_allocation(claim, allocation, {{"", "pods", "p", "u"}}, "x"),
                             write_metadata(claim, {"f"}, {{"a", "b"}, {"gone", std::nullopt}}, "x")}) {
    const Json body = Json::parse(write.body);
    EXPECT_EQ(body["metadata"]["uid"], "claim-uid");
    EXPECT_EQ(body["metadata"]["resourceVersion"], "7");
    EXPECT_EQ(write.object.store_key(), "default/c");
  }
  const Json body = Json::parse(write_allocation(claim, allocation, {{"", "pods", "p", "u"}}, "x").body);
  EXPECT_EQ(body["status"]["allocation"],
            Json::parse(R"({"devices":{"results":[{"request":"gpu","driver":"drv","pool":"pool","device":"dev-0"}]},
              "nodeSelector":{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In",
              "values":["n1"]}]}]},"allocationTimestamp":"2026-01-01T00:00:00Z"})"));
  EXPECT_EQ(body["status"]["reservedFor"], Json::parse(R"([{"resource":"pods","name":"p","uid":"u"}])"));
  const Json cleared = Json::parse(write_deallocation(claim, "x").body);
  EXPECT_TRUE(cleared["status"].contains("allocation") && cleared["status"]["allocation"].is_null());
  EXPECT_TRUE(
      Json::parse(write_metadata(claim, {}, {{"gone", std::nullopt}}, "x").body)["metadata"]["annotations"].contains(
          "gone"));
}

// What this build does not know of a claim is still there after each of our patches of an allocated one.
TEST(Writes, KeepWhatIsNotKnown) {
  const Json before = Json::parse(R"({"metadata": {"name": "c", "namespace": "ns", "uid": "c", "resourceVersion": "7",
      "newField": 1, "annotations": {"a": "1"}}, "newField": 1,
    "spec": {"newField": 1, "devices": {"requests": [{"name": "r", "newField": {"a": [1]}}], "newField": 1}},
    "status": {"newField": 1, "allocation": {"newField": 1, "devices": {"results": [{"request": "r", "driver": "d",
      "pool": "p", "device": "a", "newField": 1}]}}, "devices": [{"driver": "d", "newField": 1}],
      "reservedFor": [{"resource": "pods", "name": "p", "uid": "u", "newField": {"big": 18446744073709551615}},
                      {"resource": "pods", "name": "q", "uid": "v"}]}})");
  auto claim = api::decode<api::ResourceClaim>(before.dump());
  ASSERT_TRUE(claim);
  EXPECT_TRUE(claim->spec.unknown);
  std::vector<api::ResourceClaimConsumerReference> consumers = claim->status.reserved_for;
  EXPECT_EQ(consumers.at(0).uid, "u");
  consumers.push_back({"", "pods", "new", "w"});
  consumers.erase(consumers.begin() + 1);
  Json after = before;
  after.merge_patch(Json::parse(write_reservations(*claim, consumers, "x").body));
  Json expected = before;
  expected["status"]["reservedFor"].at(1) = {{"resource", "pods"}, {"name", "new"}, {"uid", "w"}};
  EXPECT_EQ(after, expected);
  after = before;
  after.merge_patch(Json::parse(write_metadata(*claim, {"f"}, {{"b", "2"}}, "x").body));
  expected = before;
  expected["metadata"]["finalizers"] = {"f"};
  expected["metadata"]["annotations"]["b"] = "2";
  EXPECT_EQ(after, expected);
}

TEST(Writes, OursIsAddedToAndTakenFromFinalizersThatAreNotKept) {
  api::ResourceClaim claim;
  claim.metadata.name = claim.metadata.uid = "c";
  claim.metadata.resource_version = "7";
  claim.finalizer_bytes_dropped = 10'000;
  const std::string ours(api::kDeleteProtectionFinalizer);
  const auto operations = [&](const std::vector<std::string>& finalizers, const std::string& name) {
    const Write write = write_metadata(claim, finalizers, {{name, std::nullopt}, {"x/y", "v"}}, "x");
    EXPECT_EQ(write.verb, Verb::kJsonPatch);
    std::string text;
    for (const Json& one : Json::parse(write.body))
      text += one["op"].get<std::string>() + " " + one["path"].get<std::string>() + "\n";
    return text;
  };
  const std::string version = "add /metadata/uid\nadd /metadata/resourceVersion\n";
  EXPECT_EQ(operations({ours}, "gone"), version + "add /metadata/finalizers/-\nadd /metadata/annotations/x~1y\n");
  claim.metadata.finalizers = {ours};
  claim.finalizer_at = 42;
  claim.metadata.annotations["a/b"] = "v";
  EXPECT_EQ(operations({}, "a/b"), version +
                                       "remove /metadata/finalizers/42\nremove /metadata/annotations/a~1b\n"
                                       "add /metadata/annotations/x~1y\n");
  EXPECT_EQ(operations({ours}, "gone"), version + "add /metadata/annotations/x~1y\n") << "the list stays";
}

TEST(Writes, TextsAreThoseOfAWholeJsonLibrary) {
  api::ResourceClaim claim;
  claim.metadata.name = "c";
  claim.metadata.uid = "u\"\\/\n";
  claim.metadata.resource_version = std::string("\0\x01\x1f\x7f", 4);
  const std::vector<std::string> finalizers{"plain ~!", "h\xc3\xb6hle", "broken\xff\xc3", ""};
  const Write write = write_metadata(claim, finalizers, {{"k\xe2\x82\xac", "v\t"}, {"gone", std::nullopt}}, "x");
  Json expected{{"uid", claim.metadata.uid},
                {"resourceVersion", claim.metadata.resource_version},
                {"finalizers", finalizers},
                {"annotations", {{"k\xe2\x82\xac", "v\t"}, {"gone", nullptr}}}};
  EXPECT_EQ(write.body, Json({{"metadata", expected}}).dump(-1, ' ', false, Json::error_handler_t::replace));
  EXPECT_EQ(Json::parse(write_deallocation(claim, "x").body)["status"].dump(),
            R"({"allocation":null,"reservedFor":null})");
}

TEST(Writes, ParametersGoIntoAnAllocationByteForByte) {
  api::ResourceClaim claim;
  claim.metadata.name = "c";
  const std::string deep = std::string(9'990, '[') + std::string(9'990, ']');
  api::AllocationResult allocation;
  for (const std::string& parameters :
       {deep, std::string(), std::string(R"({"parameters":"raw-parameters","n":1.50})")})
    allocation.config.push_back({"FromClaim", {}, api::OpaqueConfig{"d", parameters}});
  allocation.results.push_back({"raw-parameters", "d", "p", "x"});
  const std::string body = write_allocation(claim, allocation, {}, "x").body;
  EXPECT_TRUE(Json::accept(body));
  EXPECT_NE(body.find(R"("parameters":)" + deep + "}"), std::string::npos);
  EXPECT_NE(body.find(R"("parameters":{"parameters":"raw-parameters","n":1.50}})"), std::string::npos);
  EXPECT_NE(body.find(R"("parameters":null)"), std::string::npos);
}

TEST(Writes, ABodyThatIsBuiltLaterIsTheSame) {
  api::ResourceClaim claim;
  claim.metadata = {.name = "c", .uid = "u", .resource_version = "7"};
  for (const bool copied : {false, true}) {
    api::AllocationResult allocation;
    allocation.results.push_back({"r", "d", "p", "x"});
    allocation.config = {{"FromClaim", {"r"}, api::OpaqueConfig{"d", copied ? "" : R"({"n":1.50})", copied ? 3 : -1}}};
    const std::vector<api::ResourceClaimConsumerReference> consumers{{"", "pods", "p", "pod-uid"}};
    const Write at_once = write_allocation(claim, allocation, consumers, "x");
    Write later = write_allocation_later(std::make_shared<const api::ResourceClaim>(claim), allocation, consumers, "x");
    EXPECT_EQ(later.body, "");
    build_body(later);
    EXPECT_EQ(later.body, at_once.body);
    EXPECT_EQ(later.verb, at_once.verb);
    EXPECT_EQ(later.object, at_once.object);
    EXPECT_EQ(later.subresource, at_once.subresource);
    EXPECT_EQ(later.resource_version, at_once.resource_version);
    EXPECT_EQ(later.field_manager, at_once.field_manager);
    EXPECT_EQ(later.assume, at_once.assume);
    build_body(later);
    EXPECT_EQ(later.body, at_once.body) << "built once";
  }
}

// A server copies what was too large to keep; the preconditions are the same as those of a merge patch.
TEST(Writes, ParametersThatAreNotKeptAreCopiedByTheServer) {
  api::ResourceClaim claim;
  claim.metadata = {.name = "c", .uid = "u", .resource_version = "7"};
  api::AllocationResult allocation;
  allocation.config = {{"FromClass", {}, api::OpaqueConfig{"d", R"({"n":1.50})"}},
                       {"FromClaim", {"r"}, api::OpaqueConfig{"d", "", 3}},
                       {"FromClaim", {}, api::OpaqueConfig{"d", R"({"m":2.50})"}}};
  const Write write = write_allocation(claim, allocation, {{"", "pods", "p", "pod-uid"}}, "x");
  EXPECT_EQ(write.verb, Verb::kJsonPatch);
  EXPECT_EQ(write.resource_version, "7");
  EXPECT_NE(write.body.find(R"({"n":1.50})"), std::string::npos);
  const Json operations = Json::parse(write.body);
  ASSERT_EQ(operations.size(), 5u);
  EXPECT_EQ(operations[0], Json({{"op", "add"}, {"path", "/metadata/uid"}, {"value", "u"}}));
  EXPECT_EQ(operations[1], Json({{"op", "add"}, {"path", "/metadata/resourceVersion"}, {"value", "7"}}));
  EXPECT_EQ(operations[2]["value"]["devices"]["config"][2]["opaque"]["parameters"]["m"], 2.5);
  EXPECT_EQ(operations[3], Json({{"op", "copy"},
                                 {"from", "/spec/devices/config/3/opaque/parameters"},
                                 {"path", "/status/allocation/devices/config/1/opaque/parameters"}}));
  EXPECT_EQ(operations[4]["path"], "/status/reservedFor");
  EXPECT_EQ(Json::parse(write_allocation(claim, allocation, {}, "x").body).size(), 4u);
  claim.status.reserved_for = {{"", "pods", "p", "pod-uid"}};
  EXPECT_EQ(Json::parse(write_allocation(claim, allocation, {}, "x").body)[4],
            Json({{"op", "remove"}, {"path", "/status/reservedFor"}}));
}

TEST(Writes, AGeneratedClaimKeepsWhatTheTemplateSaysAndLeavesTheTemplateAlone) {
  const api::Pod pod = pod_with_entry(std::nullopt, "tpl");
  api::ResourceClaimTemplate from;
  from.claim_annotations = {{"a", "b"}, {std::string(api::kPodClaimNameAnnotation), "wrong"}};
  from.claim_labels = {{"l", "m"}};
  from.spec_json = R"({"devices":{"requests":[],"unknownField":1.50}})";
  const Write write = write_generated_claim(pod, "gpu", from, "p-gpu-x", "resource.k8s.io/v1");
  const Json body = Json::parse(write.body);
  EXPECT_EQ(body["metadata"]["annotations"]["resource.kubernetes.io/pod-claim-name"], "gpu");
  EXPECT_EQ(body["metadata"]["annotations"]["a"], "b");
  EXPECT_EQ(body["metadata"]["labels"]["l"], "m");
  EXPECT_EQ(body["metadata"]["ownerReferences"][0]["uid"], "pod-uid");
  EXPECT_EQ(body["metadata"]["ownerReferences"][0]["controller"], true);
  EXPECT_FALSE(body["metadata"]["ownerReferences"][0].contains("blockOwnerDeletion"));
  EXPECT_NE(write.body.find(from.spec_json), std::string::npos) << "byte for byte";
  EXPECT_EQ(from.claim_annotations.at(std::string(api::kPodClaimNameAnnotation)), "wrong");
}

TEST(EmitOnce, SaysTheSameThingOnce) {
  MemoryView view;
  ReconcileResult outcome;
  Event event{{Kind::kPod, "default", "p", "uid"}, true, "FailedAllocation", "Allocate", "3 in use", "in-use"};
  emit_once(view, outcome, event);
  EXPECT_EQ(outcome.effects.size(), 1u);
  view.emitted[{"uid", "FailedAllocation"}] = "in-use";
  event.note = "4 in use";
  emit_once(view, outcome, event);
  EXPECT_EQ(outcome.effects.size(), 1u);
  event.signature = "tainted";
  emit_once(view, outcome, event);
  EXPECT_EQ(outcome.effects.size(), 2u);
}

// The hash as computed independently (Python's hashlib). It proves for no other pod or allocation.
TEST(Proof, AMarkIsOfOnePodAndOneAllocation) {
  constexpr const char* kHash = "1d8b4a86815e592bc7162a5355249527351acedb69f86ba6d0fd8da83efac7f9";
  api::ResourceClaim claim;
  claim.status.allocation.emplace();
  claim.status.allocation->results.push_back({"r", "d", "p", "x"});
  claim.status.allocation->allocation_timestamp = "2026-01-01T00:00:00Z";
  claim.metadata.finalizers = {std::string(api::kDeleteProtectionFinalizer)};
  EXPECT_EQ(proof_value("p-uid", *claim.status.allocation), std::string("p-uid/") + kHash);
  claim.metadata.annotations[std::string(kProofAnnotation)] = std::string("p-uid/") + kHash;
  EXPECT_TRUE(is_proven(claim));
  EXPECT_FALSE(is_mark_outdated(claim));
  EXPECT_EQ(proven_for(claim), "p-uid");
  api::ResourceClaim changed = claim;
  changed.status.allocation->results[0].device = "y";
  EXPECT_FALSE(is_proven(changed));
  EXPECT_TRUE(is_mark_outdated(changed));
  claim.metadata.annotations[std::string(kProofAnnotation)] = std::string("q-uid/") + kHash;
  EXPECT_FALSE(is_proven(claim)) << "the pod is part of what is hashed";
  for (const char* other : {"p-uid/", "p-uid/0", "p-uid/005e687cbe6164a6"}) {
    claim.metadata.annotations[std::string(kProofAnnotation)] = other;
    EXPECT_FALSE(is_proven(claim)) << other;
  }
}

TEST(Proof, AnythingThatChangesUnderTheMarkEndsTheProof) {
  api::ResourceClaim claim;
  claim.status.allocation.emplace();
  claim.status.allocation->results.push_back({"r", "drv", "pool", "dev-0"});
  claim.status.allocation->node_selector = api::NodeSelector{{{{}, {{"metadata.name", "In", {"n1"}}}}}};
  claim.metadata.finalizers = {std::string(api::kDeleteProtectionFinalizer)};
  EXPECT_FALSE(is_mark_outdated(claim)) << "no mark at all";
  claim.metadata.annotations[std::string(kProofAnnotation)] = proof_value("p/q", *claim.status.allocation);
  EXPECT_TRUE(is_proven(claim));
  EXPECT_FALSE(is_mark_outdated(claim));
  EXPECT_EQ(proven_for(claim), "p/q");
  const auto ends = [&](const char* name, void (*change)(api::AllocationResult&)) {
    api::ResourceClaim changed = claim;
    change(*changed.status.allocation);
    EXPECT_FALSE(is_proven(changed)) << name;
    EXPECT_TRUE(is_mark_outdated(changed)) << name;
  };
  ends("device", [](api::AllocationResult& a) { a.results[0].device = "dev-1"; });
  ends("one more", [](api::AllocationResult& a) { a.results.push_back(a.results[0]); });
  ends("timestamp", [](api::AllocationResult& a) { a.allocation_timestamp = "2026-01-01T00:00:00Z"; });
  ends("node", [](api::AllocationResult& a) { a.node_selector->terms[0].match_fields[0].values = {"n2"}; });
  ends("operator", [](api::AllocationResult& a) { a.node_selector->terms[0].match_fields[0].op = "NotIn"; });
  ends("expression for field", [](api::AllocationResult& a) {
    std::swap(a.node_selector->terms[0].match_fields, a.node_selector->terms[0].match_expressions);
  });
  ends("everywhere", [](api::AllocationResult& a) { a.node_selector.reset(); });
}

TEST(LeavingAnnotation, KeepsTheHighestVersionOfEachClaimAndIgnoresWhatItCannotRead) {
  api::Pod pod;
  pod.metadata.uid = "p-uid";
  EXPECT_TRUE(leaving_of(pod).empty());
  pod.metadata.annotations[std::string(kLeavingAnnotation)] = "a@7,b@x,@,c,d@-1,e@9,";
  EXPECT_EQ(leaving_of(pod), (Leaving{{"a", 7}, {"e", 9}}));
  const nlohmann::json body = nlohmann::json::parse(write_leaving(pod, {{"a", 5}, {"f", 1}})->body);
  EXPECT_EQ(body["metadata"]["annotations"][kLeavingAnnotation], "a@7,e@9,f@1");
  EXPECT_EQ(body["metadata"]["uid"], "p-uid");
  EXPECT_TRUE(
      nlohmann::json::parse(write_void_removed(pod, {"a", "e"}).body)["metadata"]["annotations"][kLeavingAnnotation]
          .is_null());
}

// A dropped announcement would let a manager with an old view of the claim lift the gate.
TEST(LeavingAnnotation, DropsNoneWhenItIsFull) {
  api::Pod pod;
  std::string text;
  for (size_t i = 0; i < kMaxLeaving; ++i) text += (i == 0 ? "" : ",") + std::to_string(i) + "@1";
  pod.metadata.annotations[std::string(kLeavingAnnotation)] = text;
  EXPECT_FALSE(write_leaving(pod, {{"more", 1}}));
  const std::optional<Write> again = write_leaving(pod, {{"0", 2}});
  ASSERT_TRUE(again);
  pod.metadata.annotations[std::string(kLeavingAnnotation)] =
      nlohmann::json::parse(again->body)["metadata"]["annotations"][kLeavingAnnotation].get<std::string>();
  EXPECT_EQ(leaving_of(pod).size(), kMaxLeaving);
  EXPECT_EQ(leaving_of(pod)["0"], 2u);
}

TEST(Users, AreListedOnceAndTakenOffByUid) {
  api::Pod pod;
  pod.metadata.name = "p";
  pod.metadata.uid = "p-uid";
  api::ResourceClaim claim;
  claim.metadata.resource_version = "5";
  claim.metadata.finalizers = {"keep"};
  EXPECT_TRUE(users_of(claim).empty());
  const auto written = [&](const Write& write) {
    const nlohmann::json body = nlohmann::json::parse(write.body);
    EXPECT_EQ(body["metadata"]["resourceVersion"], "5");
    EXPECT_EQ(body["metadata"]["finalizers"], nlohmann::json::array({"keep"}));
    return body["metadata"]["annotations"][kProvenForAnnotation];
  };
  std::string& list = claim.metadata.annotations[std::string(kProvenForAnnotation)];
  list = "a/1,nonsense,/2,b/,c/3/4,";
  EXPECT_EQ(users_of(claim), (std::vector<User>{{"a", "1"}, {"c", "3/4"}}));
  MemoryView view;
  ReconcileResult outcome;
  ASSERT_EQ(enlist(view, pod, claim, {}, outcome), Enlisting::kWritten);
  list = written(std::get<Write>(outcome.effects.at(0))).get<std::string>();
  EXPECT_EQ(list, "a/1,c/3/4,p/p-uid");
  EXPECT_TRUE(is_user(claim, "p-uid"));
  EXPECT_FALSE(is_user(claim, "p"));
  list = written(write_unlisted(pod, claim)).get<std::string>();
  EXPECT_EQ(list, "a/1,c/3/4");
  list = "p/p-uid";
  EXPECT_TRUE(written(write_unlisted(pod, claim)).is_null());
}

// A pod without a gate may have been bound by others before it left: the list keeps it until the server shows it
// unbound.
TEST(Users, APodThatLeftWithoutAGateIsRemembered) {
  api::Pod pod;
  pod.metadata.ns = "default";
  pod.metadata.name = "p";
  pod.metadata.uid = "p-uid";
  api::ResourceClaim claim;
  claim.metadata.ns = "default";
  claim.metadata.uid = "c-uid";
  claim.metadata.resource_version = "5";
  std::string& list = claim.metadata.annotations[std::string(kProvenForAnnotation)];
  list = "a/1,p/p-uid";
  const auto written = [](const Write& write) {
    return nlohmann::json::parse(write.body)["metadata"]["annotations"][kProvenForAnnotation].get<std::string>();
  };
  list = written(write_unlisted(pod, claim, true));
  EXPECT_EQ(list, "a/1,p/~p-uid");
  EXPECT_EQ(users_of(claim), (std::vector<User>{{"a", "1"}, {"p", "p-uid", true}}));
  EXPECT_FALSE(is_user(claim, "p-uid"));
  EXPECT_TRUE(has_left(claim, "p-uid"));
  EXPECT_FALSE(has_left(claim, "1"));
  EXPECT_EQ(written(write_unlisted(pod, claim, true)), list) << "once";
  MemoryView view;
  ReconcileResult outcome;
  ASSERT_EQ(enlist(view, pod, claim, {}, outcome), Enlisting::kWritten);
  EXPECT_EQ(written(std::get<Write>(outcome.effects.at(0))), "a/1,p/p-uid");
}

TEST(Users, APodThatLeftIsGoneOnceTheServerShowsItUnboundAfterThisVersionOfTheClaim) {
  MemoryView view;
  api::Pod pod;
  pod.metadata.ns = "default";
  pod.metadata.name = "p";
  pod.metadata.uid = "p-uid";
  view.put(pod);
  api::ResourceClaim claim;
  claim.metadata.ns = "default";
  claim.metadata.uid = "c-uid";
  claim.metadata.resource_version = "5";
  claim.metadata.annotations[std::string(kProvenForAnnotation)] = "p/~p-uid";
  const Ref ref{Kind::kPod, "default", "p", "p-uid"};
  const auto fate = [&] {
    ReconcileResult outcome;
    const Fate found = fate_of_users(view, claim, "", outcome);
    EXPECT_EQ(outcome.has_live_gets(), found == Fate::kUnsure);
    return found;
  };
  EXPECT_EQ(fate(), Fate::kUnsure) << "the view may be behind";
  view.live_get(ref, Presence::kPresent);
  view.live_get(ref, Presence::kPresent, "c-uid@4");
  EXPECT_EQ(fate(), Fate::kUnsure);
  view.live_get(ref, Presence::kPresent, "c-uid@5");
  EXPECT_EQ(fate(), Fate::kGone);
  claim.status.reserved_for = {{"", "pods", "p", "p-uid"}};
  EXPECT_EQ(fate(), Fate::kAlive) << "bound a moment later, kubelet would find it reserved";
  claim.status.reserved_for.clear();
  pod.node_name = "n1";
  view.put(pod);
  EXPECT_EQ(fate(), Fate::kAlive);
  pod.phase = "Succeeded";
  view.put(pod);
  EXPECT_EQ(fate(), Fate::kGone);
  view.pods.clear();
  EXPECT_EQ(fate(), Fate::kAlive) << "it exists and cannot be read";
  view.live_get(ref, Presence::kAbsent, "c-uid@5");
  EXPECT_EQ(fate(), Fate::kGone);
}

// A claim that outlives very many pods lists only those still alive.
TEST(Users, ALongListLosesThoseThatAreGone) {
  api::Pod pod;
  pod.metadata.ns = "default";
  pod.metadata.name = "p";
  pod.metadata.uid = "p-uid";
  api::ResourceClaim claim;
  claim.metadata.ns = "default";
  std::string& list = claim.metadata.annotations[std::string(kProvenForAnnotation)];
  for (int i = 0; i < 40; ++i) list += (i == 0 ? "" : ",") + ("n" + std::to_string(i)) + "/" + std::to_string(i);
  MemoryView view;
  ReconcileResult outcome;
  EXPECT_EQ(enlist(view, pod, claim, {}, outcome), Enlisting::kAsked);
  EXPECT_FALSE(outcome.has_writes());
  EXPECT_EQ(outcome.effects.size(), 40u);
  for (int i = 0; i < 40; ++i)
    view.live_get({Kind::kPod, "default", "n" + std::to_string(i), std::to_string(i)},
                  i == 7 ? Presence::kPresent : Presence::kAbsent);
  outcome = {};
  ASSERT_EQ(enlist(view, pod, claim, {}, outcome), Enlisting::kWritten);
  const nlohmann::json body = nlohmann::json::parse(std::get<Write>(outcome.effects.at(0)).body);
  EXPECT_EQ(body["metadata"]["annotations"][kProvenForAnnotation], "n7/7,p/p-uid");
}

TEST(Users, AFullListIsNotAddedTo) {
  api::Pod pod;
  api::ResourceClaim claim;
  std::string& list = claim.metadata.annotations[std::string(kProvenForAnnotation)];
  list = "n/1";
  for (size_t i = 1; i < kMaxUsers; ++i) list += ",n/1";
  MemoryView view;
  view.live_get({Kind::kPod, "", "n", "1"}, Presence::kPresent);
  ReconcileResult outcome;
  EXPECT_EQ(enlist(view, pod, claim, {}, outcome), Enlisting::kFull);
  EXPECT_TRUE(outcome.effects.empty());
}

// The annotations that rules read survive decoding (pkg/api drops the others).
TEST(Annotations, ThoseInUseAreKept) {
  for (const std::string_view key :
       {kProofAnnotation, kProvenForAnnotation, kLeavingAnnotation, api::kPodClaimNameAnnotation}) {
    const std::string text = R"({"metadata":{"name":"n","annotations":{")" + std::string(key) + R"(":"v"}}})";
    EXPECT_EQ(api::decode<api::Pod>(text)->metadata.annotations.count(key), 1u) << key;
    EXPECT_EQ(api::decode<api::ResourceClaim>(text)->metadata.annotations.count(key), 1u) << key;
  }
}

}  // namespace dra::protocol::reconcile_test
