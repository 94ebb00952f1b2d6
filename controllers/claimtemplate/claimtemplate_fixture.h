// The fixture of this package's tests: what one reconcile of pod "p" returns.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "controllers/claimtemplate/claimtemplate.h"
#include "pkg/protocol/memory_view.h"
#include "pkg/protocol/pod_claims.h"
#include "test/support/objects.h"
#include "test/support/whole_controller.h"

namespace dra::claimtemplate {

inline api::Pod make_pod(const std::string& name, std::vector<std::string> entries) {
  auto pod = test::named<api::Pod>(name);
  pod.phase = "Pending";
  for (const std::string& entry : entries) pod.resource_claims.push_back({entry, std::nullopt, "tpl"});
  return pod;
}

inline api::ResourceClaimTemplate make_template(const std::string& name) {
  api::ResourceClaimTemplate made;
  made.metadata.ns = "default";
  made.metadata.name = name;
  made.spec_json = R"({"devices":{"requests":[{"name":"gpu","exactly":{"deviceClassName":"gpu"}}]}})";
  made.spec.requests.push_back({"gpu", api::DeviceSubRequest{}, {}});
  return made;
}

inline api::ResourceClaim make_claim(const std::string& name, const api::Pod& owner, const std::string& entry) {
  auto claim = test::named<api::ResourceClaim>(name);
  claim.metadata.resource_version = "1";
  claim.metadata.owner_references.push_back({"v1", "Pod", owner.metadata.name, owner.metadata.uid, true});
  if (!entry.empty()) claim.metadata.annotations[std::string(api::kPodClaimNameAnnotation)] = entry;
  return claim;
}

class ClaimTemplate : public testing::Test {
 protected:
  reconcile::ReconcileResult pass() { return reconciler.reconcile(view, reconcile::pod_key("default/p")); }
  std::vector<reconcile::Write> writes(const reconcile::ReconcileResult& outcome) {
    std::vector<reconcile::Write> found;
    for (const reconcile::Effect& effect : outcome.effects)
      if (const reconcile::Write* write = std::get_if<reconcile::Write>(&effect)) found.push_back(*write);
    return found;
  }
  template <typename T>
  std::vector<T> only(const reconcile::ReconcileResult& outcome) {
    std::vector<T> found;
    for (const reconcile::Effect& effect : outcome.effects)
      if (const T* one = std::get_if<T>(&effect)) found.push_back(*one);
    return found;
  }
  // The published entries that an apply carries: "entry=name".
  static std::vector<std::string> published(const reconcile::Write& write);
  std::string generated(const std::string& entry) const { return protocol::generated_claim_name("p", entry, "p-uid"); }

  protocol::MemoryView view;
  test::WholeController reconciler{parts(Options{})};
};

}  // namespace dra::claimtemplate
