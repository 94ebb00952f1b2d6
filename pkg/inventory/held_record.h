// HeldRecord: what an allocation recorded of one device (pkg/identity/record.h), as numbers of the inventory's texts.
#pragma once

#include <string>
#include <vector>

#include "pkg/api/resource.h"
#include "pkg/identity/face.h"
#include "pkg/identity/record.h"
#include "pkg/inventory/strings.h"

namespace dra::inventory {

// The entries of an allocation's own config. A claim's config is FromClaim, and never counts.
identity::Records recorded_in(const api::AllocationResult& allocation);

// `strings` must outlive it.
struct HeldRecord {
  HeldRecord(const identity::Record& record, Strings& strings);
  ~HeldRecord();
  HeldRecord(const HeldRecord&) = delete;
  HeldRecord& operator=(const HeldRecord&) = delete;
  identity::Face face() const { return {own, part_of, node}; }

  std::vector<identity::Value> own, part_of;
  StrId node = kNoStr, type = kNoStr;
  std::string node_text;
  bool shared = false;

 private:
  Strings& strings_;
};

}  // namespace dra::inventory
