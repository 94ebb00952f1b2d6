// The fixture of this package's tests: two nodes with two devices each, and a text of what one reconcile of a pod does.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controllers/allocation/allocation.h"
#include "controllers/allocation/protocol.h"
#include "pkg/api/selectors.h"
#include "pkg/base/timestamp.h"
#include "pkg/protocol/memory_view.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"
#include "test/support/objects.h"
#include "test/support/whole_controller.h"

namespace dra::allocation {

class FakeNodes : public nodes::NodeChooser {
 public:
  std::vector<std::string> names{"n1", "n2"};
  std::set<std::string> refused;  // full, cordoned, ...
  bool depends_on_pods = false;
  bool depends_on_capacity = true;
  bool watch_lags = false;
  std::map<std::string, allocator::NodeFacts> facts;  // of all nodes, or of none
  nodes::NodeChoice choose(const api::Pod&, const std::vector<std::string>& only) override {
    nodes::NodeChoice choice;
    choice.depends_on_pods = depends_on_pods;
    choice.depends_on_capacity = depends_on_capacity;
    choice.watch_lags = watch_lags;
    for (const std::string& name : names)
      if (!refused.contains(name) && (only.empty() || std::find(only.begin(), only.end(), name) != only.end()))
        choice.nodes.push_back(name);
    if (!facts.empty())
      for (const std::string_view node : choice.nodes) choice.facts.push_back(facts.at(std::string(node)));
    if (choice.nodes.empty()) choice.why_none = "0/2 nodes are available: 2 Insufficient cpu.";
    return choice;
  }
  bool matches(const api::NodeSelector& selector, const std::string& node) override {
    if (std::find(names.begin(), names.end(), node) == names.end()) return false;
    return api::matches(selector, node, node_labels[node]);
  }
  std::map<std::string, api::StringMap> node_labels;
  std::vector<std::string> all_nodes() override { return names; }
  std::map<std::string, std::string> labels;  // of every namespace
  std::optional<std::string> namespace_label(const std::string&, const std::string& key) override {
    const auto found = labels.find(key);
    return found == labels.end() ? "" : found->second;
  }
  JobPolicy job;  // of every Job
  JobPolicy job_policy(const std::string&, const std::string&, const std::string&) override { return job; }
  nodes::VolumeNeeds volume_needs;
  nodes::VolumeNeeds volumes(const api::Pod&, const std::string&) override { return volume_needs; }
};

// A view whose changes the test tells the reconciler, like the manager's.
class WatchedView : public protocol::MemoryView {
 public:
  std::shared_ptr<const api::Pod> watched_pod(std::string_view key) const override {
    return std::shared_ptr<const api::Pod>(std::shared_ptr<void>(), pod(key));
  }
};

class AllocationTest : public testing::Test {
 protected:
  AllocationTest() : random(1), allocator(inventory, {}, random) {
    for (const char* node : {"n1", "n2"}) {
      inventory.apply_node(node, {});
      inventory.apply_slice(test::local_slice("gpu.example.com", node, "gpu-", 2));
    }
    api::DeviceClass gpu;
    gpu.metadata.name = "gpu";
    inventory.apply_class(gpu);
    options.scheduler_names = {"ours"};
  }

