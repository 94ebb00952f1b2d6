// What is kept about the members of a group equals what deriving would give, after any changes of pods and claims.
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "controllers/allocation/allocation_fixture.h"
#include "controllers/allocation/kept/kept_members.h"
#include "pkg/base/timestamp.h"
#include "pkg/protocol/groups.h"
#include "pkg/protocol/users.h"

namespace dra::allocation::kept_members_property_test {

using namespace protocol;
using namespace reconcile;

namespace {

std::string text(const protocol::ClaimState& state) {
  std::ostringstream out;
  out << state.claim->metadata.key() << "#" << state.claim->metadata.uid << "@"
      << state.claim->metadata.resource_version << state.ours << state.unsure << state.proven << state.reserved
      << state.listed << state.in_stream << state.reserved_in_stream << " ";
  return out.str();
}

class KeptMembersProperty : public AllocationTest {
 protected:
  KeptMembersProperty() { options.mode = Mode::kBind; }

  size_t pick(size_t below) { return dice() % below; }
  bool rarely() { return pick(4) == 0; }

  static std::string pod_name(size_t i) { return "p" + std::to_string(i); }
  static std::string claim_name(size_t i) { return "c" + std::to_string(i); }

  // A pod of one of two Jobs, or of none, in any phase of its life, with any claims.
  api::Pod any_pod(const std::string& name) {
    api::Pod pod = make_pod(name, {});
    pod.metadata.uid = name + (rarely() ? "-uid2" : "-uid");
    pod.metadata.resource_version = std::to_string(++revision);
    pod.metadata.creation_timestamp = format_rfc3339(view.time - std::chrono::seconds(pick(3)));
    if (pick(5) > 0) {
      const std::string job = rarely() ? "job-2" : "job-1";
      pod.metadata.owner_references.push_back({"batch/v1", "Job", rarely() ? "other" : "train", job, true});
      pod.metadata.annotations[std::string(kGroupAnnotation)] = std::to_string(1 + pick(2));
    }
    if (rarely()) pod.scheduling_gates.clear(), pod.scheduler_name = pick(2) ? "ours" : "theirs";
    if (pick(8) == 0) pod.node_name = "n1";
    if (pick(8) == 0) pod.phase = pick(2) ? "Failed" : "Succeeded";
    for (size_t entry = 0; entry < pick(3); ++entry) {
      api::PodResourceClaim one;
      one.name = "e" + std::to_string(entry);
      if (pick(2) == 0) {
        one.resource_claim_name = claim_name(pick(kClaims));
      } else {
        one.resource_claim_template_name = "template";
        if (pick(2) == 0) pod.resource_claim_statuses.push_back({one.name, claim_name(pick(kClaims))});
      }
      pod.resource_claims.push_back(one);
    }
    return pod;
  }

  api::ResourceClaim any_claim(const std::string& name) {
    api::ResourceClaim claim = make_claim(name);
    claim.metadata.uid = name + (rarely() ? "-uid2" : "-uid");
    claim.metadata.resource_version = std::to_string(++revision);
    const std::string of = pod_name(pick(kPods));
    if (pick(3) == 0) claim.metadata.owner_references.push_back({"v1", "Pod", of, of + "-uid", true});
    if (rarely()) claim.metadata.deletion_timestamp = "2026-01-01T00:00:00Z";
    if (pick(2) == 0) {
      claim.status.allocation = on("n1", "gpu-0");
      claim.metadata.managed_fields.push_back(
          {rarely() ? "kube-scheduler" : std::string(kAllocationManager), "Update", "status"});
      if (pick(2) == 0) claim.status.reserved_for.push_back({"", "pods", of, of + "-uid"});
      if (pick(2) == 0) claim.metadata.annotations[std::string(kProvenForAnnotation)] = of + "/" + of + "-uid";
    }
    return claim;
  }

  // The name of a claim: one that pods name, or the one that is made for an entry of a pod.
  std::string any_claim_name() {
    if (!rarely()) return claim_name(pick(kClaims));
    const std::string pod = pod_name(pick(kPods));
    return generated_claim_name(pod, "e0", pod + "-uid");
  }

