// Reaches: the pods that each DeviceTaintRule evicts, counted once in portions and then kept up to date by events, so
// that the guard (--max-evictions-per-rule) asks before every eviction without visiting all claims again.
//
// A pod is in a rule's reach if judge() names the rule. That depends on the rule, the pod and its claims alone, so the
// owner reports every change of a pod or a claim (changed()), and rules that changed or went (forget()).
// Not thread-safe. Bounded by the pods of the rules.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "controllers/tainteviction/rules.h"

namespace dra::tainteviction {

class Reaches {
 public:
  static constexpr size_t kClaimPortions = 4;   // of ClaimsOfRule::kAtOnce, in one call
  static constexpr size_t kPodsAtOnce = 1000;   // judged again after changes
  static constexpr size_t kMostStale = 20'000;  // of a rule that nobody asks about; after that, counted from the start

  // Nothing: it is still being counted; ask again. With effect None: as if the effect were NoExecute.
  std::optional<Reach> of(const reconcile::View& view, const inventory::Inventory& inventory,
                          const api::DeviceTaintRule& rule);
  void changed(const api::Pod& pod) { changed(pod.metadata.key()); }
  void changed(const reconcile::View& view, const api::ResourceClaim& claim);
  void forget(const api::DeviceTaintRule& rule) { known_.erase(rule.metadata.uid); }
  // Changes were missed.
  void forget_all() { known_.clear(); }

 private:
  void changed(const std::string& pod);
  struct Known {
    int64_t generation = 0;
    ClaimsOfRule claims;  // still to be counted
    size_t published_devices = 0;
    std::set<std::tuple<std::string, std::string, std::string>> allocated_devices;
    std::unordered_map<std::string, std::string> pods;  // key and namespace
    std::map<std::string, size_t> namespaces;           // and how many of these pods
    std::unordered_set<std::string> stale;              // keys of pods to be judged
  };

  static void judge_pod(const reconcile::View& view, const inventory::Inventory& inventory,
                        const api::DeviceTaintRule& rule, const std::string& key, Known& known);

  std::unordered_map<std::string, Known> known_;  // by uid of the rule
};

}  // namespace dra::tainteviction
