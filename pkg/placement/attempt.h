// Attempt: one pod while it is decided; the state that plugins (plugins.h) share. Internal to pkg/placement.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pkg/placement/cluster.h"
#include "pkg/placement/decision.h"
#include "pkg/placement/node_matcher.h"

namespace dra::placement {

struct Attempt {
  Attempt(const Cluster& c, const PodNeeds& n, const DecisionOptions& o) : cluster(c), needs(n), options(o) {}

  const Cluster& cluster;
  const PodNeeds& needs;
  const DecisionOptions& options;
  Decision decision;
  std::unique_ptr<NodeMatcher> node_matcher;  // nodeSelector and required node affinity

  const api::Pod& pod() const { return needs.pod(); }
  bool stopped() const { return decision.error || decision.pod_refused_by != Plugin::kNone; }
  void refuse_pod(Plugin plugin, std::string reason) {
    decision.pod_refused_by = plugin;
    decision.pod_reason = std::move(reason);
  }

  // Calls f(node) -> NodeRefusal for the candidates that no plugin has refused yet.
  template <class F>
  void filter(F&& f) {
    for (size_t i = 0; i < decision.candidates.size(); ++i)
      if (decision.verdicts[i].plugin == Plugin::kNone) decision.verdicts[i] = f(decision.candidates[i]);
  }
};

// A verdict with one reason, given by its position in the plugin's list.
inline NodeRefusal refuse(Plugin plugin, bool unresolvable, unsigned reason = 0) {
  return {plugin, unresolvable, uint64_t{1} << reason};
}

}  // namespace dra::placement
