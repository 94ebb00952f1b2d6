// dra-conformance placement: pods, nodes and storage with the answers of kube-scheduler's default profile.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "cmd/command.h"
#include "cmd/dra-conformance/lines.h"
#include "cmd/flag_values.h"
#include "pkg/api/decode/decode.h"
#include "pkg/api/storage.h"
#include "pkg/placement/decide.h"
#include "pkg/placement/decision.h"

namespace dra::conformance {
namespace {

using nlohmann::json;
using placement::Cluster;
using placement::Decision;
using placement::Plugin;

// Aspects of an answer, each judged separately.
const std::vector<std::string> kAspects = {"feasible", "refusals", "scores", "volumes"};

template <class T>
T decoded(const json& object) {
  Result<T> out = api::decode<T>(object.dump());
  if (!out) throw std::runtime_error(out.error().message());
  return std::move(*out);
}

template <class T, class F>
void each(const json& line, const char* name, F&& f) {
  if (!line.contains(name)) return;
  for (const json& object : line[name]) f(std::make_shared<const T>(decoded<T>(object)));
}

// The API server gives every pod a uid; cases leave it out where it does not matter.
api::Pod pod_of(const json& object) {
  api::Pod pod = decoded<api::Pod>(object);
  if (pod.metadata.uid.empty()) pod.metadata.uid = "uid-" + pod.metadata.ns + "-" + pod.metadata.name;
  return pod;
}

void fill(Cluster& cluster, const json& line) {
  each<api::Node>(line, "nodes", [&](auto node) { cluster.set_node(std::move(node)); });
  each<api::Namespace>(line, "namespaces",
                       [&](auto ns) { cluster.set_namespace(ns->metadata.name, ns->metadata.labels); });
  auto& storage = cluster.storage;
  each<api::PersistentVolumeClaim>(line, "persistentVolumeClaims", [&](auto o) { storage.claims.set(std::move(o)); });
  each<api::PersistentVolume>(line, "persistentVolumes", [&](auto o) { storage.volumes.set(std::move(o)); });
  each<api::StorageClass>(line, "storageClasses", [&](auto o) { storage.classes.set(std::move(o)); });
  each<api::CsiNode>(line, "csiNodes", [&](auto o) { storage.csi_nodes.set(std::move(o)); });
  each<api::CsiDriver>(line, "csiDrivers", [&](auto o) { storage.csi_drivers.set(std::move(o)); });
  each<api::CsiStorageCapacity>(line, "csiStorageCapacities", [&](auto o) { storage.capacities.set(std::move(o)); });
  each<api::VolumeAttachment>(line, "volumeAttachments", [&](auto o) { storage.attachments.set(std::move(o)); });
  each<api::Service>(line, "services", [&](auto o) { cluster.workloads.services.set(std::move(o)); });
  each<api::ReplicaSet>(line, "replicaSets", [&](auto o) { cluster.workloads.replica_sets.set(std::move(o)); });
  if (!line.contains("pods")) return;
  for (const json& object : line["pods"]) {
    const api::Pod pod = pod_of(object);
    if (!pod.terminal()) cluster.set_pod(pod, pod.node_name, false);
  }
}

const char* code_of(bool unresolvable) {
  return unresolvable ? "UnschedulableAndUnresolvable" : "Unschedulable";
}

json refused_by_name() {
  return {{"plugin", ""}, {"code", code_of(true)}, {"reasons", {"node(s) didn't satisfy plugin(s) [NodeAffinity]"}}};
}

json refusals_of(const Cluster& cluster, const Decision& decision) {
  json out = json::object();
  if (decision.narrowed_by_name)
    for (const placement::NodeIndex node : cluster.nodes()) out[cluster.rest(node).name] = refused_by_name();
  for (size_t i = 0; i < decision.candidates.size(); ++i) {
    const placement::NodeRefusal& verdict = decision.verdicts[i];
    const std::string& name = cluster.rest(decision.candidates[i]).name;
    out.erase(name);
    if (verdict.plugin == Plugin::kNone) continue;
    out[name] = {{"plugin", std::string(plugin_name(verdict.plugin))},
                 {"code", code_of(verdict.unresolvable)},
                 {"reasons", decision.reasons(verdict)}};
  }
  return out;
}

json answer_of(const Cluster& cluster, const Decision& decision) {
  json out = {{"feasible", json::array()}, {"refused", json::object()}, {"scores", json::object()}};
  if (decision.error) {
    out["error"] = *decision.error;
    return out;
  }
  if (decision.pod_refused_by != Plugin::kNone) {
    out["prefilter"] = {{"plugin", std::string(plugin_name(decision.pod_refused_by))},
                        {"code", code_of(true)},
                        {"reasons", {decision.pod_reason}}};
    return out;
  }
  out["refused"] = refusals_of(cluster, decision);
  std::vector<std::string> names;
  for (const placement::RankedNode& node : decision.nodes) {
    const std::string& name = cluster.rest(node.node).name;
    names.push_back(name);
    out["scores"][name] = node.score;
    const auto plan = decision.plans.find(node.node);
    if (plan == decision.plans.end()) continue;
    json volumes = json::object();
    if (!plan->second.bind.empty()) volumes["bind"] = plan->second.bind;
    if (!plan->second.provision.empty()) volumes["provision"] = plan->second.provision;
    if (!volumes.empty()) out["volumes"][name] = volumes;
  }
  std::sort(names.begin(), names.end());
  out["feasible"] = names;
  return out;
}

json member(const json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || found->empty() ? json() : *found;
}

// The first aspect in which two answers differ; empty when they agree.
std::vector<std::string> differences(const json& expected, const json& got) {
  std::vector<std::string> out;
  if (expected.contains("error") || got.contains("error")) {
    if (expected.contains("error") != got.contains("error")) out.push_back("feasible");
    return out;
  }
  if (member(expected, "feasible") != member(got, "feasible")) out.push_back("feasible");
  if (member(expected, "prefilter") != member(got, "prefilter") ||
      member(expected, "refused") != member(got, "refused"))
    out.push_back("refusals");
  if (member(expected, "scores") != member(got, "scores")) out.push_back("scores");
  if (member(expected, "volumes") != member(got, "volumes")) out.push_back("volumes");
  return out;
}

struct PlacementFlags {
  std::string in;
  std::string out;
  int max_failures = 5;
  std::vector<std::string> skip;
};

struct PlacementTally {
  uint64_t passed = 0, failed = 0;
  std::map<std::string, uint64_t> wrong;  // by aspect
};

json run_case(const json& line) {
  Cluster cluster;
  fill(cluster, line);
  const api::Pod pod = pod_of(line.at("pod"));
  placement::DecisionOptions options;
  options.keep_plans = true;
  const auto start = std::chrono::steady_clock::now();
  const Result<placement::PodNeeds> needs = placement::PodNeeds::of(pod);
  if (!needs) return {{"id", line.at("id")}, {"error", needs.error().message()}};
  const Decision decision = decide(cluster, *needs, options);
  const auto nanos = std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
  json out = answer_of(cluster, decision);
  out["id"] = line.at("id");
  out["nanos"] = nanos;
  return out;
}

void judge(const json& line, const json& got, const PlacementFlags& flags, PlacementTally& tally) {
  const std::vector<std::string> wrong = differences(line.at("expect"), got);
  if (wrong.empty()) {
    ++tally.passed;
    return;
  }
  for (const std::string& aspect : wrong) ++tally.wrong[aspect];
  if (static_cast<int>(tally.failed++) < flags.max_failures)
    std::cout << line.at("id").get<std::string>() << ": wrong " << wrong.front() << "\n  expected "
              << line.at("expect").dump() << "\n  got      " << got.dump() << "\n";
}

int run_placement(const std::vector<std::string>& arguments) {
  PlacementFlags flags;
  CLI::App app("Judges nodes for pods as kube-scheduler's default profile does", "dra-conformance placement");
  app.add_option("--in", flags.in, "file of cases, one a line; gzip is read, too")->required();
  app.add_option("--out", flags.out, "write answers here instead of judging them");
  app.add_option("--failures", flags.max_failures, "how many failures to print")
      ->check(cmd::in_range(0, 1'000'000, "whole number"));
  app.add_option("--skip", flags.skip, "id of a case to leave out; may be repeated");
  if (const auto code = cmd::parse_or_exit(app, arguments)) return *code;
  std::ofstream out;
  if (!flags.out.empty()) out.open(flags.out);
  if (!out) return cannot_write("placement", flags.out);
  PlacementTally tally;
  const bool read = each_line(locate(flags.in), [&](const std::string& text) {
    const json line = json::parse(text);
    if (std::find(flags.skip.begin(), flags.skip.end(), line.at("id").get<std::string>()) != flags.skip.end()) return;
    const json got = run_case(line);
    if (out.is_open())
      out << got.dump() << "\n";
    else
      judge(line, got, flags, tally);
  });
  if (!read) return cannot_read("placement", flags.in);
  if (out.is_open()) return out.flush() ? 0 : cannot_write("placement", flags.out);
  for (const std::string& aspect : kAspects) std::cout << aspect << ": " << tally.wrong[aspect] << " wrong\n";
  std::cout << tally.passed << " passed, " << tally.failed << " failed\n";
  return tally.failed == 0 ? 0 : 1;
}

const cmd::RegisterCommand kPlacement("placement", "nodes that fit a pod, scores and reasons", &run_placement);

}  // namespace
}  // namespace dra::conformance
