// What lint says about files: each test has what it must say and what it must not.
#include "pkg/inspect/lint/lint.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "pkg/inspect/lint/fix.h"
#include "pkg/inspect/lint/selectors.h"
#include "pkg/inspect/source/files.h"
#include "pkg/inspect/state/drivers_fixture.h"
#include "pkg/inspect/state/manifest.h"

namespace dra::inspect::lint_test {
namespace {

// One node with two GPUs of model A1 and two NICs, of two drivers, each with a class.
struct TwoDrivers {
  Objects objects = objects_with_node("n");

  TwoDrivers() {
    auto node = named_object<api::Node>("", "n");
    node->allocatable = {{"pods", "10"}, {"cpu", "8"}, {"example.com/plugin", "2"}};
    objects.nodes["n"] = node;
    add_driver("gpu.acme.test", "gpu", "model", std::string("A1"));
    add_driver("nic.acme.test", "nic", "rdma", true);
  }

  void add_driver(const std::string& driver, const std::string& device, const std::string& attribute,
                  const api::DeviceAttribute& value) {
    const auto slice = add_class_and_slice(objects, driver, driver, "n");
    for (const char* number : {"-0", "-1"}) add_device(*slice, device + number).attributes[attribute] = value;
  }
};

// "LINE SEVERITY PATH: TEXT" of each finding.
std::vector<std::string> said(const std::string& text, const Objects* objects = nullptr,
                              const StateOptions& options = {}) {
  const auto findings = lint(text, objects, options, "default");
  if (!findings) return {findings.error().message()};
  std::vector<std::string> all;
  for (const Finding& one : *findings)
    all.push_back(std::to_string(one.line) +
                  (one.severity == Severity::kError     ? " error "
                   : one.severity == Severity::kWarning ? " warning "
                                                        : " note ") +
                  one.path + ": " + one.text);
  return all;
}

std::string joined(const std::vector<std::string>& lines) {
  return join(lines, "\n");
}

void expect_said(const std::vector<std::string>& lines, const std::string& text) {
  EXPECT_NE(joined(lines).find(text), std::string::npos) << "missing: " << text << "\nsaid:\n" << joined(lines);
}

void expect_unsaid(const std::vector<std::string>& lines, const std::string& text) {
  EXPECT_EQ(joined(lines).find(text), std::string::npos) << "should not be said: " << text << "\nsaid:\n"
                                                         << joined(lines);
}

std::string claim_template(const std::string& exactly) {
  return "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: t}\nspec: {spec: {devices: "
         "{requests: [{name: dev, exactly: {" +
         exactly + "}}]}}}\n";
}

std::string pod_with(const std::string& claims, const std::string& uses) {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers: [{name: c, image: i, resources: "
         "{claims: " +
         uses + "}}]\n  resourceClaims: " + claims + "\n";
}

// ---- selectors and classes

// The allocator evaluates a request's selector only on devices that its class admits.
TEST(LintSelectors, AreTriedOnTheDevicesOfTheirClass) {
  const TwoDrivers world;
  EXPECT_EQ(said(claim_template("deviceClassName: nic.acme.test, selectors: [{cel: {expression: "
                                "'device.attributes[\"nic.acme.test\"].rdma'}}]"),
                 &world.objects),
            std::vector<std::string>{});
  const auto wrong = said(claim_template("deviceClassName: gpu.acme.test, selectors: [{cel: {expression: "
                                         "'device.attributes[\"nic.acme.test\"].rdma'}}]"),
                          &world.objects);
  expect_said(wrong, "fails on 2 of 2 devices of class \"gpu.acme.test\", first on gpu.acme.test/n/gpu-0");
}

TEST(LintSelectors, TheSelectorsBeforeLetOnlyTheirDevicesThrough) {
  TwoDrivers world;
  world.add_driver("old.acme.test", "old", "model", std::string("B2"));
  const std::string guarded =
      "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: x}\nspec: {selectors: [{cel: {expression: "
      "'device.driver == \"gpu.acme.test\"'}}, {cel: {expression: 'device.attributes[\"gpu.acme.test\"].model == "
      "\"A1\"'}}]}\n";
  EXPECT_EQ(said(guarded, &world.objects), std::vector<std::string>{});
}

// The class of the file is meant, not the cluster's of the same name.
TEST(LintSelectors, AClassOfTheFileCounts) {
  const TwoDrivers world;
  const std::string file =
      "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: mine}\nspec: {selectors: [{cel: "
      "{expression: 'device.driver == \"nic.acme.test\"'}}]}\n---\n" +
      claim_template(
          "deviceClassName: mine, selectors: [{cel: {expression: 'device.attributes[\"nic.acme.test\"].rdma'}}]");
  EXPECT_EQ(said(file, &world.objects), std::vector<std::string>{});
}

TEST(LintSelectors, WhatMatchesNothingShowsTheValuesThatExist) {
  const TwoDrivers world;
  expect_said(said(claim_template("deviceClassName: gpu.acme.test, selectors: [{cel: {expression: "
                                  "'device.attributes[\"gpu.acme.test\"].model == \"A2\"'}}]"),
                   &world.objects),
              "matches none of 2 devices of class \"gpu.acme.test\"; they have model A1 (2)");
}

TEST(LintSelectors, AMissingClassIsNamedOnceWithTheNearest) {
  const TwoDrivers world;
  const auto near = said(claim_template("deviceClassName: gpu.acme.tset"), &world.objects);
  EXPECT_EQ(near, std::vector<std::string>{
                      "4 error spec.spec.devices.requests[0].exactly.deviceClassName: device class \"gpu.acme.tset\" "
                      "does not exist; did you mean \"gpu.acme.test\"?"});
  expect_said(said(claim_template("deviceClassName: quantum"), &world.objects),
              "there are gpu.acme.test, nic.acme.test");
  EXPECT_EQ(said(claim_template("deviceClassName: quantum")), std::vector<std::string>{}) << "no cluster: not known";
  TwoDrivers hidden;
  hidden.objects.hidden.push_back({"deviceclasses", "forbidden"});
  if (hidden.objects.hides("deviceclasses"))
    expect_unsaid(said(claim_template("deviceClassName: quantum"), &hidden.objects), "does not exist;");
}

TEST(LintSelectors, TextsThatAreNoVersionsAreFound) {
  const auto texts = [](std::string_view expression) {
    std::vector<std::string> all;
    for (const BadVersion& one : bad_versions(expression)) all.push_back(one.text + ">" + one.instead);
    return all;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(texts("a.compareTo(semver(\"580.159.04\")) >= 0"), Texts{"580.159.04>580.159.4"});
  EXPECT_EQ(texts("semver( '1.2' ) == x && semver(\"1.2.3\") == y"), Texts{"1.2>1.2.0"});
  EXPECT_EQ(texts("semver(\"580.159.04\", true) == x"), Texts{}) << "normalised by the function";
  EXPECT_EQ(texts("semver('x.y') == z"), Texts{"x.y>"});
  EXPECT_EQ(texts("name == 'semver(\"1\")' || isSemver('1')"), Texts{});
  EXPECT_EQ(texts("semver(\"open"), Texts{});
  expect_said(said(claim_template("deviceClassName: g, selectors: [{cel: {expression: "
                                  "'device.attributes[\"g\"].v.compareTo(semver(\"580.159.04\")) >= 0'}}]")),
              "write semver(\"580.159.4\")");
}

// In each version of the API.
TEST(LintSelectors, WhatDoesNotCompileIsOneRowWithThePlace) {
  for (const char* version : {"v1", "v1beta2", "v1beta1"})
    for (const auto& [expression, words] :
         {std::pair("device.driver == ",
                    "does not compile, at character 18: Syntax error: the expression ends too early"),
          std::pair("device.driver == foo",
                    "does not compile, at character 18: undeclared reference to 'foo' (in container '')")}) {
      const auto findings =
          lint(std::string("apiVersion: resource.k8s.io/") + version +
                   "\nkind: DeviceClass\nmetadata: {name: a}\nspec: {selectors: [{cel: " + "{expression: \"" +
                   expression + "\"}}]}\n",
               nullptr, {}, "ml");
      ASSERT_TRUE(findings);
      std::string text;
      for (const Finding& one : *findings)
        if (one.severity == Severity::kError) text += one.path + ": " + one.text + "\n";
      EXPECT_TRUE(text.starts_with(std::string("spec.selectors[0].cel.expression: ") + words))
          << version << " " << text;
      EXPECT_EQ(text.find('\n'), text.size() - 1) << "one row, and none of the parser's lines";
    }
  EXPECT_EQ(words_of_compile_error(
                "compilation failed: ERROR: <input>:2:7: Syntax error: extraneous input 'x' expecting {'a'}\n | x"),
            "does not compile, at character 7 of line 2: Syntax error: extraneous input 'x'");
  for (const char* other : {"", "too complex", "ERROR: <input>:", "ERROR: <input>:1:2:", "ERROR: <input>:1"})
    EXPECT_FALSE(words_of_compile_error(other).starts_with("does not compile, at character 1 of")) << other;
  EXPECT_EQ(words_of_compile_error("too complex\nmore"), "too complex");
}

// ---- pods

TEST(LintPods, ARequestThatTheClaimLacksIsAnError) {
  const std::string nic = claim_template("deviceClassName: nic.acme.test");
  const std::string claims = "[{name: g, resourceClaimTemplateName: t}]";
  const auto wrong = said(nic + "---\n" + pod_with(claims, "[{name: g, request: gpu}]"));
  EXPECT_EQ(wrong.size(), 1u) << joined(wrong);
  expect_said(wrong,
              "10 error spec.containers[0].resources.claims[0].request: container \"c\" asks for request \"gpu\" of "
              "claim \"g\", and ResourceClaimTemplate t has only dev");
  EXPECT_EQ(said(nic + "---\n" + pod_with(claims, "[{name: g, request: dev}]")), std::vector<std::string>{});
  EXPECT_EQ(said(pod_with(claims, "[{name: g, request: gpu}]")), std::vector<std::string>{}) << "not known";
}

TEST(LintPods, AClaimThatNoContainerUsesIsNamed) {
  const auto lines = said(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers: [{name: c, image: i}]\n  resourceClaims: "
      "[{name: g, resourceClaimName: x}]\n");
  EXPECT_EQ(lines.size(), 1u) << joined(lines);
  expect_said(lines, "6 warning spec.resourceClaims[0]: no container uses claim \"g\"");
}

TEST(LintPods, ResourcesThatNobodyOffersAreNamed) {
  const TwoDrivers world;
  const auto pod = [](const std::string& resource) {
    return "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers: [{name: c, image: i, resources: "
           "{limits: {" +
           resource + ": 1}}}]\n";
  };
  expect_said(said(pod("nvidia.com/gpu"), &world.objects),
              "no node has a device plugin for nvidia.com/gpu, and no DeviceClass has extendedResourceName");
  expect_unsaid(said(pod("example.com/plugin"), &world.objects), "no node has a device plugin");
  const std::string serving =
      "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: c}\nspec: {extendedResourceName: "
      "nvidia.com/gpu}\n---\n";
  expect_unsaid(said(serving + pod("nvidia.com/gpu"), &world.objects), "no node has a device plugin");
}

// ---- kinds that are not known

TEST(LintKinds, TemplatesOfUnknownKindsAreLookedAt) {
  const std::string job_set =
      "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: train}\nspec:\n  replicatedJobs:\n  - "
      "name: "
      "workers\n    replicas: 2\n    template:\n      spec:\n        parallelism: 3\n        template:\n          "
      "spec:\n            containers: [{name: c, resources: {claims: [{name: h}]}}]\n            resourceClaims: "
      "[{name: g, resourceClaimTemplateName: t}]\n";
  const auto lines = said(job_set);
  expect_said(lines, "container \"c\" names claim \"h\", which is not in the pod's resourceClaims; these are g");
  expect_said(lines, "no container uses claim \"g\"");
  expect_said(lines, "spec.replicatedJobs[0].template.spec.template.spec.resourceClaims[0]");
  const auto manifest = read_manifest(job_set, "default");
  ASSERT_TRUE(manifest) << manifest.error().message();
  ASSERT_EQ(manifest->workloads.size(), 1u);
  EXPECT_EQ(manifest->workloads[0].text(), "jobset/train");
  EXPECT_EQ(manifest->workloads[0].replicas, 6u);
  EXPECT_TRUE(manifest->skipped.empty());
}

TEST(LintKinds, EachTemplateOfAnObjectHasItsName) {
  const auto manifest = read_manifest(
      "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: r}\nspec:\n  headGroupSpec: {template: {spec: "
      "{containers: [{name: h}]}}}\n  workerGroupSpecs:\n  - {groupName: big, replicas: 4, template: {spec: "
      "{containers: [{name: w}]}}}\n",
      "default");
  ASSERT_TRUE(manifest) << manifest.error().message();
  ASSERT_EQ(manifest->workloads.size(), 2u);
  EXPECT_EQ(manifest->workloads[0].text(), "raycluster/r (headGroupSpec)");
  EXPECT_EQ(manifest->workloads[0].replicas, 1u);
  EXPECT_EQ(manifest->workloads[1].text(), "raycluster/r (big)");
  EXPECT_EQ(manifest->workloads[1].replicas, 4u);
}

TEST(LintKinds, WhatIsNotLookedAtIsSaid) {
  const std::string any = "apiVersion: x.test/v1\nkind: Any\nmetadata: {name: a}\n";
  const auto lines = said(any);
  EXPECT_EQ(lines.size(), 1u) << joined(lines);
  expect_said(lines, "1 note : not looked at: Any a");
  const Answer answer = lint_answer(*lint(any, nullptr, {}, "default"), "f", true);
  EXPECT_EQ(answer.status, Status::kYes);
  EXPECT_EQ(answer.lines, std::vector<std::string>{"f: nothing to complain about in what was looked at"});
}

TEST(LintKinds, AGeneratedNameIsShown) {
  const TwoDrivers world;
  expect_said(
      said(claim_template("deviceClassName: gpu.acme.test, count: 9") +
               "---\napiVersion: batch/v1\nkind: Job\nmetadata: {generateName: sample-}\nspec: {template: {spec: "
               "{restartPolicy: Never, containers: [{name: c, image: i, resources: {claims: [{name: g}]}}], "
               "resourceClaims: [{name: g, resourceClaimTemplateName: t}]}}}\n",
           &world.objects),
      "error job/sample-*: would not fit");
}

// ---- what the API server refuses

TEST(LintServer, WhatTheServerRefusesIsAnErrorAtItsPlace) {
  const auto claim = [](const std::string& devices) {
    return said("apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: a}\nspec:\n  devices:\n" +
                devices);
  };
  const std::string request = "    requests: [{name: r, exactly: {deviceClassName: c}}]\n";
  expect_said(claim("    requests: [{name: r, exactly: {deviceClassName: c, allocationMode: All, count: 3}}]\n"),
              "6 error spec.devices.requests[0].exactly.count: the API server refuses ResourceClaim a: ");
  expect_said(claim(request + "    constraints: [{requests: [x], matchAttribute: a.test/b}]\n"),
              "7 error spec.devices.constraints[0].requests[0]: the API server refuses");
  expect_said(claim(request + "    config: [{requests: [x], opaque: {driver: d.test, parameters: {a: b}}}]\n"),
              "7 error spec.devices.config[0].requests[0]: the API server refuses");
  expect_said(said(pod_with("[{name: g, resourceClaimName: x}]", "[{name: g}, {name: h}]")),
              "spec.containers[0].resources.claims[1]: the API server refuses Pod p");
  expect_said(claim("    requests: [{name: r, exactly: {deviceClassName: c, count: many}}]\n"),
              "6 error spec.devices.requests[0].exactly.count: the API server refuses ResourceClaim a: it is a text, "
              "and must be a whole number");
  expect_said(
      said("apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: {a: 7}}\nspec: {containers: [{name: c, image: "
           "i, resources: {limits: {cpu: 1x}}}]}\n"),
      "3 error metadata.labels.a: the API server refuses Pod p: it is a number, and must be a text");
}

TEST(LintServer, SlicesAreJudgedToo) {
  const auto slice = [](const std::string& rest) {
    return said(
        "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: x}\nspec:\n  driver: x.test\n  "
        "pool: {name: n0, generation: 1, resourceSliceCount: 1}\n" +
        rest);
  };
  EXPECT_EQ(slice("  nodeName: n0\n  devices: [{name: gpu-0}]\n"), std::vector<std::string>{});
  expect_said(slice("  nodeName: n0\n  devices: [{name: g, attributes: {v: {version: 6.19.14.31400000}}}]\n"),
              "8 error spec.devices[0].attributes[v].version: the API server refuses ResourceSlice x");
  expect_said(slice("  nodeName: n0\n  devices: [{name: GPU_0}]\n"), "8 error spec.devices[0].name");
  expect_said(slice("  devices: [{name: gpu-0}]\n"), " error spec: the API server refuses ResourceSlice x");
  std::string many = "  nodeName: n0\n  devices:\n";
  for (int i = 0; i < 129; ++i) many += "  - name: d" + std::to_string(i) + "\n";
  expect_said(slice(many), " error spec.devices: the API server refuses");
}

TEST(Lint, OfDevicesThatAreSharedByNameAlone) {
  const auto slice = [](const std::string& device) {
    return said(
        "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: x}\nspec:\n  driver: x.test\n  "
        "pool: {name: n0, generation: 1, resourceSliceCount: 1}\n  nodeName: n0\n  devices:\n  - " +
        device + "\n");
  };
  expect_said(slice("{name: g, allowMultipleAllocations: true, capacity: {copyEngines: {value: 7}}}"),
              "9 warning spec.devices[0].capacity.copyEngines: the device may be shared");
  EXPECT_EQ(slice("{name: g, capacity: {copyEngines: {value: 7}}}"), std::vector<std::string>{});
  EXPECT_EQ(slice("{name: g, allowMultipleAllocations: true, capacity: {memory: {value: 7, requestPolicy: {default: 0, "
                  "validRange: {min: 0}}}}}"),
            std::vector<std::string>{});
}

TEST(Lint, OfThePolicyOfShares) {
  const auto device_class = [](const std::string& policy) {
    return said("apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata:\n  name: shared\n  annotations:\n    " +
                std::string("dra-controller-manager/shares: \"") + policy + "\"\n");
  };
  EXPECT_EQ(device_class("sharers=4 with=same-namespace"), std::vector<std::string>{});
  expect_said(device_class("sharers=4 with=friends"), "cannot be read, so the class gives no shares of devices");
}

TEST(LintServer, AdminAccessFollowsTheLabelOfTheNamespace) {
  TwoDrivers world;
  const std::string claim = claim_template("deviceClassName: gpu.acme.test, adminAccess: true");
  world.objects.namespaces["default"] = named_object<api::Namespace>("", "default");
  expect_said(said(claim, &world.objects), "requires the `resource.kubernetes.io/admin-access: true` label");
  const std::string labelled =
      "apiVersion: v1\nkind: Namespace\nmetadata: {name: default, labels: {resource.kubernetes.io/admin-access: "
      "'true'}}\n---\n";
  expect_unsaid(said(labelled + claim, &world.objects), "requires the");
  expect_unsaid(said(claim), "requires the");
}

TEST(LintServer, FieldsOfNewerReleasesAreSaidToBe) {
  const std::string file =
      claim_template("deviceClassName: c, derivedAttributes: [{name: derived/a, expression: 'true'}]");
  expect_said(said(file), "is not known before Kubernetes 1.37");
  StateOptions newer;
  newer.features = *inventory::FeatureChoice::parse("", "1.37");
  const auto lines = said(file, nullptr, newer);
  EXPECT_EQ(lines.size(), 1u) << joined(lines);
  expect_said(lines, "warning");
}

TEST(LintServer, TolerationSecondsWithoutEffectAreNamed) {
  expect_said(said(claim_template("deviceClassName: c, tolerations: [{key: k, operator: Exists, effect: NoSchedule, "
                                  "tolerationSeconds: 3}]")),
              "tolerationSeconds");
}

// ---- opaque parameters

std::vector<std::string> parameters(const std::string& text, const std::string& driver = "gpu.nvidia.com") {
  return said(
      "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: a}\nspec:\n  devices:\n    "
      "requests: [{name: r, exactly: {deviceClassName: c}}]\n    config:\n    - opaque: {driver: " +
      driver + ", parameters: {" + text + "}}\n");
}

TEST(LintParameters, WhatTheDriverRefusesIsSaidBefore) {
  const std::string head = "apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig";
  EXPECT_EQ(parameters(head), std::vector<std::string>{});
  expect_said(parameters("apiVersion: gpu.nvidia.com/v1alpha1, kind: GpuConfig"),
              "write apiVersion: resource.nvidia.com/v1beta1");
  expect_said(parameters("apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfg"), "did you mean \"GpuConfig\"?");
  expect_said(parameters(head + ", sharng: {strategy: MPS}"),
              "8 error spec.devices.config[0].opaque.parameters.sharng: unknown field \"sharng\"; did you mean "
              "\"sharing\"?");
  const auto gated = parameters(head + ", sharing: {strategy: TimeSlicing, timeSlicingConfig: {interval: Long}}");
  EXPECT_EQ(gated.size(), 1u) << joined(gated);
  expect_said(gated,
              "warning spec.devices.config[0].opaque.parameters.sharing.strategy: strategy TimeSlicing needs the "
              "feature gate TimeSlicingSettings of driver gpu.nvidia.com");
  expect_said(parameters(head + ", sharing: {strategy: Exclusive}"), "it is one of TimeSlicing, MPS");
  expect_said(parameters(head + ", sharing: {}"), "field strategy is missing");
  expect_said(parameters(head + ", sharing: {strategy: MPS, timeSlicingConfig: {}}"), "does not go with strategy MPS");
  expect_said(parameters(head + ", sharing: {strategy: MPS, mpsConfig: {defaultActiveThreadPercentage: 101}}"),
              "from 0 to 100");
  expect_said(parameters("apiVersion: resource.nvidia.com/v1beta1, kind: MigDeviceConfig, sharing: {strategy: "
                         "TimeSlicing, timeSlicingConfig: {}}"),
              "unknown field \"timeSlicingConfig\"");
  expect_said(parameters("apiVersion: resource.nvidia.com/v1beta1, kind: VfioDeviceConfig"), "PassthroughSupport");
  EXPECT_EQ(parameters("anything: {at: all}", "other.test"), std::vector<std::string>{});
}

// ---- the project's own files

// Manifests that the project publishes, for servers of today.
TEST(LintExamples, AreClean) {
  size_t files = 0;
  for (const char* folder : {"examples/v1", "examples/drivers", "examples/pairs"}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() != ".yaml" || entry.path().filename() == "fleet.yaml") continue;
      const auto text = read_file(entry.path().string(), kMaxManifest);
      ASSERT_TRUE(text) << text.error().message();
      EXPECT_EQ(said(*text), std::vector<std::string>{}) << entry.path();
      ++files;
    }
  }
  EXPECT_GT(files, 30u);
}

// ---- one object beside others

constexpr const char* kBrokenPod =
    "apiVersion: v1\nkind: Pod\nmetadata: {name: broken}\nspec:\n  containers: [{name: c, image: i, resources: "
    "{claims: [{name: g}]}}]\n  resourceClaims: [{name: g, resourceClaimTemplateName: none}]\n---\n";

// What is wrong with one object hides nothing of the others: a missing template, a document that is no YAML, an object
// that cannot be read, a selector that does not compile.
TEST(Lint, WhatIsBrokenHidesNothing) {
  const TwoDrivers fleet;
  const std::string many = claim_template("deviceClassName: gpu.acme.test, count: 9");
  const std::string never = "resourceclaimtemplate/t: would not fit even if the cluster were empty";
  expect_said(
      said(kBrokenPod + many, &fleet.objects),
      "pod/broken: ResourceClaimTemplate default/none (used by pod claim \"g\") is neither in the file nor in the "
      "cluster");
  expect_said(said(kBrokenPod + many, &fleet.objects), never);
  expect_said(said("a: [\n---\n" + many, &fleet.objects), never);
  expect_said(said("7\n---\n" + many, &fleet.objects), never);
  expect_said(said("apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: odd}\nspec: {devices: 3}\n"
                   "---\n" +
                       many,
                   &fleet.objects),
              never);
  const std::string bad =
      "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: bad}\nspec: {devices: "
      "{requests: [{name: dev, exactly: {deviceClassName: gpu.acme.test, selectors: [{cel: "
      "{expression: 'device.driver =='}}]}}]}}\n---\n";
  const auto both = said(bad + many, &fleet.objects);
  expect_said(both, never);
  expect_said(both, "does not compile");
  expect_unsaid(both, "resourceclaim/bad: would not fit");
}

// Beside an earlier object of the file it would not fit either, but that is not why it never fits.
TEST(Lint, NeverFitsIsAboutTheObjectAlone) {
  const TwoDrivers fleet;
  const std::string first =
      "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: first}\nspec: {devices: {requests: "
      "[{name: "
      "dev, exactly: {deviceClassName: gpu.acme.test, count: 2}}]}}\n---\n";
  const auto lines = said(first + claim_template("deviceClassName: gpu.acme.test, count: 9"), &fleet.objects);
  expect_said(lines, "would not fit even if the cluster were empty");
  expect_unsaid(lines, "in use");
}

// Servers still take v1beta1 and v1beta2, and judge them as v1.
TEST(Lint, OlderVersionsAreJudgedAsTheNewest) {
  const TwoDrivers fleet;
  const std::string flat =
      "kind: ResourceClaim\nmetadata: {name: old}\nspec:\n  devices:\n    requests:\n    - name: dev\n"
      "      deviceClassName: gpu.acme.tset\n      selectors:\n      - cel: {expression: 'device.driver =='}\n"
      "    - name: other\n      deviceClassName: gpu.acme.test\n      selectors:\n"
      "      - cel: {expression: 'device.attributes[\"gpu.acme.test\"].model == \"B2\"'}\n";
  const auto lines = said("apiVersion: resource.k8s.io/v1beta1\n" + flat, &fleet.objects);
  expect_said(lines,
              "8 error spec.devices.requests[0].deviceClassName: device class \"gpu.acme.tset\" does not exist; "
              "did you mean \"gpu.acme.test\"?");
  expect_said(lines, "10 error spec.devices.requests[0].selectors[0].cel.expression: does not compile");
  expect_said(lines, "14 warning spec.devices.requests[1].selectors[0].cel.expression: matches none of 2 devices");
  EXPECT_EQ(joined(lines).find("does not compile"), joined(lines).rfind("does not compile")) << joined(lines);
  const std::string nested =
      "apiVersion: resource.k8s.io/v1beta2\nkind: ResourceClaim\nmetadata: {name: old}\nspec:\n  devices:\n"
      "    requests:\n    - name: dev\n      exactly:\n        deviceClassName: gpu.acme.tset\n";
  expect_said(said(nested, &fleet.objects), "9 error spec.devices.requests[0].exactly.deviceClassName: device class");
}

// ---- --fix

TEST(LintFix, MendsTheCommonestAndNothingElse) {
  const std::string untouched =
      "# kept as it is\napiVersion: v1\nkind: ConfigMap   # with its comment\nmetadata: {name: s}\n";
  const std::string file =
      "# mine\napiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: t}\nspec: {spec: "
      "{devices: "
      "{requests: [{name: dev, deviceClassName: c, selectors: [{cel: {expression: "
      "'device.attributes[\"c\"].v == semver(\"1.02.3\")'}}]}]}}}\n---\n" +
      pod_with("[{name: g, resourceClaimTemplateName: t}]", "[{name: g, request: gpu}]") +
      "---\napiVersion: v1\nkind: Pod\nmetadata: {name: q}\nspec:\n  containers: [{name: c, image: i}]\n  "
      "resourceClaims: [{name: g, resourceClaimTemplateName: t}]\n---\n" +
      "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: d}\nspec: {selector: []}\n---\n" + untouched;
  const auto fixed = fix_manifest(file, nullptr, "default");
  ASSERT_TRUE(fixed) << fixed.error().message();
  EXPECT_EQ(said(fixed->text), std::vector<std::string>{}) << fixed->text;
  EXPECT_EQ(fixed->done.size(), 5u) << joined(fixed->done);
  EXPECT_TRUE(fixed->text.starts_with("# mine\n")) << fixed->text;
  EXPECT_TRUE(fixed->text.ends_with("---\n" + untouched)) << fixed->text;
  const auto again = fix_manifest(fixed->text, nullptr, "default");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->text, fixed->text);
  EXPECT_TRUE(again->done.empty()) << joined(again->done);
  EXPECT_EQ(fix_answer(*fixed, {}).status, Status::kYes);
}

TEST(LintFix, OldVersionsAreMigratedAndLostCommentsNamed) {
  const auto fixed = fix_manifest(
      "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata:\n  name: a  # my claim\nspec: {devices: "
      "{requests: "
      "[{name: r, deviceClassName: c}]}}\n---\napiVersion: resource.k8s.io/v1beta1\nkind: ResourceClaim\nmetadata: "
      "{name: b}\nspec: {devices: {requests: [{name: r, deviceClassName: c}]}}\n",
      nullptr, "default");
  ASSERT_TRUE(fixed) << fixed.error().message();
  EXPECT_EQ(said(fixed->text), std::vector<std::string>{}) << fixed->text;
  EXPECT_EQ(fixed->lost, std::vector<std::string>{"comments inside of the document at line 1"});
}

TEST(LintFix, AMisspeltClaimIsRenamedAndNoneAdded) {
  const auto pod = [](const std::string& named) {
    return "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers: [{name: c, image: i, resources: "
           "{claims: [{name: " +
           named + "}]}}]\n  resourceClaims: [{name: gpus, resourceClaimName: x}]\n";
  };
  const auto fixed = fix_manifest(pod("gpuss"), nullptr, "default");
  ASSERT_TRUE(fixed) << fixed.error().message();
  EXPECT_EQ(fixed->done, std::vector<std::string>{"Pod p: container \"c\": claim \"gpuss\" is now \"gpus\""});
  EXPECT_EQ(said(fixed->text), std::vector<std::string>{}) << fixed->text;
  const auto other = fix_manifest(pod("network"), nullptr, "default");
  ASSERT_TRUE(other);
  EXPECT_EQ(other->text, pod("network")) << "nobody knows which of the two names is wrong";
}

// What could be meant in two ways is left alone.
TEST(LintFix, NothingIsGuessed) {
  const std::string file =
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers: [{name: a, image: i}, {name: b, image: "
      "i}]\n"
      "  resourceClaims: [{name: g, resourceClaimName: x}]\n";
  const auto fixed = fix_manifest(file, nullptr, "default");
  ASSERT_TRUE(fixed) << fixed.error().message();
  EXPECT_EQ(fixed->text, file);
  EXPECT_FALSE(fix_manifest("[", nullptr, "default"));
}

}  // namespace
}  // namespace dra::inspect::lint_test