  void change() {
    if (const size_t what = pick(4); what == 0) {
      change_pod(pod_name(pick(kPods)));
    } else if (what == 1) {
      // The watch reaches another state of the claim, or is level with what was answered.
      const std::string key = "default/" + any_claim_name();
      const api::ResourceClaim* known = watched.streamed_claim(key);
      const std::optional<api::ResourceClaim> before = known ? std::optional(*known) : std::nullopt;
      if (pick(2) == 0)
        watched.streamed_claims.erase(key);
      else
        watched.streamed_claims.insert_or_assign(key, any_claim(key.substr(key.find('/') + 1)));
      kept.claim_changed(before ? &*before : nullptr, watched.streamed_claim(key));
    } else {
      change_claim(any_claim_name());
    }
  }

  void change_pod(const std::string& name) {
    const std::string key = "default/" + name;
    if (const auto found = watched.pods.find(key); found != watched.pods.end()) {
      kept.pod_changed(found->second);
      watched.pods.erase(found);
    }
    if (rarely()) return;
    watched.put(any_pod(name));
    kept.pod_changed(watched.pods.at(key));
  }

  void change_claim(const std::string& name) {
    const std::string key = "default/" + name;
    const api::ResourceClaim* known = watched.claim(key);
    const std::optional<api::ResourceClaim> before = known ? std::optional(*known) : std::nullopt;
    if (rarely())
      watched.claims.erase(key);
    else
      watched.put(any_claim(name));
    kept.claim_changed(before ? &*before : nullptr, watched.claim(key));
    // An object that was not streamed in another state is in both layers.
    kept.claim_changed(before ? &*before : nullptr, watched.streamed_claim(key));
  }

  std::optional<Membership> membership(std::string_view job) const {
    for (const auto& [key, pod] : watched.pods) {
      if (role_of(pod, options) != Role::kGated && role_of(pod, options) != Role::kToBind) continue;
      Membership found = membership_of(watched, pod);
      if (found.state == Membership::State::kMember && found.group.owner == job) return found;
    }
    return std::nullopt;
  }

  static std::string text(const GroupMembers& members, const std::function<PodState(size_t)>& state_of) {
    std::ostringstream out;
    out << members.min_count << " " << members.launched << "\n";
    for (size_t i = 0; i < members.waiting.size(); ++i) {
      const PodState state = state_of(i);
      out << members.waiting[i]->metadata.name << "@" << members.waiting[i]->metadata.resource_version << " "
          << state.waits_for << state.ordinary_wait << state.unpublished << " ";
      for (const protocol::ClaimState& claim : state.claims) out << kept_members_property_test::text(claim);
      out << "abandoned ";
      for (const protocol::ClaimState& claim : state.abandoned) out << kept_members_property_test::text(claim);
      out << "\n";
    }
    return out.str();
  }
  // What deriving gives now.
  std::string derived(const Membership& of) const {
    const GroupMembers members = members_of(watched, of, options);
    return text(members, [&](size_t i) { return derive_state(watched, *members.waiting[i], options); });
  }
  static std::string text(const MemberFacts& known) {
    return text(known.members, [&](size_t i) { return known.facts[i].state; });
  }

  static constexpr size_t kPods = 5, kClaims = 4;
  std::mt19937 dice;
  uint64_t revision = 100;
  WatchedView watched;
  KeptMembers kept;
};

TEST_F(KeptMembersProperty, WhatIsKeptEqualsWhatIsDerived) {
  constexpr uint32_t kSeeds = 60;
  size_t used = 0, dropped = 0;
  for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    dice.seed(seed);
    options.own_claims = seed % 2 == 0;
    watched.pods.clear();
    watched.claims.clear();
    watched.streamed_claims.clear();
    kept.forget_all();
    for (size_t step = 0; step < 300; ++step) {
      for (size_t changes = 1 + pick(3); changes > 0; --changes) change();
      for (const char* job : {"job-1", "job-2"}) {
        const std::optional<Membership> of = membership(job);
        if (!of) continue;
        std::shared_ptr<MemberFacts> known = kept.take(watched, options, *of);
        if (known) {
          ASSERT_EQ(text(*known), derived(*of)) << "step " << step;
          ++used;
        } else {
          ++dropped;
          known = std::make_shared<MemberFacts>(watched, options, *of, members_of(watched, *of, options));
        }
        kept.keep(watched, known);
      }
    }
  }
  EXPECT_GT(used, 5'000u);
  EXPECT_GT(dropped, 5'000u);
}

}  // namespace
}  // namespace dra::allocation::kept_members_property_test
