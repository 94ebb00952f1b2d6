// A redacted snapshot decides the same: random clusters, as they are, redacted, and redacted strictly.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "pkg/base/random.h"
#include "pkg/inspect/source/snapshot.h"
#include "pkg/inspect/state/state.h"

namespace dra::inspect {
namespace {

using nlohmann::json;

// Words of a user that a redacted text must not have.
constexpr const char* kUsers = "corp";

class RandomCluster {
 public:
  explicit RandomCluster(uint64_t seed) : random_(seed) {
    device_class("corp-any", "device.driver == 'gpu.corp.com'");
    device_class("corp-big",
                 "device.driver == 'gpu.corp.com' && device.capacity['gpu.corp.com'].memory.compareTo("
                 "quantity('40Gi')) >= 0");
    for (size_t i = 0, all = 2 + random_.below(5); i < all; ++i) node(i);
    for (size_t i = 0, all = 4 + random_.below(8); i < all; ++i) pod(i);
  }

  std::string snapshot(Redaction redaction) const {
    SnapshotWriter writer(redaction);
    for (const auto& [plural, items] : kinds_) EXPECT_TRUE(writer.add(plural, json{{"items", items}}.dump()));
    Objects objects;
    objects.taken = WallTime{std::chrono::seconds{1'800'000'000}};
    objects.server_version = "v1.36.2";
    return writer.bytes(objects);
  }

 private:
  bool chance(uint64_t one_of) { return random_.below(one_of) == 0; }
  static std::string numbered(const char* what, size_t i) {
    return std::string("corp-") + what + "-" + std::to_string(i);
  }
  json meta(const std::string& name, bool namespaced) {
    json out{{"name", name},
             {"uid", "corp-uid-" + std::to_string(++uids_)},
             {"resourceVersion", "7"},
             {"creationTimestamp", "2026-01-01T00:00:00Z"}};
    if (namespaced) out["namespace"] = "corp-team";
    return out;
  }
  json& add(const char* plural, json item) {
    kinds_[plural].push_back(std::move(item));
    return kinds_[plural].back();
  }

  void device_class(const std::string& name, const std::string& expression) {
    json selector;
    selector["cel"]["expression"] = expression;
    json item;
    item["metadata"] = meta(name, false);
    item["spec"]["selectors"].push_back(selector);
    add("deviceclasses", item);
  }

  void node(size_t i) {
    json item;
    item["metadata"] = meta(numbered("node", i), false);
    item["metadata"]["labels"]["kubernetes.io/hostname"] = numbered("node", i);
    item["metadata"]["labels"]["corp.com/zone"] = numbered("zone", random_.below(2));
    item["metadata"]["labels"]["corp.com/generation"] = std::to_string(random_.below(4));
    const json amounts{{"cpu", std::to_string(2 + random_.below(6))}, {"memory", "64Gi"}, {"pods", "20"}};
    item["status"]["capacity"] = item["status"]["allocatable"] = amounts;
    if (chance(3)) {
      json taint{
          {"key", "corp.com/dedicated"}, {"value", numbered("team", random_.below(2))}, {"effect", "NoSchedule"}};
      item["spec"]["taints"].push_back(taint);
    }
    add("nodes", item);
    json slice;
    slice["metadata"] = meta(numbered("slice", i), false);
    json& spec = slice["spec"];
    spec = {{"driver", "gpu.corp.com"}, {"nodeName", numbered("node", i)}};
    spec["pool"] = {{"name", numbered("node", i)}, {"generation", 1}, {"resourceSliceCount", 1}};
    for (size_t d = 0, all = 1 + random_.below(4); d < all; ++d) {
      json device{{"name", "gpu-" + std::to_string(d)}};
      device["attributes"]["model"]["string"] = chance(2) ? "Corp A" : "Corp B";
      device["attributes"]["root"]["string"] = "corp-root-" + std::to_string(random_.below(2));
      device["capacity"]["memory"]["value"] = chance(2) ? "80Gi" : "20Gi";
      if (chance(5)) {
        json taint{{"key", "corp.com/ecc"}, {"value", "bad"}, {"effect", "NoSchedule"}};
        device["taints"].push_back(taint);
      }
      spec["devices"].push_back(device);
    }
    add("resourceslices", slice);
  }

  void pod(size_t i) {
    json item;
    item["metadata"] = meta(numbered("pod", i), true);
    item["metadata"]["labels"]["corp.com/app"] = numbered("app", random_.below(2));
    json& spec = item["spec"];
    json container{{"name", "corp-main"}, {"image", "corp.com/img"}};
    container["resources"]["requests"]["cpu"] = std::to_string(1 + random_.below(2));
    spec["containers"].push_back(container);
    if (chance(3)) spec["nodeSelector"]["corp.com/zone"] = numbered("zone", random_.below(2));
    if (chance(3)) {
      json expression{{"key", "corp.com/generation"}, {"operator", "Gt"}};
      expression["values"].push_back("1");
      json term;
      term["matchExpressions"].push_back(expression);
      spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"].push_back(
          term);
    }
    if (chance(3)) {
      json term{{"topologyKey", "corp.com/zone"}};
      term["labelSelector"]["matchLabels"]["corp.com/app"] = numbered("app", random_.below(2));
      spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"].push_back(term);
    }
    if (chance(2)) {
      json toleration{{"key", "corp.com/dedicated"},
                      {"operator", "Equal"},
                      {"value", numbered("team", random_.below(2))},
                      {"effect", "NoSchedule"}};
      spec["tolerations"].push_back(toleration);
    }
    json entry{{"name", "corp-entry"}, {"resourceClaimName", numbered("claim", i)}};
    spec["resourceClaims"].push_back(entry);
    item["status"]["phase"] = "Pending";
    const bool runs = chance(3);
    if (runs) {
      spec["nodeName"] = numbered("node", 0);
      item["status"]["phase"] = "Running";
    }
    claim(i, runs, item["metadata"]["uid"]);
    add("pods", item);
  }

  void claim(size_t i, bool runs, const std::string& pod_uid) {
    json item;
    item["metadata"] = meta(numbered("claim", i), true);
    json request{{"name", "corp-request"}};
    json& exactly = request["exactly"];
    exactly = {{"deviceClassName", chance(2) ? "corp-any" : "corp-big"}, {"count", 1 + random_.below(2)}};
    if (chance(3)) {
      json selector;
      selector["cel"]["expression"] = "device.attributes['gpu.corp.com'].model == 'Corp A'";
      exactly["selectors"].push_back(selector);
    }
    json& devices = item["spec"]["devices"];
    devices["requests"].push_back(request);
    if (chance(2)) devices["constraints"].push_back(json{{"matchAttribute", "gpu.corp.com/root"}});
    if (runs && !taken_) {
      taken_ = true;
      json result{
          {"request", "corp-request"}, {"driver", "gpu.corp.com"}, {"pool", numbered("node", 0)}, {"device", "gpu-0"}};
      item["status"]["allocation"]["devices"]["results"].push_back(result);
      json consumer{{"resource", "pods"}, {"name", numbered("pod", i)}, {"uid", pod_uid}};
      item["status"]["reservedFor"].push_back(consumer);
    }
    add("resourceclaims", item);
  }

  SeededRandom random_;
  std::map<std::string, json> kinds_;
  size_t uids_ = 0;
  bool taken_ = false;
};

// What is decided about each waiting pod, by the places of pods, nodes and devices among their kind.
std::string decisions_in(const std::string& bytes, const std::string& name) {
  const auto objects = read_snapshot_bytes(bytes, name);
  EXPECT_TRUE(objects) << objects.error().message();
  if (!objects) return "";
  EXPECT_TRUE(objects->unreadable.empty());
  std::map<std::string, size_t> node_numbers;
  for (const auto& [node, object] : objects->nodes) node_numbers.emplace(node, node_numbers.size());
  State state(*objects, {});
  std::string text;
  size_t number = 0;
  for (const auto& [key, pod] : objects->pods) {
    text += "pod " + std::to_string(number++) + ": ";
    const auto claims = claims_of(*objects, *pod);
    EXPECT_TRUE(claims) << claims.error().message();
    if (!claims || !pod->node_name.empty()) {
      text += "runs\n";
      continue;
    }
    const Placed placed = state.place(pod.get(), *claims);
    text += std::string(allocator::outcome_name(placed.outcome));
    if (placed.outcome == allocator::Outcome::kFeasible) text += " on " + std::to_string(node_numbers.at(placed.node));
    for (const api::AllocationResult& result : placed.results)
      for (const auto& device : result.results) {
        // The place of the device in its slice.
        for (const auto& [slice_name, slice] : objects->slices)
          for (size_t i = 0; i < slice->devices.size(); ++i)
            if (slice->pool.name == device.pool && slice->devices[i].name == device.device)
              text += " " + std::to_string(i);
      }
    text += "\n";
    if (placed.outcome == allocator::Outcome::kFeasible) state.take(pod.get(), *claims, placed);
  }
  return text;
}

TEST(Redactor, ARedactedClusterDecidesTheSame) {
  size_t fit = 0, refused = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    const RandomCluster cluster(seed);
    const std::string as_it_is = decisions_in(cluster.snapshot(Redaction::kNone), "as it is");
    EXPECT_EQ(decisions_in(cluster.snapshot(Redaction::kNames), "redacted"), as_it_is);
    EXPECT_EQ(decisions_in(cluster.snapshot(Redaction::kStrict), "strict"), as_it_is);
    fit += as_it_is.find(" on ") != std::string::npos;
    refused += as_it_is.find("Infeasible") != std::string::npos;
  }
  EXPECT_GT(fit, 50u) << "the clusters are too full to say anything";
  EXPECT_GT(refused, 50u) << "the clusters are too empty to say anything";
}

TEST(Redactor, AStrictlyRedactedClusterHasNoWordOfItsUser) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto objects = read_snapshot_bytes(RandomCluster(seed).snapshot(Redaction::kStrict), "strict");
    ASSERT_TRUE(objects);
    for (const auto& [name, slice] : objects->slices)
      for (const std::string& text : {name, slice->driver, slice->pool.name, slice->node_name})
        EXPECT_EQ(text.find(kUsers), std::string::npos) << text;
    for (const auto& [name, device_class] : objects->classes)
      for (const std::string& selector : device_class->selectors)
        EXPECT_EQ((name + selector).find(kUsers), std::string::npos) << name << " " << selector;
  }
}

}  // namespace
}  // namespace dra::inspect
