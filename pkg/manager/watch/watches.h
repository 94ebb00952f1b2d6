// What the manager watches. For the manager only.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "client/informer/informer.h"
#include "pkg/api/core.h"
#include "pkg/api/eviction.h"
#include "pkg/api/prepare_event.h"
#include "pkg/api/resource.h"

namespace dra::manager {

// The informers of everything that is watched; created once the served version is known.
struct Watches {
  // All must outlive it. `version`: of resource.k8s.io; `rule_version`: where DeviceTaintRules are served, else empty.
  Watches(Reactor& reactor, client::Transport& transport, Random& random, const std::string& version,
          const std::string& rule_version);

  template <typename F>
  void each(F&& f) {
    f("pods", pods);
    f("nodes", nodes);
    f("resourceclaims", claims);
    f("resourceclaimtemplates", templates);
    f("resourceslices", slices);
    f("deviceclasses", classes);
    f("poddisruptionbudgets", budgets);
    if (taint_rules) f("devicetaintrules", *taint_rules);
  }
  // The informers that run; the server would refuse the others.
  template <typename F>
  void each_started(F&& f) {
    each([&](const char* plural, auto& informer) {
      if (started.contains(plural)) f(plural, informer);
    });
  }
  bool synced() {
    bool all = true;
    each_started([&](const char*, auto& informer) { all = all && informer.synced(); });
    return all;
  }

  std::set<std::string_view> started;

  std::shared_ptr<client::ServerTraits> traits;
  client::Informer<api::Pod> pods;
  client::Informer<api::Node> nodes;
  client::Informer<api::ResourceClaim> claims;
  client::Informer<api::ResourceClaimTemplate> templates;
  client::Informer<api::ResourceSlice> slices;
  client::Informer<api::DeviceClass> classes;
  client::Informer<api::PodDisruptionBudget> budgets;
  std::optional<client::Informer<api::DeviceTaintRule>> taint_rules;
  // Started once the controller recovery may run. Not one of each(): everybody may write events, so nothing waits for
  // them, and their number makes nobody unready.
  client::Informer<api::PrepareEvent> prepare_events;
};

// Which objects cannot be read, and why the first cannot; empty: all can.
std::string unreadable_text(const client::Resource& resource, const client::Reflector& reflector);

}  // namespace dra::manager
