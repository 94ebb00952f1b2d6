#include "controllers/allocation/pod_facts.h"

#include "pkg/protocol/extended_claim.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

bool is_releasing(Role role, const Options& options) {
  return options.release_gates && role == Role::kGated;
}

bool is_served_by_claim(const api::Pod& pod, Role role, const std::vector<ExtendedResource>& extended,
                        const Options& options) {
  return !extended.empty() && options.mode == Mode::kBind && (role == Role::kToBind || role == Role::kGated) &&
         !is_releasing(role, options) && is_ours_to_bind(pod, options);
}

PodFacts derive_facts(const View& view, const api::Pod& pod, const Options& options) {
  PodFacts facts;
  facts.role = role_of(pod, options);
  facts.extended = extended_resources_of(view, pod);
  facts.state = derive_state(view, pod, options, facts.extended);
  if (facts.role != Role::kToBind || facts.extended.empty()) return facts;
  // Without a claim the pod goes on only to nodes whose device plugins serve all (pod/bind_extended.h).
  facts.claimed.emplace();
  if (facts.state.extended) facts.claimed = claimed_by(pod, facts.extended, *facts.state.extended);
  return facts;
}

}  // namespace dra::allocation
