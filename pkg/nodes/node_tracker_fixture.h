// Two nodes and two storage classes in a NodeTracker, for its tests.
#pragma once

#include <gtest/gtest.h>

#include "pkg/nodes/node_tracker.h"

namespace dra::nodes::node_tracker_test {

class NodeTrackerTest : public testing::Test {
 protected:
  NodeTrackerTest() : tracker(clock) {
    tracker.set_known(Facts::kVolumes, true, "");
    for (const char* name : {"n1", "n2"}) add_node(name);
    api::StorageClass local;
    local.metadata.name = "local";
    local.provisioner = "kubernetes.io/no-provisioner";
    local.volume_binding_mode = "WaitForFirstConsumer";
    tracker.storage().classes.set(std::make_shared<api::StorageClass>(local));
    local.metadata.name = "fast";
    local.provisioner = "fast.example.com";
    tracker.storage().classes.set(std::make_shared<api::StorageClass>(local));
  }
  void add_node(const std::string& name) {
    auto node = std::make_shared<api::Node>();
    node->metadata.name = name;
    node->metadata.labels["kubernetes.io/hostname"] = name;
    node->allocatable = {{"cpu", "2"}, {"memory", "1Gi"}, {"pods", "10"}};
    tracker.set_node(node);
  }
  static api::Pod pod(const std::string& name, const std::string& claim = "", const std::string& cpu = "1") {
    api::Pod made;
    made.metadata.ns = "default";
    made.metadata.name = made.metadata.uid = name;
    made.phase = "Pending";
    api::Container container;
    container.requests["cpu"] = cpu;
    made.containers.push_back(container);
    if (!claim.empty()) {
      api::PodVolume volume;
      volume.name = "data";
      volume.claim_name = claim;
      made.volumes.push_back(volume);
    }
    return made;
  }
  void add_claim(const std::string& name, const std::string& storage_class, const std::string& volume = "") {
    auto claim = std::make_shared<api::PersistentVolumeClaim>();
    claim->metadata.ns = "default";
    claim->metadata.name = claim->metadata.uid = name;
    claim->storage_class_name = storage_class;
    claim->storage = "1Gi";
    claim->phase = volume.empty() ? "Pending" : "Bound";
    claim->volume_name = volume;
    if (!volume.empty()) claim->metadata.annotations["pv.kubernetes.io/bind-completed"] = "yes";
    tracker.volumes().set(claim);
  }
  std::shared_ptr<api::PersistentVolume> add_volume(const std::string& name, const std::string& node) {
    auto volume = std::make_shared<api::PersistentVolume>();
    volume->metadata.name = name;
    volume->storage_class_name = "local";
    volume->storage = "1Gi";
    volume->phase = "Available";
    volume->node_affinity = api::NodeSelector{{api::NodeSelectorTerm{{{"kubernetes.io/hostname", "In", {node}}}, {}}}};
    tracker.volumes().set(std::shared_ptr<const api::PersistentVolume>(volume));
    return volume;
  }
  std::string chosen(const api::Pod& pod) {
    std::string names;
    for (const std::string_view name : tracker.choose(pod, {}).nodes)
      names += (names.empty() ? "" : " ") + std::string(name);
    return names;
  }

  ManualClock clock;
  NodeTracker tracker;
};

}  // namespace dra::nodes::node_tracker_test