  api::Pod make_pod(const std::string& name, std::vector<std::string> claims, bool gated = true) {
    auto pod = test::named<api::Pod>(name);
    pod.metadata.resource_version = "11";
    pod.phase = "Pending";
    for (const std::string& claim : claims) pod.resource_claims.push_back({claim, claim, std::nullopt});
    if (gated) pod.scheduling_gates = {std::string(kAllocationGate)};
    return pod;
  }
  api::ResourceClaim make_claim(const std::string& name, int count = 1) {
    auto claim = test::named<api::ResourceClaim>(name);
    claim.metadata.resource_version = "5";
    claim.metadata.creation_timestamp = format_rfc3339(view.time - std::chrono::seconds(2));
    claim.spec.requests = {test::exactly("gpu", "gpu", count)};
    return claim;
  }
  api::AllocationResult on(const std::string& node, const std::string& device) {
    api::AllocationResult allocation;
    api::DeviceRequestAllocationResult result;
    result.request = "gpu";
    result.driver = "gpu.example.com";
    result.pool = node;
    result.device = device;
    allocation.results.push_back(result);
    allocation.node_selector = api::NodeSelector{{{{}, {{"metadata.name", "In", {node}}}}}};
    allocation.allocation_timestamp = "2026-01-01T00:00:00Z";
    return allocation;
  }
  // Puts a claim that we (or somebody else) allocated into view and inventory.
  api::ResourceClaim allocated(const std::string& name, const std::string& node, const std::string& device, bool ours,
                               std::vector<std::string> pods) {
    api::ResourceClaim claim = make_claim(name);
    claim.status.allocation = on(node, device);
    for (const std::string& pod : pods) claim.status.reserved_for.push_back({"", "pods", pod, pod + "-uid"});
    claim.metadata.managed_fields.push_back(
        {ours ? std::string(protocol::kAllocationManager) : "kube-scheduler", "Update", "status"});
    put(claim);
    return claim;
  }
  void put(const api::ResourceClaim& claim) {
    view.put(claim);
    inventory.apply_claim(claim);
  }
  api::ResourceClaim proven(api::ResourceClaim claim, const std::string& pod) {
    claim.metadata.finalizers = {std::string(api::kDeleteProtectionFinalizer)};
    claim.metadata.annotations[std::string(protocol::kProofAnnotation)] =
        protocol::proof_value(pod + "-uid", *claim.status.allocation);
    std::string users;
    for (const api::ResourceClaimConsumerReference& consumer : claim.status.reserved_for)
      users += (users.empty() ? "" : ",") + consumer.name + "/" + consumer.uid;
    claim.metadata.annotations[std::string(protocol::kProvenForAnnotation)] = users;
    put(claim);
    view.emitted[{pod + "-uid", "Allocated"}] = "with the proof";
    return claim;
  }
  // What a reconcile of pod "p" does: purposes of writes, reasons of events, "parked", "retry".
  std::string pass(const std::string& pod = "p") {
    test::WholeController reconciler(parts(options, inventory, allocator, nodes));
    last = reconciler.reconcile(view, reconcile::pod_key("default/" + pod));
    // Everybody's turn comes at once.
    if (!last.at_its_turn.empty() && last.park) last.park_unless_written = std::exchange(last.park, std::nullopt);
    for (reconcile::Effect& effect : last.at_its_turn) last.effects.push_back(std::move(effect));
    std::string did;
    const auto say = [&did](const std::string& what) { did += (did.empty() ? "" : ", ") + what; };
    for (const reconcile::Effect& effect : last.effects) {
      if (const reconcile::Write* write = std::get_if<reconcile::Write>(&effect))
        say(write->purpose + " " + write->object.name);
      if (const reconcile::Event* event = std::get_if<reconcile::Event>(&effect);
          event && !(quiet_claims && event->regarding.kind == reconcile::Kind::kClaim))
        say("event " + event->reason);
    }
    if (last.park) say("parked");
    if (!last.retry.empty()) say("retry");
    return did;
  }
  // Marks the events of the last reconcile as emitted.
  void remember() {
    for (const reconcile::Effect& effect : last.effects)
      if (const reconcile::Event* event = std::get_if<reconcile::Event>(&effect))
        view.emitted[{event->regarding.uid, event->reason.str()}] = event->signature;
  }
  // Notes do not count.
  const reconcile::Write& write(size_t i = 0) const {
    for (const reconcile::Effect& effect : last.effects)
      if (!std::holds_alternative<reconcile::Note>(effect) && i-- == 0) return std::get<reconcile::Write>(effect);
    throw std::logic_error("no write");
  }
  nlohmann::json body(size_t i = 0) const;  // of a write
  // The notes of the last reconcile are kept, as the manager keeps them until the write's answer comes.
  void keep_notes() {
    for (const reconcile::Effect& effect : last.effects)
      if (const auto* note = std::get_if<reconcile::Note>(&effect))
        view.notes[{note->uid, note->topic}] = {note->text, view.time};
  }
  const reconcile::Event& event() const {
    for (const reconcile::Effect& effect : last.effects)
      if (const reconcile::Event* found = std::get_if<reconcile::Event>(&effect)) return *found;
    throw std::logic_error("no event");
  }

  SeededRandom random;
  inventory::Inventory inventory;
  allocator::Allocator allocator;
  FakeNodes nodes;
  protocol::MemoryView view;
  Options options;
  bool quiet_claims = false;  // pass() leaves out events about claims
  reconcile::ReconcileResult last;
};

}  // namespace dra::allocation
