// StorageFacts and WorkloadFacts: what filters read about volumes and about the controllers of pods, by name.
//
// Plain stores: the code that watches these kinds adds and removes the objects. Not thread-safe.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "pkg/api/storage.h"

namespace dra::placement {

template <class T>
class ObjectsByKey {
 public:
  void set(std::shared_ptr<const T> object) {
    ++version_;
    std::string key = object->metadata.key();
    objects_[std::move(key)] = std::move(object);
  }
  void remove(const std::string& key) { version_ += objects_.erase(key); }
  // Grows with every change.
  uint64_t version() const { return version_; }
  // nullptr when there is none. `key`: "namespace/name", or the name of a cluster-scoped object.
  const T* find(const std::string& key) const {
    const auto found = objects_.find(key);
    return found == objects_.end() ? nullptr : found->second.get();
  }
  std::shared_ptr<const T> shared(const std::string& key) const {
    const auto found = objects_.find(key);
    return found == objects_.end() ? nullptr : found->second;
  }
  auto begin() const { return objects_.begin(); }
  auto end() const { return objects_.end(); }
  bool empty() const { return objects_.empty(); }

 private:
  std::map<std::string, std::shared_ptr<const T>> objects_;
  uint64_t version_ = 0;
};

// Objects that are also looked up by one of their fields.
template <class T, std::string T::*Field>
class ObjectsByField {
 public:
  void set(std::shared_ptr<const T> object) {
    const std::string key = object->metadata.key();
    remove(key);
    by_field_[(*object).*Field][key] = object.get();
    all_.set(std::move(object));
  }
  void remove(const std::string& key) {
    const T* known = all_.find(key);
    if (!known) return;
    const auto group = by_field_.find(known->*Field);
    group->second.erase(key);
    if (group->second.empty()) by_field_.erase(group);
    all_.remove(key);
  }
  const T* find(const std::string& key) const { return all_.find(key); }
  std::shared_ptr<const T> shared(const std::string& key) const { return all_.shared(key); }
  uint64_t version() const { return all_.version(); }
  // By key; empty when there are none.
  const std::map<std::string, const T*>& with(const std::string& value) const {
    static const std::map<std::string, const T*> kNone;
    const auto group = by_field_.find(value);
    return group == by_field_.end() ? kNone : group->second;
  }

 private:
  ObjectsByKey<T> all_;
  std::unordered_map<std::string, std::map<std::string, const T*>> by_field_;
};

struct StorageFacts {
  ObjectsByKey<api::PersistentVolumeClaim> claims;
  ObjectsByField<api::PersistentVolume, &api::PersistentVolume::storage_class_name> volumes;
  ObjectsByKey<api::StorageClass> classes;
  ObjectsByKey<api::CsiNode> csi_nodes;
  ObjectsByKey<api::CsiDriver> csi_drivers;
  ObjectsByField<api::CsiStorageCapacity, &api::CsiStorageCapacity::storage_class_name> capacities;
  ObjectsByField<api::VolumeAttachment, &api::VolumeAttachment::node_name> attachments;
  // Grows with every change.
  uint64_t version() const {
    return claims.version() + volumes.version() + classes.version() + csi_nodes.version() + csi_drivers.version() +
           capacities.version() + attachments.version();
  }
};

struct WorkloadFacts {
  ObjectsByKey<api::Service> services;
  ObjectsByKey<api::ReplicationController> replication_controllers;
  ObjectsByKey<api::ReplicaSet> replica_sets;
  ObjectsByKey<api::StatefulSet> stateful_sets;
};

// The claim has its volume, and kube-controller-manager has finished binding both.
bool is_bound(const api::PersistentVolumeClaim& claim);
// The class of a claim: its beta annotation or spec.storageClassName; "" without one.
std::string class_of(const api::PersistentVolumeClaim& claim);
// "namespace/name" of the claim that a volume of the pod uses; "" when the volume is not a claim.
std::string claim_key(const std::string& ns, const std::string& pod_name, const api::PodVolume& volume);

}  // namespace dra::placement
