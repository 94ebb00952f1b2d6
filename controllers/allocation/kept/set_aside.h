// A question to the inventory with other claims than there are; the destructors restore it. Not thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pkg/api/resource.h"
#include "pkg/inventory/inventory.h"

namespace dra::allocation {

// While it lives the claims hold nothing, but for those that were put back. None of them may be assumed.
class SetAside {
 public:
  using Claims = std::vector<std::shared_ptr<const api::ResourceClaim>>;
  SetAside(inventory::Inventory& inventory, const Claims& claims) : inventory_(inventory), claims_(claims) {
    for (const auto& claim : claims_) set_aside(*claim);
  }
  ~SetAside() {
    for (const auto& claim : claims_) put_back(*claim);
  }
  SetAside(const SetAside&) = delete;
  SetAside& operator=(const SetAside&) = delete;
  void put_back(const api::ResourceClaim& claim) { inventory_.apply_claim(claim); }
  void set_aside(const api::ResourceClaim& claim) { inventory_.remove_claim(claim.metadata.uid); }

 private:
  inventory::Inventory& inventory_;
  const Claims& claims_;
};

// While it lives the claims, which have no allocation, hold these devices.
class Supposed {
 public:
  Supposed(inventory::Inventory& inventory, const std::vector<std::shared_ptr<const api::ResourceClaim>>& claims,
           const std::vector<api::AllocationResult>& devices)
      : inventory_(inventory) {
    for (size_t i = 0; i < claims.size(); ++i) {
      uids_.push_back(claims[i]->metadata.uid);
      inventory_.assume(uids_.back(), devices.at(i), claims[i].get());
    }
  }
  ~Supposed() {
    for (const std::string& uid : uids_) inventory_.forget(uid);
  }
  Supposed(const Supposed&) = delete;
  Supposed& operator=(const Supposed&) = delete;
  // Nothing that they hold is given out twice.
  bool fits() const { return inventory_.over_commitments(uids_, inventory::Layer::kAll).empty(); }

 private:
  inventory::Inventory& inventory_;
  std::vector<std::string> uids_;
};

}  // namespace dra::allocation
