// MemoryView: a View over objects that a test or simulation puts in by hand. An object put in is in both layers, cache
// and watch, unless streamed_claims has a different state of it. Not thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "pkg/reconcile/view.h"

namespace dra::protocol {

class MemoryView : public reconcile::View {
 public:
  template <typename T>
  using Table = std::map<std::string, T, std::less<>>;

  // Tests change these between reconciles.
  Table<api::Pod> pods;
  Table<api::ResourceClaim> claims;
  Table<api::ResourceClaimTemplate> templates;
  Table<api::Node> nodes;
  Table<api::Namespace> namespaces;
  Table<api::DeviceClass> classes;
  Table<api::DeviceTaintRule> rules;
  Table<api::PodDisruptionBudget> pod_budgets;
  Table<api::PrepareEvent> prepare_events;
  std::map<reconcile::GroupApi, Table<api::PodGroup>> groups;
  std::map<reconcile::GroupApi, reconcile::GroupsKnown> known_groups;  // default: can be read
  // Claims whose state in the watch differs from `claims`.
  Table<api::ResourceClaim> streamed_claims;
  // By kind, store key, uid and LiveGet::seen.
  std::map<std::string, reconcile::Presence> live_answers;
  std::set<std::string, std::less<>> being_bound;                      // uids of pods
  std::map<std::string, Duration> ages;                                // by to_text(Key); default: one hour
  std::map<std::pair<std::string, std::string>, std::string> emitted;  // (uid, reason) -> signature
  std::map<std::string, uint64_t, std::less<>> tallies;                // by uid
  std::map<std::pair<std::string, std::string>, std::pair<std::string, WallTime>> notes;  // (uid, topic) -> text, since
  WallTime time{std::chrono::seconds{1'700'000'000}};
  api::IgnoredFields ignored;
  bool foreign_consumers = true;  // may_have_foreign_consumers()

  void put(api::Pod pod);
  void put(api::ResourceClaim claim);
  void put(api::ResourceClaimTemplate claim_template);
  void put(api::Node node);
  void put(api::DeviceClass device_class);
  void put(api::DeviceTaintRule rule);
  void put(api::PrepareEvent event);
  void live_get(const reconcile::Ref& object, reconcile::Presence presence, std::string_view seen = "");

  const api::Pod* pod(std::string_view key) const override;
  const api::ResourceClaim* claim(std::string_view key) const override;
  std::shared_ptr<const api::ResourceClaim> shared_claim(std::string_view key) const override;
  const api::ResourceClaimTemplate* claim_template(std::string_view key) const override;
  const api::Node* node(std::string_view name) const override;
  const api::Namespace* ns(std::string_view name) const override;
  const api::DeviceClass* device_class(std::string_view name) const override;
  std::vector<const api::DeviceClass*> device_classes() const override;
  const api::DeviceTaintRule* taint_rule(std::string_view name) const override;
  std::vector<const api::DeviceTaintRule*> taint_rules() const override;
  const api::ResourceClaim* streamed_claim(std::string_view key) const override;
  const api::Pod* streamed_pod(std::string_view key) const override { return pod(key); }
  std::vector<std::shared_ptr<const api::Pod>> all_pods() const override;
  std::vector<std::shared_ptr<const api::ResourceClaim>> all_streamed_claims() const override;
  std::optional<std::vector<std::shared_ptr<const api::PodDisruptionBudget>>> budgets() const override;
  std::vector<const api::PrepareEvent*> prepare_events_of(std::string_view pod_uid, size_t most) const override;
  std::vector<const api::ResourceClaim*> claims_controlled_by(std::string_view uid) const override;
  std::vector<const api::ResourceClaim*> claims_reserved_for(std::string_view pod_uid) const override;
  const api::ResourceClaim* allocated_claim(std::string_view uid) const override;
  std::vector<const api::ResourceClaim*> claims_on_pool_after(std::string_view driver, std::string_view pool,
                                                              std::string_view key, size_t most) const override;
  std::vector<const api::ResourceClaim*> claims_after(std::string_view key, size_t most) const override;
  std::vector<const api::ResourceClaim*> allocated_claims() const override;
  std::vector<const api::Pod*> pods_of_claim(std::string_view key) const override;
  std::vector<const api::Pod*> pods_of_template(std::string_view key) const override;
  std::vector<const api::Pod*> pods_of_volume_claim(std::string_view key) const override;
  std::vector<const api::Pod*> pods_of_group(std::string_view key) const override;
  std::vector<const api::Pod*> started_of_group(std::string_view key, size_t most) const override;
  const api::PodGroup* pod_group(reconcile::GroupApi api, std::string_view key) const override;
  reconcile::GroupsKnown groups_known(reconcile::GroupApi api) const override;
  std::vector<std::string> child_groups(std::string_view parent) const override;
  reconcile::Presence live_presence(const reconcile::Ref& object) const override {
    return live_presence_after(object, "");
  }
  reconcile::Presence live_presence_after(const reconcile::Ref& object, std::string_view seen) const override;
  bool is_being_bound(std::string_view pod_uid) const override { return being_bound.contains(pod_uid); }
  Duration unchanged_for(reconcile::Kind kind, std::string_view key) const override;
  std::optional<std::string> last_event(std::string_view uid, std::string_view reason) const override;
  bool has_event(std::string_view uid) const override;
  uint64_t tallied(std::string_view uid) const override;
  std::optional<Noted> note(std::string_view uid, std::string_view topic) const override;
  WallTime now() const override { return time; }
  const api::IgnoredFields& ignored_fields() const override { return ignored; }
  bool may_have_foreign_consumers() const override { return foreign_consumers; }
};

}  // namespace dra::protocol
