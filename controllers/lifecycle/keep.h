// Whether a claim's devices are kept, for how long, and why no longer (docs/design/keep.md). Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pkg/inventory/inventory.h"
#include "pkg/protocol/keep.h"
#include "pkg/reconcile/effect.h"
#include "pkg/reconcile/view.h"

namespace dra::lifecycle {

struct Keeping {
  // What our entry in status.reservedFor is to say; nothing: there is to be none.
  std::optional<protocol::Keep> entry;
  // There is an entry, and is to be none: why, as a clause.
  std::string ended;
  bool taken = false;  // by a pod of a higher priority
  // The annotation asks for it in vain: why, and what to do.
  std::string refused;
  // Nothing changes the claim when this time is over.
  std::optional<Duration> again;
};

// What decides beside the claim. `inventory` null: its devices are not judged.
struct KeepFacts {
  const reconcile::View& view;
  const inventory::Inventory* inventory = nullptr;
  const std::vector<std::string>& ignored_taints;  // --ignore-taints
  bool ends_all = false;                           // before an uninstall
};

// `users`: the consumers that the claim is to have beside our entry.
Keeping judge_keeping(const KeepFacts& facts, const api::ResourceClaim& claim,
                      const std::vector<api::ResourceClaimConsumerReference>& users);

}  // namespace dra::lifecycle
