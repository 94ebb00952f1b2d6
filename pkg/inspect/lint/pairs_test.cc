// What lint says about annotations with our prefix: each test has what it must say and what it must not.
#include "pkg/inspect/lint/pairs.h"

#include <gtest/gtest.h>

#include "pkg/inspect/lint/lint.h"
#include "pkg/inspect/state/drivers_fixture.h"

namespace dra::inspect::lint_pairs_test {
namespace {

// One node with two GPUs and two NICs on two roots. A GPU has a numaNode besides, of its driver's domain.
struct Roots {
  Objects objects = objects_with_node("n");

  Roots() {
    add_driver("gpu.acme.test");
    add_driver("nic.acme.test");
  }

  void add_driver(const std::string& driver) {
    const auto slice = add_class_and_slice(objects, driver, driver, "n");
    for (const int64_t number : {0, 1}) {
      api::Device& device = add_device(*slice, "device-" + std::to_string(number));
      device.attributes["resource.kubernetes.io/pcieRoot"] = "pci0000:" + std::to_string(number) + "0";
      if (driver.starts_with("gpu")) device.attributes["numaNode"] = number;
    }
  }
};

// "SEVERITY PATH: TEXT" of each finding.
std::string said(const std::string& text, const Objects* objects = nullptr) {
  const auto findings = lint(text, objects, {}, "default");
  if (!findings) return findings.error().message();
  std::string all;
  for (const Finding& one : *findings)
    all += std::string(one.severity == Severity::kError     ? "error "
                       : one.severity == Severity::kWarning ? "warning "
                                                            : "note ") +
           one.path + ": " + one.text + "\n";
  return all;
}

#define EXPECT_SAID(text, part) \
  EXPECT_NE((text).find(part), std::string::npos) << "missing: " << (part) << "\n" << (text)
#define EXPECT_UNSAID(text, part) \
  EXPECT_EQ((text).find(part), std::string::npos) << "said: " << (part) << "\n" << (text)

std::string template_with(const std::string& pairs, const std::string& gpus = "8", const std::string& nics = "8") {
  return "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: t}\nspec:\n  metadata: "
         "{annotations: {dra-controller-manager/pairs: '" +
         pairs +
         "'}}\n  spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.acme.test, count: " + gpus +
         "}}, {name: nic, exactly: {deviceClassName: nic.acme.test, count: " + nics + "}}]}}\n";
}

std::string pod_with(const std::string& annotations, const std::string& more = "") {
  return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {" + annotations +
         "}}\nspec:\n  resourceClaims: [{name: left, resourceClaimTemplateName: t}, {name: right, "
         "resourceClaimTemplateName: other}]\n  containers: [{name: c, image: i, resources: {claims: [{name: left}, "
         "{name: right}]}}]\n" +
         more;
}

constexpr const char* kRoot = " by resource.kubernetes.io/pcieRoot";

TEST(LintPairs, AcceptsWhatTheManagerAccepts) {
  EXPECT_EQ(said(template_with(std::string("gpu+nic") + kRoot)), "");
  EXPECT_EQ(said(template_with(std::string(" gpu*2 + nic") + kRoot + " , gpu*4 by example.com/nvlink")), "");
}

TEST(LintPairs, QuotesTheRefusedPartWithItsKind) {
  const std::string path = "error spec.metadata.annotations.dra-controller-manager/pairs: ";
  EXPECT_SAID(said(template_with("gpu+nic")), path + "syntax: annotation dra-controller-manager/pairs: \"gpu+nic\"");
  EXPECT_SAID(said(template_with(std::string("left/gpu+nic") + kRoot)), path + "place: ");
  EXPECT_SAID(said(template_with(std::string("gpu*33+nic") + kRoot)), path + "limit: ");
  EXPECT_SAID(said(template_with(std::string("gpu+gpu") + kRoot)), path + "twice: ");
  EXPECT_SAID(said(template_with("gpu+nic by pcieRoot")), path + "attribute: ");
  EXPECT_SAID(said(template_with(std::string("gpu+nics") + kRoot)), path + "unknown: ");
  EXPECT_SAID(said(template_with(std::string("gpu+nics") + kRoot)), "did you mean \"nic\"?");
  EXPECT_SAID(said(template_with(std::string("gpu+nics") + kRoot)), "the pod waits until it is mended");
}

TEST(LintPairs, SaysThatAGroupCanNeverBe) {
  EXPECT_SAID(
      said(template_with(std::string("gpu*2+nic") + kRoot, "1")),
      "error spec.metadata.annotations.dra-controller-manager/pairs: gpu takes 1 device, a group of gpu*2 needs "
      "2: this never fits");
  EXPECT_EQ(said(template_with(std::string("gpu*2+nic") + kRoot, "2")), "");
}

TEST(LintPairs, NamesAnAttributeThatNoDeviceHas) {
  const Roots fleet;
  EXPECT_EQ(said(template_with(std::string("gpu+nic") + kRoot, "2", "2"), &fleet.objects), "");
  const std::string text = said(template_with("gpu+nic by resource.kubernetes.io/pcieroot", "2", "2"), &fleet.objects);
  EXPECT_SAID(text,
              "none of the 2 devices that \"gpu\" can take has resource.kubernetes.io/pcieroot, so that none is in a "
              "group; did you mean resource.kubernetes.io/pcieRoot?");
  const std::string numa = said(template_with("gpu+nic by gpu.acme.test/numaNode", "2", "2"), &fleet.objects);
  EXPECT_SAID(numa, "that \"nic\" can take has gpu.acme.test/numaNode");
  EXPECT_UNSAID(numa, "that \"gpu\" can take");
}

TEST(LintPairs, LooksUpClaimsOfPods) {
  const std::string good = template_with(std::string("gpu+nic") + kRoot);
  EXPECT_EQ(said(good + pod_with(std::string("dra-controller-manager/pairs: 'left/gpu+left/nic") + kRoot + "'")), "");
  // The other claim is not known: its requests are not judged.
  EXPECT_EQ(said(good + pod_with(std::string("dra-controller-manager/pairs: 'left/gpu+right/any") + kRoot + "'")), "");
  EXPECT_SAID(said(good + pod_with(std::string("dra-controller-manager/pairs: 'lefd/gpu+right/nic") + kRoot + "'")),
              "did you mean \"left\"?");
  EXPECT_SAID(said(good + pod_with(std::string("dra-controller-manager/pairs: 'gpu+right/nic") + kRoot + "'")),
              "place: ");
  std::string many;
  for (int i = 0; i < 8; ++i)
    many += std::string(i == 0 ? "" : ",") + "left/gpu+left/nic by example.com/a" + std::to_string(i);
  EXPECT_SAID(said(good + pod_with("dra-controller-manager/pairs: '" + many + "'")), "limit: ");
}

TEST(LintPairs, LooksIntoTemplatesOfPodsOfEveryKind) {
  const std::string text = said(
      "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: l}\nspec:\n"
      "  leaderWorkerTemplate:\n    workerTemplate:\n      metadata: {annotations: "
      "{dra-controller-manager/same-across-members: 'devices/nic*2 by example.com/rail'}}\n      spec: {containers: "
      "[{name: c, image: i}], resourceClaims: [{name: devices, resourceClaimTemplateName: t}]}\n");
  EXPECT_SAID(text,
              "error spec.leaderWorkerTemplate.workerTemplate.metadata.annotations."
              "dra-controller-manager/same-across-members: syntax: ");
}

TEST(LintPairs, IgnoresAPreferenceWithAWarning) {
  const std::string text =
      said(template_with(std::string("gpu+nic") + kRoot) +
           pod_with("dra-controller-manager/same-across-members-preferred: 'left/nics by example.com/rail'"));
  EXPECT_SAID(text, "warning metadata.annotations.dra-controller-manager/same-across-members-preferred: unknown: ");
  EXPECT_SAID(text, "it is ignored as a whole");
  EXPECT_SAID(text, "the pod is in no group");
}

TEST(LintPairs, LooksForRequestsOfAPodGroupInItsMembers) {
  const std::string group =
      "---\napiVersion: scheduling.k8s.io/v1alpha2\nkind: PodGroup\nmetadata: {name: g, annotations: "
      "{dra-controller-manager/same-across-members: 'left/nic+lefd/nic by example.com/rail'}}\nspec: "
      "{schedulingPolicy: "
      "{gang: {minCount: 1}}}\n";
  const std::string text = said(template_with(std::string("gpu+nic") + kRoot) +
                                pod_with("a: b", "  schedulingGroup: {podGroupName: g}\n") + group);
  EXPECT_SAID(text, "names \"lefd/nic\", and no pod of the group in this file has such a claim and request");
  EXPECT_UNSAID(text, "names \"left/nic\"");
  // Without members nobody knows.
  EXPECT_UNSAID(said(group.substr(4)), "no pod of the group");
}

TEST(LintAnnotations, NamesUnknownOnesAndThoseOutOfPlace) {
  EXPECT_SAID(said(pod_with("dra-controller-manager/pair: x")),
              "error metadata.annotations.dra-controller-manager/pair: there is no annotation "
              "dra-controller-manager/pair: nobody reads it, and the chart's policy refuses it; did you mean "
              "dra-controller-manager/pairs?");
  EXPECT_SAID(said(pod_with("dra-controller-manager/proven: x")),
              "is written by dra-controller-manager alone; leave it out");
  EXPECT_SAID(said(pod_with("dra-controller-manager/prefer: 'same:a/b'")),
              "has no effect here: dra-controller-manager/prefer is read on a ResourceClaim");
  EXPECT_SAID(
      said("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, annotations: {dra-controller-manager/group: "
           "'2'}}\nspec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: "
           "[{name: c, image: i}]}}}\n"),
      "has no effect here: dra-controller-manager/group is read on a Pod (of a workload: in its template)");
}

TEST(LintAnnotations, NamesValuesThatAreIgnored) {
  for (const char* value : {"0", "x", "-1", "1025", "99999999999999999999", ""})
    EXPECT_SAID(said(pod_with("dra-controller-manager/group: '" + std::string(value) + "'")),
                "is not a number of pods");
  EXPECT_UNSAID(said(pod_with("dra-controller-manager/group: '1024'")), "group");
  EXPECT_SAID(said(pod_with("dra-controller-manager/topology-required: 'a b'")), "topology-required: is ignored: ");
  EXPECT_UNSAID(said(pod_with("dra-controller-manager/topology-required: 'example.com/spine'")), "ignored");
}

TEST(LintAnnotations, NamesTimesThatNothingIsKeptFor) {
  const auto claim = [](const std::string& time) {
    return said(
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c, annotations: "
        "{dra-controller-manager/keep-devices: '" +
        time + "'}}\nspec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]}}\n");
  };
  for (const char* time : {"", "10", "0s", "-1m", "25h", "10m ", "99999999999999999999h", "1h30m"})
    EXPECT_SAID(claim(time), "keep-devices: is ignored: ");
  for (const char* time : {"1s", "10m", "24h"}) EXPECT_UNSAID(claim(time), "keep-devices");
  const auto in_template = [](const std::string& time) {
    return said(
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: t}\nspec: {metadata: "
        "{annotations: {dra-controller-manager/keep-devices: '" +
        time + "'}}, spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]}}}\n");
  };
  EXPECT_SAID(in_template("1d"), "keep-devices: is ignored: ");
  EXPECT_UNSAID(in_template("10m"), "keep-devices");
}

}  // namespace
}  // namespace dra::inspect::lint_pairs_test
