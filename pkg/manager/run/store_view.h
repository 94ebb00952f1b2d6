// StoreView: the View that reconcilers get, over the stores of client/informer.
//
// Not thread-safe: the reactor's thread owns it and the stores.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "client/informer/store.h"
#include "pkg/manager/run/memory.h"
#include "pkg/reconcile/view.h"

namespace dra::manager {

// PodGroups, wherever they come from.
class GroupSource {
 public:
  virtual ~GroupSource() = default;
  virtual const api::PodGroup* find(reconcile::GroupApi api, std::string_view key) const = 0;
  virtual reconcile::GroupsKnown known(reconcile::GroupApi api) const = 0;
  // Keys of the PodGroups that name this one ("namespace/name") as the group above them.
  virtual std::vector<std::string> children(std::string_view parent) const = 0;
};

// The stores of all objects that reconcilers see. Pods and claims have the indexes of add_indexes().
struct Stores {
  client::Store<api::Pod>* pods = nullptr;
  client::Store<api::ResourceClaim>* claims = nullptr;
  client::Store<api::ResourceClaimTemplate>* templates = nullptr;
  client::Store<api::Node>* nodes = nullptr;
  client::Store<api::DeviceClass>* classes = nullptr;
  client::Store<api::ResourceSlice>* slices = nullptr;
  client::Store<api::DeviceTaintRule>* taint_rules = nullptr;  // null: not served
  const GroupSource* groups = nullptr;                         // null: PodGroups are not watched
  client::Store<api::PodDisruptionBudget>* budgets = nullptr;
  client::Store<api::PrepareEvent>* prepare_events = nullptr;
};

// Call once, before the stores fill.
void add_indexes(Stores& stores);
// Null: no allocated claim has this uid.
client::ObjectPtr<api::ResourceClaim> allocated_claim(const Stores& stores, std::string_view uid);

class StoreView : public reconcile::View {
 public:
  // Everything must outlive the view.
  StoreView(const Stores& stores, const Memory& memory, const Clock& clock, std::string dra_api_version)
      : stores_(stores), memory_(memory), clock_(clock), dra_api_version_(std::move(dra_api_version)) {}

  // The answers to the live GETs that the running key asked for, by live_get_key(). Null: none.
  void set_live_answers(const std::map<std::string, reconcile::Presence>* live_answers) {
    live_answers_ = live_answers;
  }
  // "kind:key#uid#seen"
  static std::string live_get_key(const reconcile::Ref& object, std::string_view seen);
  void set_dra_api_version(std::string version) { dra_api_version_ = std::move(version); }

  const api::Pod* pod(std::string_view key) const override;
  const api::ResourceClaim* claim(std::string_view key) const override;
  const api::ResourceClaimTemplate* claim_template(std::string_view key) const override;
  const api::Node* node(std::string_view name) const override;
  const api::Namespace* ns(std::string_view name) const override;
  const api::DeviceClass* device_class(std::string_view name) const override;
  std::vector<const api::DeviceClass*> device_classes() const override;
  const api::DeviceTaintRule* taint_rule(std::string_view name) const override;
  std::vector<const api::DeviceTaintRule*> taint_rules() const override;
  std::shared_ptr<const api::ResourceClaim> shared_claim(std::string_view key) const override;
  const api::ResourceClaim* streamed_claim(std::string_view key) const override;
  const api::Pod* streamed_pod(std::string_view key) const override;
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
  size_t size_of_group(std::string_view key) const override;
  std::vector<const api::Pod*> started_of_group(std::string_view key, size_t most) const override;
  const api::PodGroup* pod_group(reconcile::GroupApi api, std::string_view key) const override;
  reconcile::GroupsKnown groups_known(reconcile::GroupApi api) const override;
  std::vector<std::string> child_groups(std::string_view parent) const override;
  std::shared_ptr<const api::Pod> watched_pod(std::string_view key) const override;
  uint64_t rewinds() const override;
  reconcile::Presence live_presence(const reconcile::Ref& object) const override {
    return live_presence_after(object, "");
  }
  reconcile::Presence live_presence_after(const reconcile::Ref& object, std::string_view seen) const override;
  bool is_being_bound(std::string_view pod_uid) const override;
  Duration unchanged_for(reconcile::Kind kind, std::string_view key) const override;
  std::optional<std::string> last_event(std::string_view uid, std::string_view reason) const override;
  bool has_event(std::string_view uid) const override { return memory_.events.knows(uid); }
  uint64_t tallied(std::string_view uid) const override;
  std::optional<Noted> note(std::string_view uid, std::string_view topic) const override;
  WallTime now() const override { return clock_.wall_now(); }
  void set_ignored_fields(api::IgnoredFields fields) { ignored_fields_ = std::move(fields); }
  void set_may_have_foreign_consumers(bool may) { may_have_foreign_consumers_ = may; }
  bool may_have_foreign_consumers() const override { return may_have_foreign_consumers_; }
  const api::IgnoredFields& ignored_fields() const override { return ignored_fields_; }
  std::string_view dra_api_version() const override { return dra_api_version_; }
  void set_taint_rule_api_version(std::string version) { taint_rule_api_version_ = std::move(version); }
  std::string_view taint_rule_api_version() const override { return taint_rule_api_version_; }

 private:
  const Stores& stores_;
  const Memory& memory_;
  const Clock& clock_;
  std::string dra_api_version_;
  api::IgnoredFields ignored_fields_;
  bool may_have_foreign_consumers_ = true;
  std::string taint_rule_api_version_ = "resource.k8s.io/v1";
  const std::map<std::string, reconcile::Presence>* live_answers_ = nullptr;
};

}  // namespace dra::manager
